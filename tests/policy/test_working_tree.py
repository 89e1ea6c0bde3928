"""What git shows of a working tree ends when that changes: with an edit, a commit, a checkout; what it shows of commits does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from popkit_retention.core.views.report import expiry
from tests.policy.scenario import Scenario

OF_FILES = [
    "git status",
    "git status --short",
    "git diff",
    "git diff --stat",
    "git diff HEAD",
    "git diff main",
    "git diff -- src",
    "git diff src/a.py",
]
OF_THE_INDEX = ["git diff --cached", "git diff --staged src"]
OF_HEAD = [
    "git log --oneline -5",
    "git show",
    "git show HEAD",
    "git diff HEAD~3 HEAD",
    "git diff HEAD~3..",
    "git rev-parse HEAD",
]
OF_NOTHING = [
    "git diff 1a2b3c4 5d6e7f8", "git diff 1a2b3c4..5d6e7f8", "git show 1a2b3c4", "git show v1.2.0",
    "git show 1a2b3c4:src/a.py", "git show HEAD~1:src/a.py", "git log 1a2b3c4..5d6e7f8",
]  # fmt: skip


def _ended(lines: list[str], change: Callable[[Scenario], dict]) -> set[str]:
    """By what a change ends each of these lines; "" for one that lives on."""
    found = set()
    for line in lines:
        session = Scenario()
        session.bash(line)
        found.add(change(session).get("T1", ""))
    return found


@pytest.mark.parametrize(("beside", "ends"), [("", "edited"), (" | head -50", "edited"), (" && git branch", "")])
def test_an_edit_ends_what_git_shows_of_the_files(beside: str, ends: str):
    assert _ended([line + beside for line in OF_FILES], lambda session: session.edit("src/a.py")) == {ends}


@pytest.mark.parametrize("line", [*OF_THE_INDEX, *OF_HEAD, *OF_NOTHING])
def test_an_edit_does_not_end_what_git_shows_of_the_index_and_of_commits(session: Scenario, line: str):
    session.bash(line)
    session.edit("src/a.py")
    session.changed_on_disk("/p/src/a.py")
    assert "T1" in session.live


@pytest.mark.parametrize("change", ["git add -A", "git stash", "git restore ."])
def test_what_is_staged_or_put_back_ends_what_git_shows_of_files_and_index(change: str):
    assert _ended([*OF_FILES, *OF_THE_INDEX], lambda session: session.bash(change)) == {"changed_on_disk"}


@pytest.mark.parametrize(
    "change", ["git checkout main", "git -C /p reset --hard HEAD~1", "cd /p/src && git pull", "git rebase main | tail -3"]
)
def test_another_commit_checked_out_ends_all_but_what_git_shows_of_certain_commits(change: str):
    assert _ended([*OF_FILES, *OF_THE_INDEX, *OF_HEAD], lambda session: session.bash(change)) == {"changed_on_disk"}


@pytest.mark.parametrize("committed", [None, [], ["/p/src/a.py"]])
def test_so_does_a_commit_whatever_it_holds(committed):
    def commit(session: Scenario) -> dict:
        ended = session.bash("git commit -qm x", committed=committed)
        assert session.reasons("T1") == "the working tree has changed since: Bash git commit -qm x"
        return ended

    assert _ended([*OF_FILES, *OF_THE_INDEX, *OF_HEAD], commit) == {"committed"}


@pytest.mark.parametrize("line", OF_NOTHING)
def test_nothing_but_its_repetition_ends_what_git_shows_of_certain_commits(session: Scenario, line: str):
    session.bash(line)
    for change in ("git commit -m x", "git checkout main", "git add ."):
        session.bash(change)
    assert "T1" in session.live
    assert session.bash(line)["T1"] == "superseded"


@pytest.mark.parametrize(
    ("line", "edited"),
    [
        ("git diff src", "/p/lib/a.py"),
        ("git diff -- src/a.py", "src/b.py"),
        ("git diff HEAD -- src/a.py src/c.py", "src/b.py"),
        ("git -C /q status", "a.py"),
        ("cd $D && git status", "a.py"),
        ("git status", "/q/a.py"),
    ],
)
def test_an_edit_of_what_it_does_not_show_does_not_end_it(session: Scenario, line: str, edited: str):
    session.bash(line)
    session.edit(edited)
    assert "T1" in session.live


@pytest.mark.parametrize(
    "change",
    ["git -C /q commit -m x", "cd /q && git checkout main", "git -C $D add .", "git stash list", "git branch", "git fetch"],
)
def test_a_change_of_another_repository_or_of_no_file_and_no_commit_ends_nothing(session: Scenario, change: str):
    session.bash("git status")
    session.bash(change)
    assert "T1" in session.live


def test_a_change_that_fails_ends_nothing(session: Scenario):
    session.bash("git status")
    session.bash_fails("git checkout nowhere")
    session.bash_fails("git commit -m x", "nothing to commit")
    assert "T1" in session.live


def test_a_file_that_changed_on_disk_ends_it_too(session: Scenario):
    session.bash("git diff")
    assert session.changed_on_disk("/p/src/a.py") == {"T1": "changed_on_disk"}
    assert session.reasons("T1") == "the working tree has changed since: /p/src/a.py was modified"


def test_each_is_superseded_by_itself_alone(session: Scenario):
    session.bash("git status")
    session.bash("git diff")
    assert session.bash("git status") == {"T1": "superseded"}
    assert session.quiet_age("T2") == 1, "it was not looked at again"
    assert session.bash("git diff") == {"T2": "superseded"}


def test_a_failed_one_waits_for_its_own_success():
    session = Scenario({"tool_overrides": {"Bash": "medium"}})
    session.bash_fails("git status")
    session.bash("git diff")
    assert "T1" in session.live
    assert session.bash("git status")["T1"] == "superseded"


def test_a_status_behind_the_commit_shows_what_is_true(session: Scenario):
    session.bash("git status")
    assert session.bash("git add -A && git commit -m x && git status")["T1"] == "committed"
    assert session.nothing() == {}
    assert session.edit("a.py") == {"T2": "edited"}


def test_a_line_that_shows_something_else_too_lives_until_that_is_gone(session: Scenario):
    session.bash("git status; npm test")
    session.edit("a.py")
    assert "T1" in session.live
    assert session.bash("npm test")["T1"] == "superseded"


def test_what_is_pinned_stays(session: Scenario):
    session.bash("git status")
    session.pin("T1")
    session.edit("a.py")
    session.bash("git commit -m x")
    assert "T1" in session.live


def test_without_the_edit_event_an_edit_ends_nothing():
    session = Scenario({"tiers": {"medium": {"expiry_events": ["commit"]}}})
    session.bash("git status")
    session.edit("a.py")
    assert "T1" in session.live
    assert session.bash("git commit -m x")["T1"] == "committed"


def test_between_two_processes_nothing_of_it_is_forgotten(session: Scenario):
    session.bash("git diff src")
    session.save_and_load()
    assert session.edit("src/a.py") == {"T1": "edited"}


@pytest.mark.parametrize(
    ("line", "on"),
    [("git status", ["edit", "commit", "repeat"]), ("git log", ["commit", "repeat"]), ("git show 1a2b3c4", ["repeat"])],
)
def test_what_will_end_it_is_named(session: Scenario, line: str, on: list):
    session.bash(line)
    assert expiry(session.result("T1"), session.state, session.rules, session.at)["on"] == [*on, "session_end"]


# A run in another tree ends none of this one.

OTHER_TREES = [
    ("git restore --source=HEAD~2 .", ""),
    ("git restore --source main src", ""),
    ("git restore -s main src", ""),
    ("git restore -SW -s main src", ""),
    ("git apply -R x.patch", ""),
    ("git apply --reverse x.patch", ""),
    ("git diff | git apply -R", ""),
    ("patch -R -p1 < x.patch", ""),
    ("git show 1a2b3c4 | patch -Rp1", ""),
    ("git reset --hard origin/main", "HEAD is now at 1a2b3c4 x"),
    ("git reset --keep HEAD~2", ""),
    ("git co main", "Switched to branch 'main'"),
    ("git sw main", "Switched to branch 'main'"),
    ("git checkout fix.me", "Switched to branch 'fix.me'"),
    ("git co fix.me", "Switched to branch 'fix.me'"),
    ("git checkout rel.x", "Note: switching to 'rel.x'.\n\nHEAD is now at 1a2b3c4 x"),
    ("gh pr checkout 12", ""),
    ("gh pr checkout -b x 12", ""),
    ("gh pr --repo=a/b checkout 12", ""),
    ("svn -q update", ""),
    ("hg -y update tip", ""),
    *(
        (f"{program} {word} x", "")
        for program in ("hg", "sl", "svn", "jj")
        for word in ("update", "up", "checkout", "co", "goto", "switch", "edit")
    ),
]
SAME_TREE = [
    ("git restore .", ""),
    ("git restore src/a.py", ""),
    ("git restore --source=HEAD src", ""),
    ("git restore --staged -s main src", ""),
    ("git apply x.patch", ""),
    ("git apply -R --check x.patch", ""),
    ("git apply -R --cached x.patch", ""),
    ("patch -R --dry-run -p1 < x.patch", ""),
    ("git reset --hard", "HEAD is now at 1a2b3c4 x"),
    ("git checkout a.py", "Updated 1 path from the index"),
    ("git checkout .", "Updated 3 paths from the index"),
    ("gh pr view 12", ""),
    ("gh issue checkout 12", ""),
    ("hg status", ""),
    ("svn commit up", ""),
    ("fossil update x", ""),
]


@pytest.mark.parametrize(("change", "said"), OTHER_TREES)
def test_a_run_in_another_tree_does_not_end_a_failure_in_this_one(session: Scenario, change: str, said: str):
    session.bash_fails("pytest", "1 failed")
    session.bash(change, said)
    assert "T1" not in session.bash("pytest", "1 passed")


@pytest.mark.parametrize(("change", "said"), SAME_TREE)
def test_a_run_in_the_same_tree_ends_it(session: Scenario, change: str, said: str):
    session.bash_fails("pytest", "1 failed")
    session.bash(change, said)
    assert session.bash("pytest", "1 passed")["T1"] == "superseded"


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ("git apply -R x.patch", "git apply x.patch"),
        ("patch -R -p1 < x.patch", "patch -p1 < x.patch"),
        ("git co main", "git co -"),
        ("git checkout fix.me", "git checkout -"),
        ("git reset --hard origin/main", "git reset --hard ORIG_HEAD"),
    ],
)
def test_a_run_back_in_this_tree_ends_it(session: Scenario, there: str, back: str):
    session.bash_fails("pytest", "1 failed")
    session.bash(there, "Switched to branch 'fix.me'" if "fix.me" in there else "")
    assert "T1" not in session.bash("pytest", "1 passed")
    session.bash(back, "")
    assert session.bash("pytest", "2 passed")["T1"] == "superseded"


@pytest.mark.parametrize("taken_back", ["patch -R -p1 < x.patch", "tee y.patch < x.patch | patch -Rp1"])
def test_between_a_patch_taken_back_and_applied_again_a_line_runs_another_tree(session: Scenario, taken_back: str):
    session.bash_fails("pytest", "1 failed")
    assert session.bash(f"{taken_back}; pytest; patch -p1 < x.patch", "1 passed") == {}
    assert session.bash("pytest", "2 passed") == {"T1": "superseded"}
