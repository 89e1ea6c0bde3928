"""What the sampler of mutants finds: in a made-up package, and in the arguments for those of ours that may survive."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, main
from tests.mutants.arguments import ARGUMENTS, Argument
from tests.mutants.mutations import mutations
from tests.mutants.sampler import NOTICED, SURVIVED, changed_lines, modules, others_of, population, sample, tried

MODULE = '''"""How old a thing may be."""

LIMITS = {"paper": 30, "stone": 900}


def is_old(kind: str, days: int) -> bool:
    """Whether it is too old."""
    return days > LIMITS[kind]
'''
TESTS = """
from hooks.things.ages import is_old

def test_paper_is_old_after_a_month():
    assert is_old("paper", 31)
    assert not is_old("paper", 29)
"""

TESTS_OF_TRIPS = """
from hooks.things.ages import is_old

def test_stone_is_carried_home_as_long_as_it_is_no_older_than_900_days():
    assert is_old("stone", 901)
    assert not is_old("stone", 900)
"""
# It runs no line of the module.
TEST_OF_LIMITS = """
from hooks.things import ages

def test_stone_keeps_for_900_days():
    assert ages.LIMITS["stone"] == 900
"""
# What tests/kit/forking.py does: our code by its link, and a note of the function that is called.
IN_A_FORK = """
import os, subprocess, sys

FORK = '''
import os
from linked.things import ages
code = ages.is_old.__code__
with open(os.environ["POPKIT_TEST_FUNCTIONS"], "a") as noted:
    print(f"{code.co_filename}:{code.co_firstlineno}", file=noted)
print(ages.is_old("paper", 30))
'''

def test_paper_of_30_days_is_not_old():
    environ = {"POPKIT_TEST_FUNCTIONS": os.devnull, **os.environ}
    ran = subprocess.run([sys.executable, "-c", FORK, "tests.kit.forking"], env=environ, capture_output=True, text=True)
    assert ran.stdout == "False\\n", ran.stderr
"""


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one package, and tests that leave something out. They need no plugin of another package, and each process for a
    mutant would take longer to load those than to run them."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in {
        "hooks/__init__.py": "", "hooks/things/__init__.py": "", "hooks/things/ages.py": MODULE, "tests/things/test_ages.py": TESTS,
        "pytest.ini": "[pytest]\npythonpath = .\naddopts = --import-mode=importlib\n",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "things"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_a_mutant_that_no_test_tells_from_the_code_survives_and_others_do_not(made_up: Path) -> None:
    add(made_up, "tests/things/test_limits.py", TEST_OF_LIMITS)
    everything = population(made_up, ["hooks/things/ages.py"])
    ended = {one.mutation.change: one.ended for one in tried(made_up, everything, flags=())}
    # A thing of exactly thirty days is tried nowhere.
    assert {change for change, how in ended.items() if how == SURVIVED} == {"days > LIMITS[kind] -> (days >= LIMITS[kind])", "30 -> (29)"}
    assert {change for change, how in ended.items() if how == NOTICED} == {
        "days > LIMITS[kind] -> (days <= LIMITS[kind])", "days > LIMITS[kind] -> None", '"paper" -> \'\'', "30 -> 31",
        '"stone" -> \'\'', "900 -> 901", "900 -> (899)",
    }  # fmt: skip
    assert (made_up / "hooks/things/ages.py").read_text() == MODULE


def test_tests_of_other_folders_that_name_the_package_notice_mutants_too(made_up: Path) -> None:
    add(made_up, "tests/trips/test_carrying.py", TESTS_OF_TRIPS)
    add(made_up, "tests/walks/test_walking.py", "def test_things_are_named_in_no_import():\n    assert 'things'\n")
    everything = population(made_up, ["hooks/things/ages.py"])
    ended = {one.mutation.change: one.ended for one in tried(made_up, everything, flags=())}
    assert {change for change, how in ended.items() if how == SURVIVED} == {"30 -> (29)"}
    assert others_of(made_up, "tests/things") == ["tests/trips"]


def test_functions_that_run_in_forks_are_known_by_whatever_path_they_are_loaded(made_up: Path) -> None:
    add(made_up, "tests/things/test_in_a_fork.py", IN_A_FORK)
    (made_up / "linked").symlink_to("hooks")
    strict = [one for one in population(made_up, ["hooks/things/ages.py"]) if one.change == "days > LIMITS[kind] -> (days >= LIMITS[kind])"]
    assert [(one.ended, one.tests) for one in tried(made_up, strict, flags=())] == [(NOTICED, 2)]


def add(repository: Path, name: str, text: str) -> None:
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text(text)


def test_only_mutants_of_changed_lines_are_tried_before_a_landing(made_up: Path, capsys: pytest.CaptureFixture) -> None:
    module = made_up / "hooks" / "things" / "ages.py"
    module.write_text(MODULE.replace("900", "800"))
    lines = changed_lines(made_up, "HEAD")
    assert lines == {"hooks/things/ages.py": {3}}
    assert {one.line for one in population(made_up, lines, lines)} == {3}
    module.write_text(MODULE)
    assert main(["--root", str(made_up), "--changed", "HEAD"]) == 0
    assert capsys.readouterr().out == "0 mutants in 0 s\n"


def test_a_seed_names_a_sample() -> None:
    everything = mutations("ages.py", MODULE.encode())
    assert sample(everything, 4, seed=1) == sample(everything, 4, seed=1) != sample(everything, 4, seed=2)
    assert set(sample(everything, 99, seed=1)) == set(everything)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("a < b", {"a < b -> (a <= b)", "a < b -> (a >= b)"}),
        ("a is None", {"a is None -> (a is not None)"}),
        ("a + b", {"a + b -> (a - b)"}),
        ("a or b", {"a or b -> (a and b)"}),
        ("not a", {"not a -> (a)"}),
        ("f(a, key=b)", {"f(a, key=b) -> f(a)"}),
        ("a if b else c", {"b -> (not (b))"}),
        ("2", {"2 -> 3", "2 -> (1)"}),
        ("True", {"True -> False"}),
        ("'a'", {"'a' -> ''"}),
        ("''", {"'' -> 'mutant'"}),
        ("f'{a}'", {"f'{a}' -> 'mutant'"}),
    ],
)
def test_expressions_are_changed_in_each_way_a_slip_would(text: str, changes: set[str]) -> None:
    assert {one.change for one in mutations("some.py", f"a = {text}".encode())} == changes


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("f()", {"f() -> pass"}),
        ("return a", {"a -> None"}),
        ("return [a]", {"[a] -> None", "[a] -> []"}),
        ("return None", set()),
        ("a.b = c", {"a.b = c -> pass"}),
        ("a = c", set()),
        ("a += b", {"a += b -> a -= b", "a += b -> pass"}),
        ("raise a", {"raise a -> pass"}),
        ("if a: return", {"a -> (not (a))"}),
    ],
)
def test_statements_of_a_function_are_removed_or_turned_round(text: str, changes: set[str]) -> None:
    found = mutations("some.py", f'def f(a: "int" = b) -> "int":\n    """Text."""\n    {text}\n'.encode())
    assert {one.change for one in found} == changes
    assert {one.function for one in found} <= {("f", 1)}


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("def f() -> bool:\n return False", {"False -> True"}),
        ("def f() -> bool:\n return True", {"True -> False", "True -> None"}),
        ("def f() -> bool:\n return a", {"a -> None"}),
        ("def f():\n return False", {"False -> True", "False -> None"}),
        ("def f() -> object:\n return False", {"False -> True", "False -> None"}),
        ("def f() -> bool:\n def g():\n  return False\n return False", {"False -> True", "False -> None"}),
        ("def f():\n def g() -> bool:\n  return False", {"False -> True"}),
    ],
)
def test_none_for_false_is_left_to_the_type_checker_where_a_bool_is_declared(text: str, changes: set[str]) -> None:
    assert {one.change for one in mutations("some.py", text.encode())} == changes


def test_a_mutant_of_ours_is_a_module_that_compiles(count) -> None:
    everything = population(ROOT, modules(ROOT, "hooks/utils/policy") + modules(ROOT, "hooks/utils/state"))
    for one in sample(everything, count(100, 5000), seed=0):
        compile(one.applied((ROOT / one.file).read_bytes()), one.file, "exec", dont_inherit=True)


@pytest.mark.parametrize("argument", ARGUMENTS, ids=lambda argument: f"{argument.file}: {argument.change}"[:100])
def test_an_argument_is_about_a_mutant_that_there_is(argument: Argument) -> None:
    found = mutations(argument.file, (ROOT / argument.file).read_bytes())
    assert (argument.line, argument.change) in {(one.text, one.change) for one in found}
    assert argument.why
