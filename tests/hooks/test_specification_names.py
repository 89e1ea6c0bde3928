"""The names, members and tables of the specification, and the scripts that it names."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.core import context_carrier, efficiency_tracker, retention_tracker
from popkit_retention.core.retention_tracker import (
    HookContext,
    RetentionTracker,
    ToolResultMeta,
    estimate_tokens,
    hash_content,
)
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
READ = {"file_path": "src/auth.ts"}


def test_the_names_and_members_of_the_specification_are_there():
    names = "RetentionTracker ToolResultMeta process_retention detect_events hash_content estimate_tokens"
    assert {*names.split()} <= {*retention_tracker.__all__}
    assert [name for name in retention_tracker.__all__ if not hasattr(retention_tracker, name)] == []
    assert not hasattr(retention_tracker, "another")
    members = """load save get_tier get_expiry_trigger check_expirations mark_superseded get_tokens get_all_expired get_reclaimable_tokens
        current_index TIER_CONFIG TOOL_TIERS"""
    assert {*members.split()} <= {*dir(RetentionTracker)}


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


def test_equal_contents_have_equal_hashes_and_others_have_others():
    assert hash_content("login") == hash_content("log" + "in")
    assert hash_content("login") != hash_content("login ")
    assert len(hash_content("")) == 64
    assert hash_content("\ud800") != hash_content("\ud801")


def test_tokens_are_estimated_from_the_length_of_a_text():
    assert estimate_tokens("") == 0
    assert 300 < estimate_tokens("word " * 200) < 500
    assert estimate_tokens("x" * 2_200, "code") == 1_000


# The scripts.


def _ran(script: str, cwd: Path) -> list[str]:
    """The lines that a script prints which finds everything as the specification says."""
    argv = [sys.executable, *script.split()]
    ran = subprocess.run(argv, cwd=cwd, capture_output=True, encoding="utf-8", timeout=HANG_S, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()


@pytest.mark.parametrize("script", ["hooks/utils/retention_tracker.py --test", "tests/hooks/retention_integration.py"])
def test_the_scripts_of_the_specification_work_from_any_folder(script: str, tmp_path: Path):
    lines = _ran(script, ROOT)
    assert any("T8" in line for line in lines)
    assert _ran(f"{ROOT}/{script}", tmp_path) == lines
    assert list(tmp_path.iterdir()) == []


def test_the_simulated_session_shows_bars_and_what_ended_each_result():
    printed = _ran("tests/hooks/retention_integration.py", ROOT)
    lines = {line[:2]: line for line in printed if line[:1] == "T" and line[2:3] == ":"}
    assert list(lines) == [f"T{step}" for step in range(1, 9)]
    assert all("[" in line and "]" in line for line in lines.values())
    assert "expired at T4" in lines["T1"]
    assert "expired at T6" in lines["T2"]
    assert "live" in lines["T7"]


WITH_PYTEST_ALONE = """
import sys
from importlib.machinery import PathFinder

THERE = {"pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "popkit_retention"}


class OthersAreMissing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = None if path else PathFinder.find_spec(name)
        if spec and "site-packages" in str(spec.origin) and name not in THERE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, OthersAreMissing)
import pytest

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/hooks/test_retention_tracker.py"]))
"""


def test_the_tests_of_the_tracker_need_pytest_alone():
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-c", WITH_PYTEST_ALONE]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
