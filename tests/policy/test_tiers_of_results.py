"""The tier that a result gets: by its tool or command, by overrides, by preserved patterns, by what the user decided."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.classify import LABEL_CHARS
from tests.policy.scenario import Scenario

TOOLS = [
    ("MultiEdit", {"file_path": "a.py"}, "ephemeral"),
    ("NotebookEdit", {"notebook_path": "a.ipynb"}, "ephemeral"),
    ("AskUserQuestion", {"questions": []}, "preserved"),
    ("ExitPlanMode", {"plan": "1. x"}, "preserved"),
    ("mcp__db__query", {"sql": "x"}, "session"),
    ("SomethingNew", {}, "session"),
]


@pytest.mark.parametrize(("tool", "tool_input", "tier"), TOOLS)
def test_a_tool_has_its_tier(tool, tool_input, tier):
    session = Scenario({"tool_overrides": {}})
    session.call(tool, tool_input)
    assert session.tier("T1") == tier


COMMANDS = [
    ("rg x", "short"),
    ("cat a.py", "medium"),
    ("npm test", "session"),
    ("git commit -m x", "ephemeral"),
    ("mkdir -p x", "ephemeral"),
    ("python main.py", "session"),
    ("git status", "session"),
    # Of a line that does several things, the longest-lived tier.
    ("mkdir x && cat a.py", "medium"),
    ("rg x && cat a.py", "medium"),
    ("mkdir a; rm b", "ephemeral"),
    ("cd a && echo x", "session"),
    ("", "session"),
    ("cat a.py && npm test", "session"),
    ("cd src && rg x", "short"),
    ("bash -lc 'cat a.py'", "medium"),
    # Written to a file, there is nothing to see.
    ("cat a.py > b.py", "ephemeral"),
    ("cat > a.py <<'EOF'\nnpm test\nEOF", "ephemeral"),
    # What looks like something else inside quotes is not.
    ("python -c 'rm = 1'", "session"),
    ('echo "a; npm test" | cat - a.py', "medium"),
]


@pytest.mark.parametrize(("command", "tier"), COMMANDS)
def test_a_command_line_has_its_tier(session: Scenario, command, tier):
    session.bash(command)
    assert session.tier("T1") == tier


# Overrides.


def test_a_read_that_is_short_by_override_ends_as_searches_do(session: Scenario):
    session.read("README.md")
    assert session.nothing(4) == {}
    assert session.nothing() == {"T1": "ttl_calls"}


def test_a_tool_can_be_given_another_tier():
    session = Scenario({"tool_overrides": {"Grep": "session", "mcp__web__*": "short"}})
    session.grep("login")
    session.call("mcp__web__get", {"url": "x"})
    session.call("mcp__db__get", {"url": "x"})
    assert [session.tier(id) for id in session.live] == ["session", "short", "session"]


def test_a_command_can_be_given_another_tier():
    session = Scenario(
        {"tool_overrides": {"Bash": {"patterns": {"git log": "short", "*--dry-run*": "ephemeral", "terraform plan": "preserved"}}}}
    )
    session.bash("git log --oneline -5")
    session.bash("make deploy --dry-run")
    session.bash("terraform plan -out plan")
    session.bash("git logs")
    assert [session.tier(id) for id in ("T1", "T2", "T3", "T4")] == ["short", "ephemeral", "preserved", "session"]


def test_the_reason_for_a_tier_is_kept(session: Scenario):
    session.read("README.md")
    session.read("STATUS.json")
    session.read_fails("a.py")
    session.read("b.py")
    assert session.result("T1").basis == "configured for Read *.md"
    assert session.result("T2").basis == "preserved pattern STATUS.json"
    assert session.result("T3").basis == "an error"
    assert session.result("T4").basis == "tool Read"


# Preserved patterns.


def test_a_preserved_path_is_preserved_whatever_reads_it(session: Scenario):
    session.read("STATUS.json")
    session.bash("cat docs/STATUS.json")
    session.nothing(20)
    session.edit("STATUS.json")
    session.bash("git commit -m x")
    session.end_session()
    assert [session.tier("T1"), session.tier("T2")] == ["preserved", "preserved"]
    assert {"T1", "T2"} <= set(session.live)


def test_a_preserved_run_is_not_ended_by_its_next_run():
    session = Scenario({"preserved_patterns": ["npm test*"]})
    session.bash("npm test")
    assert session.bash("npm test") == {}
    assert session.clear("T1") == {"T1": "manual"}


def test_a_preserved_pattern_does_not_look_into_a_body(session: Scenario):
    session.read("a.py", text="STATUS.json")
    session.bash("python main.py", "STATUS.json")
    session.grep("login", text="STATUS.json:1:login")
    assert [session.tier(id) for id in session.live] == ["medium", "session", "short"]


def test_writing_a_preserved_file_is_an_acknowledgement(session: Scenario):
    session.edit("STATUS.json", "Write")
    assert session.tier("T1") == "ephemeral"


# Decisions of the user.


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_a_decision_of_the_user_is_preserved(session: Scenario, tool):
    session.call(tool, {"x": 1}, "User has answered: yes")
    session.nothing(30)
    session.wait(10_000)
    session.bash("git commit -m x")
    session.end_session()
    assert session.tier("T1") == "preserved"
    assert "T1" in session.live


def test_without_the_word_decision_it_is_not():
    session = Scenario({"preserved_patterns": ["error"]})
    session.call("AskUserQuestion", {"questions": []})
    assert session.tier("T1") == "session"
    assert session.end_session() == {"T1": "session_end"}


def test_two_decisions_live_side_by_side(session: Scenario):
    session.call("AskUserQuestion", {"questions": [1]}, "yes")
    session.call("AskUserQuestion", {"questions": [2]}, "yes")
    session.call("AskUserQuestion", {"questions": [1]}, "no")
    assert session.live == ["T1", "T2", "T3"]


# What patterns are held against: paths and command lines, never what is searched for.


def test_a_path_pattern_of_a_search_tool_is_held_against_the_place_that_is_searched():
    session = Scenario({"tool_overrides": {"Grep": {"patterns": {"docs/": "session"}}, "Glob": {"patterns": {"/p/docs": "session"}}}})
    session.grep("login", "docs/guide")
    session.grep("docs/login")
    session.call("Glob", {"pattern": "*.md", "path": "/p/docs"})
    assert [session.tier(id) for id in session.live] == ["session", "short", "session"]


def test_a_preserved_pattern_does_not_look_at_what_is_searched_for(session: Scenario):
    session.grep("STATUS.json")
    assert session.tier("T1") == "short"


def test_a_pin_by_pattern_does_not_look_at_what_is_searched_for(session: Scenario):
    session.pin("config.ts")
    session.grep("config.ts")
    session.read("src/config.ts")
    session.nothing(5)
    assert "T1" not in session.live
    assert session.edit("src/config.ts") == {}


def test_a_pattern_is_held_against_every_file_that_a_line_reads(session: Scenario):
    session.bash("cat a.py docs/STATUS.json | head -50")
    assert session.tier("T1") == "preserved"


@pytest.mark.parametrize("more", [0, 1, 50])
def test_a_label_is_as_long_as_it_may_be_and_says_that_something_is_missing(session: Scenario, more: int):
    command = "thing " + "x" * (LABEL_CHARS - len("Bash thing ") + more)
    session.bash(command)
    label = session.result("T1").label
    assert len(label) == LABEL_CHARS
    assert label == (f"Bash {command}" if not more else f"Bash {command}"[: LABEL_CHARS - 1] + "…")
