"""A commit ends the reads of the files in it; all medium results only where git cannot say which these are."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario


def test_a_commit_ends_the_reads_of_the_files_in_it_and_no_others(session: Scenario):
    session.read("a.py")
    session.bash("cat b.py")
    session.read("c.py")
    assert session.bash("git commit -m x", committed=["/p/a.py", "/p/b.py"]) == {"T1": "committed", "T2": "committed"}
    assert session.live == ["T3", "T4"]


def test_a_commit_of_no_file_that_was_read_ends_nothing(session: Scenario):
    session.read("a.py")
    session.bash("git commit -m x", committed=[])
    session.bash("git commit -m x", committed=["/p/b.py"])
    assert "T1" in session.live


def test_where_git_cannot_say_a_commit_ends_all_medium_results_and_only_these(session: Scenario):
    session.read("a.py")  # medium
    session.bash("cat b.py")  # medium
    session.read("auth.test.ts")  # session, by override
    session.grep("login")
    session.bash("npm test")
    session.read_fails("missing.py")
    session.read("STATUS.json")  # preserved
    assert session.bash("git commit -m x") == {"T1": "committed", "T2": "committed"}


@pytest.mark.parametrize(
    "line",
    [
        "git commit",
        "git add -A && git commit -m 'x; y'",
        "git -C /p commit -qm x",
        "cd /p && git commit --amend --no-edit",
        "git commit -am x | tail -1",
    ],
)
def test_a_commit_is_found_in_any_line_that_makes_one(session: Scenario, line):
    session.read("a.py")
    assert session.bash(line, committed=["/p/a.py"])["T1"] == "committed"


@pytest.mark.parametrize("line", ["git status", "git log -p commit", "echo git commit", "git add .", "git push", "rg 'git commit'"])
def test_a_line_that_makes_no_commit_ends_no_read(session: Scenario, line):
    session.read("a.py")
    assert session.bash(line) == {}


def test_a_commit_that_fails_ends_nothing(session: Scenario):
    session.read("a.py")
    assert session.bash_fails("git commit -m x", "nothing to commit, working tree clean") == {}
    assert session.live == ["T1", "T2"]


def test_the_reason_says_whether_git_could_tell(session: Scenario):
    session.read("a.py")
    session.read("b.py")
    session.bash("git commit -m x", committed=["/p/a.py"])
    session.bash("git commit -m y")
    assert session.reasons("T1") == "its file was committed: Bash git commit -m x"
    assert session.reasons("T2") == "a commit whose files git could not tell: Bash git commit -m y"


def test_without_the_commit_event_a_commit_ends_nothing():
    session = Scenario({"tiers": {"medium": {"expiry_events": ["edit_file"]}}})
    session.read("a.py")
    session.bash("git commit -m x", committed=["/p/a.py"])
    session.bash("git commit -m y")
    assert session.edit("a.py")["T1"] == "edited"
