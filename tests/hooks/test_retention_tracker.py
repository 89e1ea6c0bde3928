"""RetentionTracker and the other names of the specification, on real files in a home of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core.policy.events import Pinned
from popkit_retention.core.retention_tracker import (
    HookContext,
    RetentionTracker,
    ToolResultMeta,
    detect_events,
    hash_content,
    process_retention,
)
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function

ROOT = Path(__file__).resolve().parents[2]
READ = {"file_path": "src/auth.ts"}


class Session:
    """One session in a temporary home: calls one second apart in /p, each through `process_retention`."""

    def __init__(self, folder: Path):
        self.environ = {"POPKIT_HOME": str(folder / "home"), "CLAUDE_PROJECT_DIR": f"{folder}/project"}
        self.calls = 0

    def context(self, tool: str, tool_input: dict, error: bool = False, **more) -> HookContext:
        more = {"tool_use_id": f"T{self.calls}", "cwd": "/p", "timestamp": 1_000_000.0 + self.calls, "prompt_id": "turn 1", **more}
        return HookContext("session", tool, tool_input, error=error, **more)

    def call(self, tool: str, tool_input: dict, text: str = "", error: bool = False, **more) -> dict:
        self.calls += 1
        return process_retention(self.context(tool, tool_input, error, **more), text or f"what T{self.calls} said", self.environ)

    def bash(self, command: str, text: str = "", error: bool = False, **more) -> dict:
        return self.call("Bash", {"command": command}, text, error, **more)

    def load(self, agent_id: str = "") -> RetentionTracker:
        return RetentionTracker.load("session", agent_id, self.environ)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_the_trigger_of_a_line_that_changes_the_folder_names_the_file_that_it_read(session):
    session.bash("true")
    meta = session.bash("cd src && cat auth.ts", cwd="/p/src")["meta"]
    assert meta.expiry_trigger == "edit:/p/src/auth.ts"


# Processing calls.


def test_process_retention_gives_the_metadata_of_the_result(session):
    meta = session.call("Read", READ, "1\texport const login = 1")["meta"]
    assert meta == ToolResultMeta(
        tool_name="Read",
        tool_call_index=1,
        timestamp="1970-01-12T13:46:41+00:00",
        retention_tier="medium",
        expiry_trigger="edit:/p/src/auth.ts",
        content_hash=hash_content("1\texport const login = 1"),
        token_estimate=meta.token_estimate,
    )
    assert meta.token_estimate > 0


def test_the_context_that_comes_back_holds_the_metadata_of_what_is_live(session):
    session.call("Read", READ, "1\texport const login = 1")
    session.call("Grep", {"pattern": "login"})
    context = session.call("Edit", READ)["context"]
    assert [(meta.tool_name, meta.tool_call_index, meta.retention_tier) for meta in context.tool_results_meta] == [
        ("Grep", 2, "short"),
        ("Edit", 3, "ephemeral"),
    ]
    assert hash_content("what T2 said").startswith(context.tool_results_meta[0].content_hash)
    assert context == session.context("Edit", READ, tool_results_meta=context.tool_results_meta)


def test_eight_processes_that_process_results_at_once_lose_none(forks: Forks, tmp_path: Path):
    home = str(tmp_path / "home")
    all_do(forks, [Function("tests.hooks.processes:process_results", [home, str(number)]) for number in range(8)], {})
    tracker = RetentionTracker.load("session", environ={"POPKIT_HOME": home})
    known = {result.id for result in tracker.get_live()} | set(tracker.get_all_expired())
    assert known == {f"T{name}-{number}" for name in range(8) for number in range(10)}
    assert tracker.current_index == 80


def test_the_reclaimable_tokens_are_those_of_what_expired(session):
    first = session.call("Read", READ, "1\t" + "x" * 3200)
    metadata = session.call("Edit", READ)
    assert metadata["tokens_reclaimable"] == first["meta"].token_estimate
    tracker = session.load()
    assert tracker.get_tokens("T1") == first["meta"].token_estimate
    assert tracker.get_reclaimable_tokens() == first["meta"].token_estimate
    assert tracker.get_tokens("T99") == 0


def test_a_call_that_has_no_id_is_numbered(session):
    session.call("Read", READ, tool_use_id="")
    session.call("Read", {"file_path": "b.py"}, tool_use_id="")
    assert len(session.load().get_live()) == 2


def test_a_failed_call_is_an_error(session):
    meta = session.call("Read", READ, "File does not exist.", error=True)["meta"]
    assert (meta.retention_tier, meta.expiry_trigger) == ("preserved", None)


def test_subagents_and_the_main_thread_are_kept_apart(session):
    session.call("Read", READ)
    session.call("Edit", READ, agent_id="agent-1")
    assert [result.id for result in session.load().get_live()] == ["T1"]
    assert [result.id for result in session.load("agent-1").get_live()] == ["T2"]


def test_sessions_are_kept_apart(session):
    session.call("Read", READ)
    assert RetentionTracker.load("another", environ=session.environ).current_index == 0


def test_nothing_is_written_outside_the_home(session, tmp_path):
    session.call("Read", READ)
    session.load().save()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


# The tracker itself.


def test_what_was_saved_is_what_is_loaded(session):
    session.call("Read", READ)
    session.call("Read", {"file_path": "src/config.ts"})
    session.call("Edit", READ)
    before = session.load()
    before.save()
    after = session.load()
    assert after.state.to_json() == before.state.to_json()
    assert after.get_all_expired() == before.get_all_expired() == ["T1"]
    assert after.get_reclaimable_tokens() == before.get_reclaimable_tokens() > 0


def test_what_was_not_saved_did_not_happen(session):
    session.call("Read", READ)
    assert session.load().check_expirations(1, ["edit:/p/src/auth.ts"]) == ["T1"]
    assert session.load().get_all_expired() == []


def test_saving_twice_counts_nothing_twice(session):
    session.call("Read", READ)
    tracker = session.load()
    tracker.check_expirations(1, ["edit:/p/src/auth.ts"])
    tracker.save()
    tracker.save()
    assert session.load().get_all_expired() == tracker.get_all_expired() == ["T1"]


@pytest.mark.parametrize(
    ("index", "events", "expired"),
    [
        (5, [], []),
        (6, [], []),
        (7, [], ["T2"]),
        (9, [], ["T2"]),
        (5, ["edit:/p/src/auth.ts"], ["T1"]),
        (5, ["edit:/p/other.ts"], []),
        (5, ["commit"], ["T1", "T4"]),
        (5, ["commit:/p/src/config.ts"], ["T4"]),
        (5, ["session_end"], ["T3", "T5"]),
        (8, ["edit:/p/src/auth.ts", "session_end"], ["T1", "T3", "T5", "T2"]),
    ],
)
def test_check_expirations(session, index, events, expired):
    session.call("Read", READ)
    session.call("Grep", {"pattern": "login"}, timestamp=1_000_000.0)
    session.bash("npm test")
    session.call("Read", {"file_path": "src/config.ts"})
    session.bash("npm run build")
    tracker = session.load()
    at = tracker.state.at
    assert tracker.check_expirations(index, events) == expired
    assert tracker.check_expirations(index, []) == []
    assert (tracker.current_index, tracker.state.at) == (index, at)


@pytest.mark.parametrize(
    ("event", "ended"),
    [
        ("edit:/p/src/auth.ts", {"T1": "edited"}),
        ("commit:/p/src/auth.ts", {"T1": "committed"}),
        ("commit", {"T1": "committed", "T3": "committed"}),
        ("supersede:{key}", {"T2": "superseded"}),
        ("supersede:search:other", {}),
    ],
)
def test_an_event_reported_apart_from_any_call_ends_results_and_counts_as_no_call(session, event, ended):
    session.call("Read", READ)
    session.call("Grep", {"pattern": "login"})
    session.call("Read", {"file_path": "src/config.ts"})
    session.call("Read", {"file_path": "gone.ts"}, "File does not exist.", error=True)
    tracker = session.load()
    key = tracker.state.live["T2"].parts[0][0]
    assert tracker.check_expirations(4, [event.format(key=key)]) == list(ended)
    assert {id: result.ended[0] for id, result in tracker.state.expired.items()} == ended
    assert tracker.current_index == 4


def test_a_newer_run_that_a_driver_reports_is_the_reason(session):
    session.call("Grep", {"pattern": "login"})
    tracker = session.load()
    key = tracker.state.live["T1"].parts[0][0]
    tracker.mark_superseded("grep:login")
    assert tracker.state.expired["T1"].ended[4] == ["superseded: " + key]


@pytest.mark.parametrize("event", ["edit:/p/src/auth.ts", "commit", "commit:/p/src/auth.ts", "session_end", "supersede:{key}"])
def test_a_driver_ends_nothing_that_is_pinned(session, event):
    session.call("Read", READ)
    session.call("Grep", {"pattern": "login"})
    tracker = session.load()
    for id in ("T1", "T2"):
        tracker.observe(Pinned(id, 9.0))
    assert tracker.check_expirations(9, [event.format(key=tracker.state.live["T2"].parts[0][0])]) == []


def test_calls_of_which_nothing_is_known_count_too(session):
    session.call("Grep", {"pattern": "login"})
    session.call("Edit", {"file_path": "a.py"})
    tracker = session.load()
    assert tracker.check_expirations(5, []) == ["T2"]
    assert tracker.check_expirations(6, []) == ["T1"]
    assert tracker.check_expirations(3, []) == []
    assert tracker.current_index == 6


def test_an_event_that_does_not_exist_gets_an_error_that_lists_those_that_do():
    with pytest.raises(ValueError, match="edit:PATH, commit, session_end, supersede:PATTERN"):
        RetentionTracker().check_expirations(1, ["edited"])


@pytest.mark.parametrize(
    ("pattern", "marked"),
    [
        ("grep:login", ["T1"]),
        ("grep:logout", ["T2"]),
        ("grep:nothing", []),
        ("bash:npm test", ["T3"]),
        ("bash:npm t", ["T3"]),
        ("bash:npm run build", []),
        ("bash:rg login", ["T1"]),
    ],
)
def test_mark_superseded(session, pattern, marked):
    session.call("Grep", {"pattern": "login"})
    session.call("Grep", {"pattern": "logout"})
    session.bash("npm test", "Exit code 1\n1 failing", error=True)
    session.call("Read", READ)
    tracker = session.load()
    tracker.mark_superseded(pattern)
    assert tracker.get_all_expired() == marked


# Events of a call.


@pytest.mark.parametrize(
    ("tool", "tool_input", "error", "events"),
    [
        ("Edit", READ, False, ["edit:/p/src/auth.ts"]),
        ("Write", READ, False, ["edit:/p/src/auth.ts"]),
        ("MultiEdit", READ, False, ["edit:/p/src/auth.ts"]),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}, False, ["edit:/p/a.ipynb"]),
        ("Edit", READ, True, []),
        ("Bash", {"command": "git commit -m x"}, False, ["commit"]),
        ("Bash", {"command": "git add . && git commit -m x"}, False, ["commit"]),
        ("Bash", {"command": "git commit -m x"}, True, []),
        ("Read", READ, False, []),
        ("Bash", {"command": "mkdir x"}, False, []),
    ],
)
def test_detect_events(tool, tool_input, error, events):
    assert detect_events(HookContext("session", tool, tool_input, cwd="/p", error=error)) == events


@pytest.mark.parametrize(
    ("earlier", "later", "ends"),
    [
        ("npm test", "npm t", True),
        ("rg login", "rg login", True),
        ("rg login src", "rg login", True),
        ("pytest tests/a.py", "pytest", True),
        ("npm test", "npm run build", False),
        ("pytest tests/a.py", "pytest tests/b.py", False),
        ("pytest", "pytest tests/a.py", False),
        ("rg login", "rg login src", False),
    ],
)
def test_the_events_of_a_run_or_a_search_end_what_it_makes_obsolete_and_no_more(session, earlier, later, ends):
    session.bash(earlier)
    events = detect_events(session.context("Bash", {"command": later}))
    assert session.load().check_expirations(1, events) == (["T1"] if ends else [])
