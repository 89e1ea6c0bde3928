"""Anybody's policy: how it is found by its name, what it may not do, and that its faults are its own."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import pytest

from popkit_retention.lab import own_policies, policy, replay_policies, survey
from popkit_retention.lab.checked_policies import CheckedPolicy, PolicyFailed
from popkit_retention.lab.policy import Policy
from tests.lab.session_builder import SessionBuilder
from tests.lab.test_survey import session

GOOD = '''
from popkit_retention.lab.policy import Policy

print("loaded")


class OldReads(Policy):
    """Clears all but the newest three results.

    More words."""

    def __init__(self):
        self.live = []

    def add(self, block):
        if block.id:
            self.live.append(block)

    def compact(self, event):
        self.live = []

    def decide(self, view):
        print("decides")
        old, self.live = self.live[:-3], self.live[-3:]
        return [(block, "[gone]", ["old"]) for block in old]


class Sometimes(OldReads):
    def decide(self, view):
        if view.number == 25:
            raise KeyError("the 25th")
        return super().decide(view)
'''


def written(folder: Path, text: str = GOOD, name: str = "mine.py") -> str:
    """Write a policy's file; return its path."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


# --- the interface ------------------------------------------------------------------------------------------------------------------


def test_the_interface_is_what_the_guide_promises() -> None:
    methods = {name: list(inspect.signature(value).parameters)[1:] for name, value in vars(Policy).items() if inspect.isfunction(value)}
    assert methods == {
        "begin": ["cwd"], "add": ["block"], "enter": ["block"], "event": ["event"], "at_compaction": ["event", "view"],
        "compact": ["event"], "cut": ["context"], "decide": ["view"], "missed": ["block"],
        "answered": ["request"],
    }  # fmt: skip
    assert {name for name in vars(policy) if name in policy.__all__} == set(policy.__all__)


# --- how a policy is found -------------------------------------------------------------------------------------------------------------


def test_a_file_is_named_by_its_path_and_told_in_the_first_line_of_its_words(tmp_path, monkeypatch) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert replay_policies.described("./mine.py:OldReads") == "Clears all but the newest three results."
    assert replay_policies.described(f"{tmp_path}/mine.py:Sometimes") == ""


def test_a_module_is_found_in_the_current_folder_and_in_those_of_pythonpath(tmp_path, monkeypatch) -> None:
    written(tmp_path / "here", name="of_this_folder.py")
    written(tmp_path / "there", name="of_a_path.py")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "there"))
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("of_this_folder", "of_a_path"):
        assert own_policies.load(f"{name}:OldReads").make.__name__ == "OldReads"


def test_what_is_beside_a_file_can_be_imported_by_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    written(tmp_path, name="kept_beside_it.py")
    path = written(tmp_path, "from kept_beside_it import OldReads\n\nclass Mine(OldReads):\n    pass\n", "uses.py")
    assert own_policies.load(f"{path}:Mine").make.__name__ == "Mine"


def test_the_digest_is_that_of_the_file_wherever_it_lies(tmp_path) -> None:
    first, second = (own_policies.load(f"{written(tmp_path / name)}:OldReads").digest for name in ("a", "b"))
    assert first == second != own_policies.load(f"{written(tmp_path / 'c', GOOD + '#')}:OldReads").digest
    assert own_policies.shown(f"{tmp_path}/a/mine.py:OldReads") == "mine.py:OldReads"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("best", "", "unknown policy best. Known: default, default+auto, nothing, "),
        (":Mine", "", ":Mine is not the name of a policy. Write module:Class"),
        ("{folder}/mine.py:", "", "is not the name of a policy"),
        ("{folder}/nowhere.py:Mine", "", "there is no file {folder}/nowhere.py"),
        ("of_nobody:Mine", "", "there is no module of_nobody: it is not in this folder, "),
        ("of_nobody.deeper:Mine", "", "there is no module of_nobody.deeper"),
        ("{folder}/mine.py:Mine", "import of_nobody\n", "imported: ModuleNotFoundError: No module named 'of_nobody' (mine.py, line 1)"),
        ("{folder}/mine.py:Mine", "def broken(:\n", "mine.py cannot be imported: invalid syntax (mine.py, line 1)"),
        ("{folder}/mine.py:Mine", "import sys\nsys.exit(3)\n", "mine.py cannot be imported: SystemExit: 3 (mine.py, line 2)"),
        ("{folder}/mine.py:Mine", GOOD, "mine.py has no Mine. It has: OldReads, Sometimes"),
        ("{folder}/mine.py:Mine", "", "mine.py has no Mine. It has no class derived from popkit_retention.lab.policy.Policy"),
        ("json:JSONDecoder", "", "JSONDecoder of json is not a policy: derive the class from popkit_retention.lab.policy.Policy"),
        ("{folder}/mine.py:Mine", "class Mine(Policy):\n    def decides(self, view): ...\n", "Mine has none of the methods of a policy: "),
        ("{folder}/mine.py:Mine", "class Mine(Policy):\n    def decide(self): ...\n", "Mine.decide has to take (self, view)"),
        ("{folder}/mine.py:Mine", "class Mine(Policy):\n    async def decide(self, view): ...\n", "Mine.decide must not be `async`"),
        (
            "{folder}/mine.py:Mine",
            "class Mine(Policy):\n    def __init__(self, keep): ...\n    def decide(self, view): ...\n",
            "Mine() must need no arguments: missing a required argument: 'keep'. Give each a default",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_reported_before_the_run_with_what_to_do(tmp_path, name, text, message) -> None:
    head = "from popkit_retention.lab.policy import Policy\n" if text.startswith("class") else ""
    written(tmp_path, head + text)
    with pytest.raises(own_policies.PolicyUnusable) as raised:
        replay_policies.described(name.replace("{folder}", str(tmp_path)))
    assert message.replace("{folder}", str(tmp_path)) in str(raised.value)


# --- what a policy may not do -----------------------------------------------------------------------------------------------------------


def played(decide, builder: SessionBuilder | None = None) -> CheckedPolicy:
    """Play two requests with a result between under a policy with this `decide`; put right what it changed."""
    if builder is None:
        builder = SessionBuilder()
        builder.read()
        builder.request()
        builder.request()

    class Mine(Policy):
        def __init__(self) -> None:
            self.results: list = []

        def add(self, block) -> None:
            if block.id:
                self.results.append(block)

    Mine.decide = decide
    checked = CheckedPolicy(Mine)
    try:
        builder.under(checked)
    finally:
        checked.end()
    return checked


def changes(what: str, value: object):
    """A `decide` that changes an attribute of the view."""

    def decide(self, view) -> list:
        setattr(view, what, value)
        return []

    return decide


@pytest.mark.parametrize(
    ("decide", "message"),
    [
        (lambda self, view: None, "decide returned None, not a list"),
        (lambda self, view: {}, "decide returned a dict, not a list"),
        (lambda self, view: [self.results[0]], "decide returned something other than a list of (block, text in its place, "),
        (lambda self, view: [(self.results[0], None, [])], "decide returned something other"),
        (lambda self, view: [(self.results[0], "[gone]", "old")], "decide returned something other"),
        (lambda self, view: [("T1", "[gone]", [])], "decide returned something other"),
        (lambda self, view: [(type(self.results[0])(9, 9, "T9", "made up"), "[gone]", [])], "decide clears a block outside of the context"),
        (lambda self, view: [(view.context[0], "[gone]", [])], "decide clears a block that is neither a result nor a call: "),
        (lambda self, view: [(self.results[0], "[gone]", [])] * 2, "decide clears a result twice at once"),
        (lambda self, view: view.context.clear() or [], "decide changed the view it was given: context"),
        (lambda self, view: view.sizes.append(0) or [], "decide changed the view it was given: sizes"),
        (lambda self, view: view.cleared.update({self.results[0]: ""}) or [], "decide changed the view it was given: cleared"),
        (changes("sent", 7), "decide changed the view it was given: sent"),
        (changes("prices", None), "decide changed the view it was given: prices"),
        (lambda self, view: setattr(view.prices, "write", 0.0) or [], "decide changed the view it was given: prices"),
        (lambda self, view: setattr(self.results[0], "tokens", 0) or [], "it changed its arguments: Block.tokens"),
        (lambda self, view: 1 / 0, "decide raised ZeroDivisionError: division by zero (test_own_policies.py, line "),
    ],
)  # fmt: skip
def test_invalid_choices_are_named(decide, message) -> None:
    with pytest.raises(PolicyFailed) as raised:
        played(decide)
    assert str(raised.value).startswith(message)


def test_changes_of_the_session_by_a_policy_are_undone() -> None:
    builder = SessionBuilder()
    block = builder.read()
    builder.request()
    tokens = block.tokens
    with pytest.raises(PolicyFailed):
        played(lambda self, view: setattr(block, "tokens", 0) or [], builder)
    assert block.tokens == tokens


def test_changes_of_prices_by_a_policy_are_undone() -> None:
    builder = SessionBuilder()
    builder.read()
    builder.request()
    seen = []

    def decide(self, view) -> list:
        seen.append(view.prices)
        view.prices.read = 0.0
        return []

    with pytest.raises(PolicyFailed):
        played(decide, builder)
    assert seen[0].read == 0.1


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("enter", 3, "enter returned an int, not a text or None"),
        ("at_compaction", True, "at_compaction returned a bool, neither summarised nor stands"),
    ],
)
def test_answers_of_the_wrong_kind_are_named(name, answer, message) -> None:
    builder = SessionBuilder()
    builder.read()
    builder.request()
    builder.compact()
    builder.request()
    own = type("Mine", (Policy,), {name: lambda self, *_: answer})
    with pytest.raises(PolicyFailed) as raised:
        builder.under(CheckedPolicy(own))
    assert str(raised.value).startswith(message)


# --- among others -----------------------------------------------------------------------------------------------------------------------


MASKING = "benchmarks.lab.rivals:Masking"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two sessions, of 30 and 16 requests."""
    session(tmp_path / "sessions" / "-shop" / "one.jsonl", 30, 1)
    session(tmp_path / "sessions" / "-forum" / "two.jsonl", 16, 3)
    return tmp_path / "sessions"


def test_it_is_scored_like_any_other_and_prints_nowhere(folder, tmp_path, capsys) -> None:
    name = f"{written(tmp_path)}:OldReads"
    report = survey.survey([str(folder)], [name, MASKING], (300,), 1)
    assert list(report["ttls"]["300"]) == ["nothing", name, MASKING]
    assert report["ttls"]["300"][name]["cleared"] > report["ttls"]["300"][MASKING]["cleared"] > 0
    assert (report["failed"], capsys.readouterr().out) == ({}, "")


def test_a_failing_policy_makes_the_session_count_as_uncleared_and_the_rest_goes_on(folder, tmp_path) -> None:
    path = written(tmp_path)
    good, bad = (f"{path}:{name}" for name in ("OldReads", "Sometimes"))
    report = survey.survey([str(folder)], [bad, good, "spec"], (300,), 1)
    without = survey.survey([str(folder)], [good, "spec"], (300,), 1)
    line = 1 + next(at for at, text in enumerate(GOOD.split("\n")) if "raise" in text)
    assert report["failed"] == {bad: {f"decide raised KeyError: 'the 25th' (mine.py, line {line})": 1}}
    one, two = (next(row for row in report["rows"] if row["path"].endswith(name)) for name in ("one.jsonl", "two.jsonl"))
    assert one["ttls"]["300"]["policies"][bad] == [1, 1, 0, 0, 0, 0]
    assert two["ttls"]["300"]["policies"][bad] == two["ttls"]["300"]["policies"][good]
    assert {name: figures for name, figures in report["ttls"]["300"].items() if name != bad} == without["ttls"]["300"]


def test_worker_processes_find_it_by_its_name(folder, tmp_path, monkeypatch) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    reports = [survey.survey([str(folder)], ["mine.py:OldReads", "mine.py:Sometimes"], (300,), jobs) for jobs in (1, 2)]
    for one in reports:
        del one["seconds"]
    assert json.dumps(reports[0], sort_keys=True) == json.dumps(reports[1], sort_keys=True)
    assert list(reports[0]["failed"]) == ["mine.py:Sometimes"]
