"""`scripts/test` gives up on a registry that does not answer, and says what to do; and it fails where anything that it runs does."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.memory.stores import server
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the set-up needs of the project, without what an earlier run has set up."""
    folder = tmp_path / "popkit"
    (folder / "scripts").mkdir(parents=True)
    for name in ("scripts/test", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / name)
    return folder


def run(command: list, folder: Path, **env: str) -> subprocess.CompletedProcess:
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(("PIP_", "NPM_", "POPKIT_"))}
    kept |= {"PYTHON": sys.executable, **env}
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=HANG_S, check=False)


STAND_IN = """#!/bin/sh
said="$(basename "$0") $*"
echo "$said" >> asked
echo "did $said"
[ -n "$FAILING" ] || exit 0
case "$said" in *"$FAILING"*) exit 1 ;; esac
"""


@pytest.fixture
def equipped(clone: Path) -> Path:
    """With programs that only say what they were asked to do, and fail where FAILING is part of it."""
    folder = clone / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "ruff", "lint-imports", "mypy"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    return clone


def test_the_tests_with_the_client_run_beside_the_others(equipped: Path) -> None:
    done = run(["scripts/test", "--offline"], equipped, FAILING="")
    assert done.returncode == 0, done.stderr
    others, client = (line for line in done.stdout.splitlines() if line.startswith("did python -m pytest"))
    assert others.endswith(" tests --ignore=tests/client")
    assert client.endswith(" tests/client")


@pytest.mark.parametrize(
    "failing", ["tests --ignore=tests/client", "10 tests/client", "mypy", "--collect-only", "lint-imports", "ruff check"]
)
def test_whatever_fails_all_of_it_fails(equipped: Path, failing: str) -> None:
    done = run(["scripts/test", "--offline"], equipped, FAILING=failing)
    assert done.returncode == 1
    assert "== failed after" in done.stderr
    assert failing in done.stdout + done.stderr


@pytest.mark.parametrize(("failing", "code"), [("", 0), ("tests/cli", 1)])
def test_with_arguments_there_is_one_run_which_gets_them(equipped: Path, failing: str, code: int) -> None:
    done = run(["scripts/test", "--offline", "tests/cli", "-k", "doctor or not told"], equipped, FAILING=failing)
    assert done.returncode == code
    (ran,) = (line for line in done.stdout.splitlines() if line.startswith("did python -m pytest"))
    assert ran.endswith(" tests/cli -k doctor or not told")


def test_where_the_tests_are_compiled_they_are_not_collected_beforehand(equipped: Path) -> None:
    compiled = equipped / "tests" / "__pycache__"
    compiled.mkdir(parents=True)
    (compiled / "__init__.cpython-311.pyc").touch()  # as what installs the clients leaves it
    run(["scripts/test", "--offline"], equipped, FAILING="")
    assert "--collect-only" in (equipped / "asked").read_text()
    (equipped / "asked").unlink()
    (compiled / "conftest.cpython-311-pytest-9.0.2.pyc").touch()
    run(["scripts/test", "--offline"], equipped, FAILING="")
    assert "--collect-only" not in (equipped / "asked").read_text()


# Makes environments with the pip of these tests: to unpack one takes more processor time than all else here. tests/cli/test_setup.py makes
# whole ones.
VENV = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exec {python} "$@"
{python} "$@" --without-pip && for place in .venv/lib/python*/site-packages; do echo '{pip}' > "$place/pip.pth"; done
"""


def test_a_package_index_that_does_not_answer_is_given_up_on(clone: Path, silent: str) -> None:
    python, pip = clone / "python", Path(find_spec("pip").origin).parents[1]
    python.write_text(VENV.format(python=sys.executable, pip=pip))
    python.chmod(0o755)
    index = {"PIP_INDEX_URL": silent, "PIP_DEFAULT_TIMEOUT": "1", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    done = run(["scripts/test"], clone, PYTHON=str(python), **index)
    assert done.returncode == 1
    assert done.stdout.startswith("== Python packages, into a new .venv")
    for phrase in ("try again", "PIP_INDEX_URL", "scripts/test --offline", "== failed after"):
        assert phrase in done.stderr
    assert not (clone / ".venv" / "wanted").exists(), "the next run begins anew"


def test_offline_with_nothing_there_says_so_at_once(clone: Path, silent: str) -> None:
    done = run(["scripts/test", "--offline"], clone, PIP_INDEX_URL=silent)
    assert done.returncode == 1
    assert "run scripts/test once without it" in done.stderr


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not on PATH")
def test_an_npm_registry_that_does_not_answer_is_given_up_on(tmp_path: Path, silent: str) -> None:
    asked = {"npm_config_registry": silent, "npm_config_fetch_timeout": "1000", "npm_config_fetch_retries": "0"}
    done = run([sys.executable, "-m", "tests.client.installs"], ROOT, POPKIT_CLIENT_DIR=str(tmp_path), **asked)
    assert done.returncode == 1
    for phrase in ("try again", "npm config set registry", "scripts/test --offline"):
        assert phrase in done.stderr


def test_offline_the_newest_client_is_the_one_that_was_recorded(tmp_path: Path) -> None:
    asked = "from tests.client import installs; print(installs.newest_version())"
    (tmp_path / "newest").write_text("2.1.999\n")
    done = run([sys.executable, "-c", asked], ROOT, POPKIT_CLIENT_DIR=str(tmp_path), POPKIT_OFFLINE="1")
    assert done.stdout == "2.1.999\n", done.stderr


def test_offline_a_client_that_has_started_once_is_not_tried_again(tmp_path: Path) -> None:
    program = tmp_path / "2.1.999" / "node_modules" / ".bin" / "claude"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho tried >> '{tmp_path}/tries'\necho '2.1.999 (Claude Code)'\n")
    program.chmod(0o755)
    asked = "from tests.client import installs; print(installs.install('2.1.999').version)"
    for offline, tries in (("1", 1), ("1", 1), ("", 2)):
        done = run([sys.executable, "-c", asked], ROOT, POPKIT_CLIENT_DIR=str(tmp_path), POPKIT_OFFLINE=offline)
        assert done.stdout == "2.1.999\n", done.stderr
        assert (tmp_path / "tries").read_text().count("tried") == tries


@pytest.mark.skipif(bool(server.missing()), reason=f"{server.missing()} missing")
def test_a_maven_registry_that_does_not_answer_is_given_up_on(tmp_path: Path, silent: str) -> None:
    settings = tmp_path / ".m2" / "settings.xml"
    settings.parent.mkdir()
    settings.write_text(
        f"<settings><mirrors><mirror><id>silent</id><url>{silent}</url><mirrorOf>*</mirrorOf></mirror></mirrors></settings>"
    )
    options = f"-Duser.home={tmp_path} -Dmaven.wagon.rto=1000 -Dmaven.wagon.http.retryHandler.count=0 "
    options += "-Daether.connector.requestTimeout=1000 -XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # as for a server of the tests
    asked = {"POPKIT_SERVER_DIR": str(tmp_path / "cache"), "MAVEN_OPTS": options}
    done = run([sys.executable, "-m", "tests.memory.stores.server"], ROOT, **asked)
    assert done.returncode == 1
    for phrase in ("try again", "settings.xml", "scripts/test --offline"):
        assert phrase in done.stderr


@pytest.mark.skipif(bool(server.missing()), reason=f"{server.missing()} missing")
def test_offline_no_neo4j_is_fetched(tmp_path: Path) -> None:
    done = run([sys.executable, "-m", "tests.memory.stores.server"], ROOT, POPKIT_SERVER_DIR=str(tmp_path), POPKIT_OFFLINE="1")
    assert done.returncode == 1
    assert "Run scripts/test once without --offline" in done.stderr
