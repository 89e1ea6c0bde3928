"""Errors are preserved until the same action succeeds; what only speaks of errors is no error."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario

FAILURES = [
    ("Read", {"file_path": "missing.py"}, "File does not exist."),
    ("Edit", {"file_path": "a.py"}, "String to replace not found in file."),
    ("Grep", {"pattern": "("}, "regex parse error"),
    ("mcp__db__query", {"sql": "selct"}, "syntax error"),
    ("WebFetch", {"url": "https://example.com", "prompt": "x"}, "getaddrinfo ENOTFOUND example.com"),
    ("Bash", {"command": "mkdir /proc/x"}, "Exit code 1\nmkdir: cannot create directory"),
    ("Bash", {"command": "cat missing.py"}, "Exit code 1\ncat: missing.py: No such file or directory"),
    ("Bash", {"command": "git commit -m x"}, "Exit code 1\nnothing to commit"),
    ("Bash", {"command": "rg '('"}, "Exit code 2\nregex parse error"),
]


@pytest.mark.parametrize(("tool", "tool_input", "text"), FAILURES)
def test_an_error_is_preserved_until_the_same_action_succeeds(session: Scenario, tool, tool_input, text):
    session.call(tool, tool_input, text, failed=True)
    session.nothing(30)
    session.wait(10_000)
    session.end_session()
    assert session.tier("T1") == "preserved"
    assert "T1" not in session.call(tool, tool_input, text, failed=True), "the same failure does not end it"
    assert "T1" in session.live
    assert session.call(tool, tool_input)["T1"] == "superseded"


@pytest.mark.parametrize("lasting", [{"profile": "spec"}, {"tiers": {"preserved": {"expiry_events": ["manual"]}}}])
def test_where_only_a_person_ends_what_is_preserved_an_error_outlives_the_success(lasting):
    session = Scenario(lasting)
    session.call("Edit", {"file_path": "a.py"}, "String to replace not found in file.", failed=True)
    assert session.call("Edit", {"file_path": "a.py"}) == {}
    assert "T1" in session.live


@pytest.mark.parametrize(
    ("tool", "failed", "succeeded"),
    [
        ("Read", {"file_path": "a.py"}, {"file_path": "b.py"}),
        ("Edit", {"file_path": "a.py"}, {"file_path": "b.py"}),
        ("mcp__db__query", {"sql": "a"}, {"sql": "b"}),
        ("Bash", {"command": "mkdir a"}, {"command": "mkdir b"}),
        ("Bash", {"command": "cat a.py"}, {"command": "cat b.py"}),
    ],
)
def test_an_error_is_not_ended_by_the_success_of_another_action(session: Scenario, tool, failed, succeeded):
    session.call(tool, failed, "no such thing", failed=True)
    assert session.call(tool, succeeded) == {}


def test_an_edit_that_failed_is_answered_by_any_edit_of_the_file_that_succeeds(session: Scenario):
    session.call("Edit", {"file_path": "a.py", "old_string": "x"}, "String to replace not found in file.", failed=True)
    assert session.call("Edit", {"file_path": "a.py", "old_string": "y"}) == {"T1": "superseded"}


def test_a_read_that_failed_is_answered_by_a_read_of_any_part_of_the_file(session: Scenario):
    session.read_fails("a.py")
    assert session.read("a.py", 10, 20) == {"T1": "superseded"}


MISSING = "cat: missing.txt: No such file or directory"
UNPROVED = [
    ("cat missing.txt", "cat missing.txt | head -5", MISSING),
    ("cat missing.txt", "cat missing.txt 2>/dev/null || echo none", "none"),
    ("git push", "git push 2>&1 | tail -3", "! [rejected] main -> main (fetch first)"),
    ("git push", "git push || true", "! [rejected] main -> main (fetch first)"),
    ("git commit -m x", "git commit -m x 2>&1 | tail -5", "pre-commit hook failed"),
    ("mkdir /proc/x", "mkdir /proc/x 2>/dev/null; echo done", "done"),
]


@pytest.mark.parametrize(("failed", "again", "output"), UNPROVED, ids=[again for _, again, _ in UNPROVED])
def test_an_error_is_not_answered_by_a_line_whose_success_is_not_its_own(session: Scenario, failed: str, again: str, output: str):
    session.bash_fails(failed)
    assert session.bash(again, output) == {}
    assert session.bash(failed, "done")["T1"] == "superseded"


def test_the_reason_says_what_succeeded(session: Scenario):
    session.read_fails("a.py")
    session.read("a.py")
    assert session.reasons("T1") == "the action succeeded later: Read a.py"


def test_an_error_keeps_one_line_of_what_it_said(session: Scenario):
    session.bash_fails("mkdir -p /proc/x", "mkdir: cannot create directory ‘/proc/x’: No such file or directory", code=1)
    assert session.result("T1").verdict == "exit 1: mkdir: cannot create directory ‘/proc/x’: No such file or directory"
    session.read_fails("missing.py")
    assert session.result("T2").verdict == "File does not exist."


def test_an_override_does_not_make_an_error_expire():
    session = Scenario({"tool_overrides": {"Read": "short", "Bash": {"patterns": {"mkdir": "short"}}}})
    session.read_fails("a.py")
    session.bash_fails("mkdir x")
    assert (session.tier("T1"), session.tier("T2")) == ("preserved", "preserved")
    assert session.nothing(6) == {}


# A failing run.


@pytest.mark.parametrize("command", ["npm test", "npm run build", "npx eslint .", "npx tsc --noEmit", "python script.py", "docker ps"])
def test_a_failing_run_of_a_session_tier_command_is_ended_by_its_next_run(session: Scenario, command):
    session.bash_fails(command)
    assert session.tier("T1") == "session"
    assert session.bash_fails(command) == {"T1": "superseded"}
    assert session.bash(command) == {"T2": "superseded"}


# A search that finds nothing.


@pytest.mark.parametrize("command", ["rg login", "grep -rn login src", "git grep login", "rg login | head"])
def test_a_search_that_exits_1_with_no_output_is_no_error(session: Scenario, command):
    session.bash_fails(command, "", code=1)
    assert session.tier("T1") == "short"
    assert session.result("T1").error is False
    assert session.nothing(5) == {"T1": "ttl_calls"}


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [("rg login", "", 2), ("rg login", "rg: src: No such file or directory", 1), ("mkdir x", "", 1), ("cat a.py", "", 1)],
)
def test_anything_else_that_exits_with_an_error_is_one(session: Scenario, command, output, code):
    session.bash_fails(command, output, code)
    assert session.result("T1").error is True
    assert session.tier("T1") == "preserved"


# What only speaks of errors.


def test_a_source_file_that_mentions_errors_is_no_error(session: Scenario):
    session.read("handler.py", text="raise ValueError('error: failed')  # decision: fail")
    session.bash("cat fail.py", "error")
    session.bash("rg error", "a.py:1:error: it failed")
    session.bash("python main.py", "Error: failed, FAIL, error")
    assert [session.tier(id) for id in session.live] == ["medium", "medium", "short", "session"]
    assert not any(session.result(id).error for id in session.live)


def test_without_these_words_an_error_has_the_tier_of_its_tool():
    session = Scenario({"preserved_patterns": ["decision"]})
    session.read_fails("a.py")
    session.bash_fails("mkdir x")
    session.call("mcp__db__query", {}, "no", failed=True)
    assert {id: session.tier(id) for id in ("T1", "T2")} == {"T1": "medium", "T2": "ephemeral"}
    assert session.tier("T3") == "session"
    assert session.read("a.py")["T1"] == "superseded"
