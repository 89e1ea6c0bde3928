"""Every mutant turns the suite red: each rule has a test that fails without it. A sample in the ordinary run, all of them with --slow."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutants import MUTANTS, Mutant
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
POLICY = Path("hooks", "utils", "policy")
COPIED = (
    "hooks", "benchmarks/own_sessions.py", "benchmarks/remaining_requests.py", "retention-config.json",
    "tests/policy", "tests/state", "tests/kit", "tests/hooks/conftest.py",
    "tests/hooks/payloads.py", "tests/hooks/processes.py", "tests/hooks/remembering.py",
    "tests/hosts/lines.py", "tests/hosts/test_rewritten.py", "tests/__init__.py", "tests/examples.py",
    "tests/reclaim/sending.py", "tests/reclaim/test_nothing_lost.py", "tests/paths.py", "tests/patience.py", "tests/work.py",
)  # fmt: skip
FEW_EXAMPLES = """
from hypothesis import HealthCheck, settings

leave = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("few", max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=leave)
settings.load_profile("few")
"""
TESTS_FAILED, PASSED = 1, 0
# Rules of all kinds, for the table goes by kind.
SAMPLE = MUTANTS[::16]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the engine and its tests, with nothing broken."""
    folder = tmp_path_factory.mktemp("plain")
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(FEW_EXAMPLES)
    compileall.compile_dir(folder, quiet=2)  # once, not once for each mutant
    return folder


def run(folder: Path, tests: str, *flags: str) -> subprocess.CompletedProcess:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH", "PYTHONSAFEPATH"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--assert=plain", *flags]
        + [str(Path("tests", "policy", name)) for name in tests.split()],
        cwd=folder,
        env={**environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # the plugins take as long to load as the tests take to run
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
        check=False,
    )


def _or_slow(mutant: Mutant):
    return pytest.param(mutant, id=mutant.breaks, marks=() if mutant in SAMPLE else pytest.mark.slow)


def test_what_a_mutant_breaks_is_still_in_the_code_exactly_once():
    for mutant in MUTANTS:
        text = (ROOT / POLICY / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1, mutant.breaks
        assert mutant.new != mutant.old, mutant.breaks


def test_there_are_at_least_twenty_mutants_and_no_two_are_the_same():
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS) >= 20
    assert len({mutant.breaks for mutant in MUTANTS}) == len(MUTANTS)


def test_the_copy_has_all_that_these_tests_load(plain: Path) -> None:
    _assert_pass(plain, MUTANTS, "--collect-only")


def test_with_nothing_broken_the_tests_of_the_sample_pass(plain: Path) -> None:
    _assert_pass(plain, SAMPLE)


@pytest.mark.slow
def test_with_nothing_broken_all_of_these_tests_pass(plain: Path) -> None:
    _assert_pass(plain, MUTANTS)


def _assert_pass(plain: Path, mutants: list[Mutant], *flags: str) -> None:
    ran = run(plain, " ".join(dict.fromkeys(name for mutant in mutants for name in mutant.tests.split())), *flags)
    assert ran.returncode == PASSED, ran.stdout[-3000:] + ran.stderr


@pytest.mark.parametrize("mutant", [_or_slow(mutant) for mutant in MUTANTS])
def test_a_mutant_turns_the_tests_of_its_rule_red(plain: Path, tmp_path: Path, mutant: Mutant) -> None:
    folder = Path(shutil.copytree(plain, tmp_path / "mutant"))
    broken = folder / POLICY / mutant.file
    broken.write_text(broken.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
    ran = run(folder, mutant.tests)
    assert ran.returncode == TESTS_FAILED, f"{mutant.tests} exit with {ran.returncode}\n{ran.stdout[-1500:]}"
