"""RetentionTracker and the other names of the specification, on real files in a home of their own."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.utils import context_carrier, efficiency_tracker, retention_tracker
from hooks.utils.retention_tracker import (
    HookContext,
    RetentionTracker,
    ToolResultMeta,
    detect_events,
    estimate_tokens,
    hash_content,
    process_retention,
)
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
READ = {"file_path": "src/auth.ts"}


class Session:
    """One session in a temporary home: calls one second apart in /p, each through `process_retention`."""

    def __init__(self, folder: Path):
        self.environ = {"POPKIT_HOME": str(folder / "home"), "CLAUDE_PROJECT_DIR": str(folder)}
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


# The names.


@pytest.mark.parametrize(
    "name", ["RetentionTracker", "ToolResultMeta", "process_retention", "detect_events", "hash_content", "estimate_tokens"]
)
def test_the_names_of_the_specification_import_from_the_tracker(name):
    assert hasattr(retention_tracker, name)
    assert name in retention_tracker.__all__


MEMBERS = """load save get_tier get_expiry_trigger check_expirations mark_superseded get_tokens get_all_expired get_reclaimable_tokens
    current_index TIER_CONFIG TOOL_TIERS"""


@pytest.mark.parametrize("name", MEMBERS.split())
def test_the_tracker_has_the_members_of_the_specification(name):
    assert hasattr(RetentionTracker, name)


def test_the_metadata_has_the_fields_of_the_specification():
    assert [field.name for field in dataclasses.fields(ToolResultMeta)] == [
        "tool_name",
        "tool_call_index",
        "timestamp",
        "retention_tier",
        "expiry_trigger",
        "content_hash",
        "token_estimate",
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ToolResultMeta("Read", 1, "", "medium", None, "", 0).token_estimate = 1


def test_the_hook_context_carries_the_metadata_of_results():
    meta = ToolResultMeta("Read", 1, "", "medium", None, "", 0)
    assert HookContext("s", "Read").tool_results_meta == ()
    assert HookContext("s", "Read", tool_results_meta=(meta,)).tool_results_meta == (meta,)
    assert context_carrier.HookContext is HookContext
    with pytest.raises(dataclasses.FrozenInstanceError):
        HookContext("s", "Read").tool_name = "Write"


def test_the_efficiency_metrics_have_the_fields_of_the_specification():
    metrics = efficiency_tracker.EfficiencyMetrics()
    assert (metrics.items_expired, metrics.tokens_reclaimed, metrics.supersession_events, metrics.tier_distribution) == (0, 0, 0, {})


def test_the_tier_table_is_that_of_the_specification():
    assert RetentionTracker.TIER_CONFIG == {
        "ephemeral": {"ttl_tools": 1, "ttl_seconds": None},
        "short": {"ttl_tools": 5, "ttl_seconds": 300},
        "medium": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["edit", "commit"]},
        "session": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["supersede"]},
        "preserved": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["manual"]},
    }


TOOL_TIERS = {
    "Read": "medium",
    "Grep": "short",
    "Glob": "short",
    "Edit": "ephemeral",
    "Write": "ephemeral",
    "Bash": {
        "default": "session",
        "patterns": {
            "git commit": "ephemeral",
            "git push": "ephemeral",
            "npm test": "session",
            "npm run build": "session",
            "mkdir": "ephemeral",
            "rm": "ephemeral",
        },
    },
}


@pytest.mark.parametrize("tool", TOOL_TIERS)
def test_the_tool_table_holds_what_the_specification_says(tool):
    assert RetentionTracker.TOOL_TIERS[tool] == TOOL_TIERS[tool]


# Tiers and triggers.


@pytest.mark.parametrize(
    ("tool", "tool_input", "tier"),
    [
        ("Read", READ, "medium"),
        ("Read", {"file_path": "STATUS.json"}, "preserved"),
        ("Grep", {"pattern": "login"}, "short"),
        ("Glob", {"pattern": "*.ts"}, "short"),
        ("Edit", READ, "ephemeral"),
        ("Write", READ, "ephemeral"),
        ("Bash", {"command": "npm test"}, "session"),
        ("Bash", {"command": "npm run build"}, "session"),
        ("Bash", {"command": "git commit -m x"}, "ephemeral"),
        ("Bash", {"command": "git push origin main"}, "ephemeral"),
        ("Bash", {"command": "mkdir -p a/b"}, "ephemeral"),
        ("Bash", {"command": "rm -rf a"}, "ephemeral"),
        ("Bash", {"command": "rg login"}, "short"),
        ("Bash", {"command": "cat src/auth.ts"}, "medium"),
        ("Bash", {"command": "python main.py"}, "session"),
        ("AskUserQuestion", {}, "preserved"),
        ("mcp__db__get", {}, "session"),
        ("Read", {}, "medium"),
        ("Bash", {"command": 5}, "session"),
        ("Grep", None, "short"),
    ],
)
def test_get_tier(tool, tool_input, tier):
    assert RetentionTracker().get_tier(tool, tool_input) == tier


@pytest.mark.parametrize(
    ("tool", "tool_input", "trigger"),
    [
        ("Edit", READ, "tool_count:1"),
        ("Grep", {"pattern": "login"}, "tool_count:5"),
        ("Read", READ, "edit:/p/src/auth.ts"),
        ("Bash", {"command": "cat src/auth.ts"}, "edit:/p/src/auth.ts"),
        ("Bash", {"command": "sed -n '1,80p' src/auth.ts"}, "edit:/p/src/auth.ts"),
        ("Bash", {"command": "cat src/auth.ts | head -20"}, "edit:/p/src/auth.ts"),
        ("Bash", {"command": "npm test"}, "supersede:npm test"),
        ("Bash", {"command": "npm run build"}, "supersede:npm run build"),
        ("AskUserQuestion", {}, None),
    ],
)
def test_get_expiry_trigger(tool, tool_input, trigger):
    tracker = RetentionTracker()
    context = HookContext("session", tool, tool_input, cwd="/p")
    assert tracker.get_expiry_trigger(tracker.get_tier(tool, tool_input), context) == trigger


def test_the_trigger_of_a_tool_that_no_table_names_names_it():
    tracker = RetentionTracker()
    kind, _, name = tracker.get_expiry_trigger("session", HookContext("session", "mcp__db__get", {"id": 1}, cwd="/p")).partition(":")
    assert kind == "supersede"
    assert name


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


def test_process_retention_follows_the_timeline_of_the_specification(session):
    ended = [
        session.call("Read", READ),
        session.call("Grep", {"pattern": "login"}),
        session.call("Read", {"file_path": "src/config.ts"}),
        session.call("Edit", READ),
        session.bash("npm test", "Exit code 1\n1 failing", error=True),
        session.call("Grep", {"pattern": "login"}),
        session.bash("npm test", "1 passing"),
        session.bash("git commit -am fix"),
    ]
    assert [told["expired_ids"] for told in ended] == [[], [], [], ["T1"], ["T4"], ["T2"], ["T5"], ["T3"]]
    tracker = session.load()
    assert tracker.current_index == 8
    assert tracker.get_all_expired() == ["T1", "T4", "T2", "T5", "T3"]
    assert [result.id for result in tracker.get_live()] == ["T6", "T7", "T8"]


def test_the_reclaimable_tokens_are_those_of_what_expired(session):
    first = session.call("Read", READ, "1\t" + "x" * 3200)
    told = session.call("Edit", READ)
    assert told["tokens_reclaimable"] == first["meta"].token_estimate
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
    assert tracker.check_expirations(index, events) == expired
    assert tracker.check_expirations(index, []) == []
    assert tracker.current_index == index


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
    ("tool", "tool_input", "error", "told"),
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
def test_detect_events(tool, tool_input, error, told):
    assert detect_events(HookContext("session", tool, tool_input, cwd="/p", error=error)) == told


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
    told = detect_events(session.context("Bash", {"command": later}))
    assert session.load().check_expirations(1, told) == (["T1"] if ends else [])


# Contents.


def test_equal_contents_have_equal_hashes_and_others_have_others():
    assert hash_content("login") == hash_content("log" + "in")
    assert hash_content("login") != hash_content("login ")
    assert len(hash_content("")) == 64
    assert hash_content("\ud800") != hash_content("\ud801")


def test_tokens_are_estimated_from_the_length_of_a_text():
    assert estimate_tokens("") == 0
    assert 300 < estimate_tokens("word " * 200) < 500
    assert estimate_tokens("x" * 3200, "code") == 1000


# The scripts.


@pytest.mark.parametrize("script", ["hooks/utils/retention_tracker.py --test", "tests/hooks/retention_integration.py"])
@pytest.mark.parametrize("folder", ["root", "elsewhere"])
def test_the_scripts_of_the_specification_work_from_any_folder(script, folder, tmp_path):
    path, *words = script.split()
    ran = subprocess.run(
        [sys.executable, str(ROOT / path) if folder == "elsewhere" else path, *words],
        cwd=tmp_path if folder == "elsewhere" else ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "T8" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_simulated_session_shows_bars_and_what_ended_each_result():
    ran = subprocess.run(
        [sys.executable, "tests/hooks/retention_integration.py"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
        check=True,
    )
    lines = {line[:2]: line for line in ran.stdout.splitlines() if line[:1] == "T" and line[2:3] == ":"}
    assert list(lines) == [f"T{step}" for step in range(1, 9)]
    assert all("[" in line and "]" in line for line in lines.values())
    assert "expired at T4" in lines["T1"]
    assert "expired at T6" in lines["T2"]
    assert "live" in lines["T7"]
