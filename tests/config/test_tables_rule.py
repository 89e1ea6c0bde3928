"""The tables of the specification rule: what is changed in them changes what results live by, and no other place says so."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import ruleset
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.retention_tracker import HookContext, RetentionTracker, process_retention
from tests.policy.scenario import Scenario

ROOT = Path(__file__).parents[2]
READ = {"file_path": "/p/a.py"}


@pytest.fixture
def tables():
    """The tables, put back afterwards."""
    kept = copy.deepcopy((ruleset.TIER_CONFIG, TOOLS.tiers))
    yield RetentionTracker.TIER_CONFIG, RetentionTracker.TOOL_TIERS
    for table, before in zip((ruleset.TIER_CONFIG, TOOLS.tiers), kept):
        table.clear()
        table.update(before)


def play(folder: Path) -> RetentionTracker:
    """A read of a file and an edit of it, as the specification's function takes them."""
    environ = {"POPKIT_HOME": str(folder / "home"), "CLAUDE_PROJECT_DIR": f"{folder}/project"}
    for number, tool in enumerate(("Read", "Edit")):
        process_retention(HookContext("s", tool, READ, tool_use_id=f"T{number}", cwd="/p", timestamp=1e6 + number), "text", environ)
    return RetentionTracker.load("s", "", environ)


def test_a_read_lives_on_after_an_edit_when_the_table_preserves_reads(tmp_path, tables):
    assert [result.id for result in play(tmp_path / "before").get_live()] == ["T1"]
    tables[1]["Read"] = "preserved"
    tracker = play(tmp_path / "after")
    assert tracker.get_tier("Read", READ) == "preserved"
    assert [result.id for result in tracker.get_live()] == ["T0", "T1"]


def test_the_tables_of_the_tracker_are_those_of_the_engine():
    assert RetentionTracker.TIER_CONFIG is ruleset.TIER_CONFIG
    assert RetentionTracker.TOOL_TIERS is TOOLS.tiers


PLAIN = [tool for tool, entry in TOOLS.tiers.items() if isinstance(entry, str)]
# The configured word "decision" preserves these, and lies above the table.
DECISIONS = ("AskUserQuestion", "ExitPlanMode")


@pytest.mark.parametrize("tier", ruleset.TIERS)
def test_every_tool_has_the_tier_that_the_table_gives_it(tables, tier):
    for tool in PLAIN:
        tables[1][tool] = tier
        expected = "preserved" if tool in DECISIONS else tier
        assert RetentionTracker().get_tier(tool, READ) == expected, tool


def test_a_tool_that_is_added_to_the_table_has_its_tier(tables):
    tables[1]["mcp__docs__lookup"] = "short"
    assert RetentionTracker().get_tier("mcp__docs__lookup", {}) == "short"


@pytest.mark.parametrize(
    ("change", "command", "tier"),
    [
        ({"default": "short"}, "npm run lint", "short"),
        ({"default": "short"}, "terraform plan", "short"),
        ({"patterns": {"npm test": "medium"}}, "npm test -- login", "medium"),
        ({"patterns": {"npm test": "medium"}}, "npm test && npm run build", "session"),
        ({"patterns": {"git commit": "preserved"}}, "git add . && git commit -m x", "preserved"),
        ({"patterns": {"rm": "short"}}, "mkdir a; rm b", "short"),
        ({"patterns": {"rm": "preserved"}}, "rmdir b", "ephemeral"),
    ],
)
def test_the_entry_of_bash_decides_about_command_lines(tables, change, command, tier):
    tables[1]["Bash"] = {**tables[1]["Bash"], **change}
    assert RetentionTracker().get_tier("Bash", {"command": command}) == tier


@pytest.mark.parametrize(("tool", "command"), [("Read", "cat a.py"), ("Grep", "rg x"), ("Edit", "touch a")])
def test_a_command_that_does_what_a_tool_does_has_the_tier_of_the_tool(tables, tool, command):
    tables[1][tool] = "preserved"
    assert RetentionTracker().get_tier("Bash", {"command": command}) == "preserved"


@pytest.mark.parametrize("entry", ["shrot", None, 5, {}, {"default": []}, {"patterns": {"cat": "shrot"}}, {"patterns": 3}])
@pytest.mark.parametrize("tool", ["Read", "Bash"])
def test_an_entry_that_makes_no_sense_is_passed_over(tables, tool, entry):
    tables[1][tool] = entry
    assert RetentionTracker().get_tier(tool, {**READ, "command": "make all"}) == "session"


def test_a_lifetime_of_the_table_is_the_one_that_holds(tmp_path, tables):
    tables[0]["short"]["ttl_tools"] = 2
    tracker = RetentionTracker.load("s", "", {"POPKIT_HOME": str(tmp_path), "CLAUDE_PROJECT_DIR": str(tmp_path / "project")})
    assert tracker.get_expiry_trigger("short", HookContext("s", "Grep", {"pattern": "x"})) == "tool_count:2"


def test_the_events_of_the_table_are_those_that_hold(tmp_path, tables):
    tables[0]["medium"]["expiry_events"] = []
    assert [result.id for result in play(tmp_path).get_live()] == ["T0", "T1"]


def test_a_subclass_may_have_tables_of_its_own():
    class Mine(RetentionTracker):
        TIER_CONFIG: ClassVar = {**ruleset.TIER_CONFIG, "short": {"ttl_tools": 9}}
        TOOL_TIERS: ClassVar = {**TOOLS.tiers, "Read": "short"}

    assert Mine().get_tier("Read", READ) == "short"
    assert Mine().get_expiry_trigger("short", HookContext("s", "Read", READ)) == "tool_count:9"
    assert RetentionTracker().get_tier("Read", READ) == "medium"


def test_a_configuration_lies_above_the_tables(tables):
    tables[1]["Read"] = "preserved"
    tables[0]["short"]["ttl_tools"] = 2
    rules = Ruleset.from_config({"tool_overrides": {"Read": "short"}, "tiers": {"short": {"ttl_tools": 7}}}, TOOLS)
    assert RetentionTracker(rules=rules).get_tier("Read", READ) == "short"
    assert rules.tier_rule("short").ttl_calls == 7


def test_the_shipped_file_repeats_nothing_of_the_tables():
    shipped = json.loads((ROOT / "retention-config.json").read_text())["retention"]
    assert "tiers" not in shipped
    assert [tool for tool, entry in shipped["tool_overrides"].items() if isinstance(entry, str) or "tier" in entry] == []


def live_after_an_edit(plugin: Path, home: Path) -> list:
    """Ids of what is live once the hook of a plugin's folder has seen a read and an edit."""
    environ = {"POPKIT_HOME": str(home), "PATH": os.defpath, "CLAUDE_PROJECT_DIR": "/p"}
    for number, tool in enumerate(("Read", "Edit")):
        payload = {"session_id": "s", "tool_use_id": f"T{number}", "tool_name": tool, "tool_input": READ, "cwd": "/p"}
        payload.update(hook_event_name="PostToolUse", tool_response={"filePath": "/p/a.py"}, transcript_path="")
        subprocess.run(
            [sys.executable, "-S", "-E", str(plugin / "hooks/post-tool-use.py")],
            input=json.dumps(payload).encode(),
            env=environ,
            check=True,
        )
    return sorted(result.id for result in RetentionTracker.load("s", "", environ).get_live())


@pytest.mark.parametrize(
    ("file", "was", "becomes"),
    [
        ("hooks/utils/hosts/claude_code/__init__.py", '"Read": "medium"', '"Read": "preserved"'),
        ("retention-config.json", '"Read": {', '"Read": {"tier": "preserved",'),
    ],
)
def test_a_table_that_is_changed_in_place_rules_in_the_hooks(tmp_path, file, was, becomes):
    plugin = tmp_path / "plugin"
    for folder in ("hooks", "power-mode"):
        shutil.copytree(ROOT / folder, plugin / folder, ignore=shutil.ignore_patterns("*.pack*", "*.pyc.*"))
    shutil.copy(ROOT / "retention-config.json", plugin)
    assert live_after_an_edit(plugin, tmp_path / "before") == ["T1"]
    text = (plugin / file).read_text()
    assert was in text
    (plugin / file).write_text(text.replace(was, becomes))
    assert live_after_an_edit(plugin, tmp_path / "after") == ["T0", "T1"]


def end_of_reads(session: Scenario) -> dict:
    """What an edit of the first and a commit end of two reads."""
    session.read("a.py")
    session.read("b.py")
    ended = {**session.edit("a.py"), **session.bash("git commit -m x")}
    return {id: trigger for id, trigger in ended.items() if id in ("T1", "T2")}


def test_what_ends_a_read_is_what_the_tier_of_reads_says(tables):
    tables[1]["Read"] = "session"
    tables[0]["session"]["expiry_events"] = ["edit", "supersede"]
    tables[0]["medium"]["expiry_events"] = []
    assert end_of_reads(Scenario({"tiers": {}, "tool_overrides": {}})) == {"T1": "edited"}


def test_a_commit_of_unknown_files_ends_each_tier_that_the_table_says_commits_end(tables):
    tables[0]["session"]["expiry_events"] = ["commit", "supersede"]
    session = Scenario({"tiers": {}})
    session.bash("npm test")
    session.grep("login")
    session.read("a.py")
    assert session.bash("git commit -m x") == {"T1": "committed", "T3": "committed"}


def test_a_failing_command_replaces_its_last_run_in_tiers_where_runs_may(tables):
    """In whatever tier the table lets runs replace each other."""
    tables[1]["Bash"] = {"default": "medium"}
    tables[0]["medium"]["expiry_events"] = ["edit", "supersede"]
    session = Scenario({"tiers": {}, "tool_overrides": {}})
    session.bash("python report.py")
    assert session.bash_fails("python report.py") == {"T1": "superseded"}
