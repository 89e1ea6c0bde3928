"""Workers of a parallel run: what shares a server has one of them, what takes long begins first, and one that dies hangs nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.handed_out import SHARING
from tests.order import FIRST, place
from tests.paths import PYTHONPATH, ROOT
from tests.patience import HANG_S

CONFTEST = """
from tests.handed_out import Scheduling

def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log)
"""
SAYS_ITS_WORKER = "import os\ndef test_it():\n    open('workers', 'a').write(os.environ['PYTEST_XDIST_WORKER'] + '\\n')\n"
DIES_ONCE = """
import os

def test_one(): pass

def test_it_dies_once():
    if not os.path.exists('dead'):
        open('dead', 'w').close()
        os.kill(os.getpid(), 9)

def test_another(): pass
"""


@pytest.fixture
def run(tmp_path: Path):
    """`run(files)`: what pytest says of these tests, with two workers."""

    def run(files: dict[str, str]) -> str:
        for name, text in {"conftest.py": CONFTEST, "pytest.ini": "[pytest]\n", **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        env = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
        given = [
            "-p",
            "xdist",
            "-p",
            "no:cacheprovider",
            "-n",
            "2",
            "--dist",
            "loadfile",
            "--no-loadscope-reorder",
            "--import-mode=importlib",
        ]
        command = [sys.executable, "-m", "pytest", *given]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANG_S, check=False)
        return done.stdout

    return run


def test_a_worker_that_dies_is_told_and_the_others_run_the_rest_to_its_end(run) -> None:
    before = {f"test_{number:02}.py": "def test_it(): pass\n" for number in range(12)}
    said = run({**before, "test_20.py": DIES_ONCE, "test_30.py": "def test_it(): pass\n"})
    assert "crashed while running 'test_20.py::test_it_dies_once'" in said
    assert "1 failed, " in said


def test_files_that_share_something_have_one_worker(run, tmp_path: Path) -> None:
    run({f"tests/usage/test_{number}.py": SAYS_ITS_WORKER for number in range(6)})
    workers = (tmp_path / "workers").read_text().split()
    assert len(workers) == 6
    assert len(set(workers)) == 1


@pytest.mark.parametrize("name", sorted({*FIRST, *SHARING}))
def test_what_is_named_is_there(name: str) -> None:
    assert (ROOT / name).exists()


def test_what_takes_longest_begins_first() -> None:
    files = ["tests/policy/test_laws.py::test_it", "tests/usage/test_store.py::test_it", "tests/client/test_mod.py::test_it"]
    assert sorted(files, key=place) == files[::-1]
