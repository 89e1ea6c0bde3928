"""A commit ends the reads of the files in it; all medium results only where git cannot say which these are; and which files
a commit holds, as far as the transcript itself tells."""

from __future__ import annotations

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy.commits import Commits
from popkit_retention.core.policy.events import Call
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
    assert session.reasons("T2") == "a commit whose files git could not list: Bash git commit -m y"


def test_without_the_commit_event_a_commit_ends_nothing():
    session = Scenario({"tiers": {"medium": {"expiry_events": ["edit_file"]}}})
    session.read("a.py")
    session.bash("git commit -m x", committed=["/p/a.py"])
    session.bash("git commit -m y")
    assert session.edit("a.py")["T1"] == "edited"


# --- which files a commit holds ----------------------------------------------------------------------------------------------------------


class Work:
    """Calls in `/p`, one after the other."""

    def __init__(self):
        self.commits = Commits()

    def call(self, tool: str, tool_input: dict, text: str = "done", failed: bool = False, cwd: str = "/p") -> list | None:
        outcome = outcomes.outcome_of_error(text) if failed else outcomes.outcome_of_text(TOOLS.of(tool), tool_input, text)
        return self.commits.files_of(Call("T", TOOLS.of(tool), tool_input, outcome, cwd=cwd), text)

    def edit(self, *paths: str) -> None:
        for path in paths:
            assert self.call("Edit", {"file_path": path}) is None

    def bash(self, line: str, text: str = "", **more) -> list | None:
        return self.call("Bash", {"command": line}, text, **more)


@pytest.fixture
def work() -> Work:
    return Work()


def test_a_call_that_makes_no_commit_has_no_files(work: Work):
    work.edit("/p/a.py")
    assert work.bash("git status") is None
    assert work.bash("git log -p commit") is None
    assert work.bash("git commit -m x", "Exit code 1\nnothing to commit", failed=True) is None


@pytest.mark.parametrize(
    "line",
    [
        "git commit -am x",
        "git commit -qam x",
        "git commit -a -m x",
        "git add -A && git commit -m x",
        "git add . && git commit -m x",
        "git add --all; git commit -m x",
        "git commit -m x",
    ],
)
def test_a_commit_of_all_holds_what_was_edited_since_the_one_before(work: Work, line: str):
    work.edit("/p/a.py", "/p/src/b.py")
    assert work.bash(line) == ["/p/a.py", "/p/src/b.py"]
    assert work.bash(line) == []
    work.edit("/p/a.py")
    assert work.bash(line) == ["/p/a.py"]


@pytest.mark.parametrize(
    "words", ["--all -m x", "-a -m x", "-am x", "-qam x", "-va -m x", "-m x --all", "-m x -a", "--amend --all", "--author me -a -m x"]
)
def test_a_commit_of_all_holds_what_was_edited_beside_what_is_staged(work: Work, words: str):
    work.edit("/p/a.py", "/p/b.py")
    work.bash("git add b.py")
    assert work.bash(f"git commit {words}") == ["/p/a.py", "/p/b.py"]
    assert work.bash("git commit -am y") == []


@pytest.mark.parametrize(
    "words", ["-ma", "-m a", "-m --all", "-m=-a", "-Fa", "-qma", "-vqCa", "-ca", "-ta", "--amend -m x", "-m x --no-edit"]
)
def test_what_only_looks_like_all_commits_what_is_staged_alone(work: Work, words: str):
    work.edit("/p/a.py", "/p/b.py")
    work.bash("git add b.py")
    assert work.bash(f"git commit {words}") == ["/p/b.py"]
    assert work.bash("git commit -am y") == ["/p/a.py"]


@pytest.mark.parametrize(
    "option",
    [
        "-m", "-F", "-C", "-c", "-t", "-qm", "--message", "--file", "--author", "--date", "--template", "--fixup", "--squash",
        "--reuse-message", "--reedit-message", "--cleanup", "--trailer",
    ],
)  # fmt: skip
def test_the_value_of_an_option_is_no_path_and_the_word_behind_it_is_one(work: Work, option: str):
    work.edit("/p/a.py", "/p/b.py", "/p/c.py")
    work.bash("git add b.py")
    assert work.bash(f"git commit {option} c.py") == ["/p/b.py"]
    assert work.bash(f"git commit {option} x c.py a.py") == ["/p/a.py", "/p/c.py"]


@pytest.mark.parametrize("option", ["-m", "-qm", "-F", "--message"])
def test_a_value_in_the_word_of_its_option_takes_no_other_word(work: Work, option: str):
    work.edit("/p/a.py", "/p/b.py")
    joined = option + ("=x" if option[:2] == "--" else "x")
    assert work.bash(f"git commit {joined} a.py") == ["/p/a.py"]


@pytest.mark.parametrize("option", ["-A", "--all", "-u", "--update", "--no-ignore-removal"])
def test_all_that_is_edited_is_staged_beside_what_was_named(work: Work, option: str):
    work.edit("/p/a.py", "/p/b.py")
    work.bash("git add c.py")
    work.bash("git add " + option)
    work.edit("/p/d.py")
    assert work.bash("git commit -m x") == ["/p/a.py", "/p/b.py", "/p/c.py"]


@pytest.mark.parametrize("option", ["-n", "-p", "-v", "--intent-to-add"])
def test_an_option_of_git_add_that_names_nothing_stages_nothing(work: Work, option: str):
    work.edit("/p/a.py")
    work.bash("git add b.py")
    work.bash("git add " + option)
    assert work.bash("git commit -m x") == ["/p/b.py"]


@pytest.mark.parametrize("word", ["add", "stage", "rm", "mv"])
def test_whatever_puts_a_file_into_the_index_stages_it(work: Work, word: str):
    work.edit("/p/a.py")
    work.bash(f"git {word} b.py c.py")
    assert work.bash("git commit -m x") == ["/p/b.py", "/p/c.py"]


def test_two_commits_of_a_line_hold_the_files_of_both(work: Work):
    work.edit("/p/a.py", "/p/b.py", "/p/c.py")
    assert work.bash("git commit -m x a.py && git commit -m y b.py") == ["/p/a.py", "/p/b.py"]
    assert work.bash("git commit --amend --no-edit c.py") == ["/p/b.py", "/p/c.py"]


@pytest.mark.parametrize(
    "lines",
    [
        ["git add a.py && git commit -m x"],
        ["git add a.py", "git commit -m x"],
        ["cd src && git add ../a.py", "git commit -m x"],
        ["git commit a.py -m x"],
        ["git commit -m 'b.py and more' -- a.py"],
        ["git -C /p add /p/a.py", "git -C /p commit --author me --message x"],
    ],
)
def test_what_is_named_is_in_it_and_the_rest_in_the_next(work: Work, lines: list):
    work.edit("/p/a.py", "/p/b.py")
    assert [work.bash(line) for line in lines][-1] == ["/p/a.py"]
    assert work.bash("git commit -am y") == ["/p/b.py"]


def test_a_staged_folder_includes_what_was_edited_below_it(work: Work):
    work.edit("/p/a.py", "/p/src/b.py")
    assert work.bash("git add src/ && git commit -m x") == ["/p/src", "/p/src/b.py"]


def test_a_file_that_is_staged_by_name_is_in_it_though_nobody_edited_it_here(work: Work):
    work.bash("sed -i s/1/2/ c.py && git add c.py")
    assert work.bash("git commit -m x") == ["/p/c.py"]


@pytest.mark.parametrize(
    "shown",
    [
        " M src/b.py\n?? c.py\n",
        "On branch main\nChanges not staged for commit:\n\tmodified:   src/b.py\n\nUntracked files:\n\tc.py\n",
        "R  old.py -> src/b.py\nA  c.py\n",
    ],
)
def test_what_git_status_has_listed_counts_as_edited(work: Work, shown: str):
    work.bash("git status", shown)
    assert {"/p/src/b.py", "/p/c.py"} <= set(work.bash("git add -A && git commit -m x"))


@pytest.mark.parametrize("state", [" M", "M ", "MM", " T", "A ", "AM", " D", "D ", "RM", "C ", "UU", "AA", "??"])
def test_a_file_in_any_state_of_a_short_status_counts_as_edited(work: Work, state: str):
    work.edit("/p/a.py")
    work.bash("git status --short", f"{state} src/b.py\n")
    assert work.bash("git commit -am x") == ["/p/a.py", "/p/src/b.py"]


@pytest.mark.parametrize(
    "state", ["modified:   ", "new file:   ", "deleted:    ", "renamed:    old.py -> ", "both modified:   ", "typechange: ", ""]
)
def test_a_file_in_any_state_of_a_long_status_counts_as_edited(work: Work, state: str):
    work.edit("/p/a.py")
    work.bash("git status", f"On branch main\n\t{state}src/b.py\n")
    assert work.bash("git commit -am x") == ["/p/a.py", "/p/src/b.py"]


@pytest.mark.parametrize("line", ["On branch main", "nothing to commit", "   x.py", "M_ x.py", "MMx.py", "modified:   x.py", "XY x.py"])
def test_a_line_of_a_status_that_lists_no_file_names_none(work: Work, line: str):
    work.edit("/p/a.py")
    work.bash("git status", line + "\n")
    assert work.bash("git commit -am x") == ["/p/a.py"]


def test_a_name_in_quotes_is_the_name_without_them(work: Work):
    work.bash("git status --short", '?? "b c.py"\n')
    assert work.bash("git commit -am x", ' create mode 100644 "d e.py"\n') == ["/p/b c.py", "/p/d e.py"]


@pytest.mark.parametrize(
    "printed",
    [
        "create mode 100644 b.py",
        " rename mode 100644 b.py",
        " create mode 10x644 b.py",
        " create node 100644 b.py",
        " mode change 100644 => 100755 b.py",
    ],
)
def test_a_line_that_git_prints_of_something_else_names_no_file(work: Work, printed: str):
    work.edit("/p/a.py")
    assert work.bash("git commit -am x", printed) == ["/p/a.py"]


def test_what_git_prints_of_the_commit_is_in_it(work: Work):
    output = "[main 1a2b3c4] x\n 3 files changed, 9 insertions(+)\n create mode 100644 src/new.py\n delete mode 100755 old.sh"
    assert work.bash("git commit -am x", output) == ["/p/old.sh", "/p/src/new.py"]


def test_an_amended_commit_holds_its_files_still(work: Work):
    work.edit("/p/a.py")
    work.bash("git commit -am x")
    work.edit("/p/b.py")
    assert work.bash("git commit -a --amend --no-edit") == ["/p/a.py", "/p/b.py"]


def test_an_edit_that_failed_is_none(work: Work):
    work.call("Edit", {"file_path": "/p/a.py"}, "String not found", failed=True)
    assert work.bash("git commit -am x") == []


def test_a_command_runs_in_the_folder_that_the_call_before_left_behind(work: Work):
    work.edit("/p/src/a.py", "/p/b.py")
    work.bash("cd src", cwd="/p/src")
    assert work.bash("git add a.py && git commit -m x && cd ..", cwd="/p") == ["/p/src/a.py"]


def test_what_is_unknown_names_no_file(work: Work):
    work.edit("/p/a.py")
    work.bash("git add $FILES")
    assert work.bash("git commit -m x") == ["/p/a.py"]


@pytest.mark.parametrize("input", [{}, {"file_path": 7}, {"command": None}, {"command": "git commit -m '"}, {"file_path": ""}])
@pytest.mark.parametrize("tool", ["Edit", "Bash", "NotebookEdit", ""])
def test_an_input_of_any_shape_is_read_as_far_as_it_makes_sense(work: Work, tool: str, input: dict):
    work.call(tool, input)


def test_a_path_of_windows_is_staged_whole(work: Work):
    staged = {"command": "git add src\\a.py 'src\\b.py'"}
    work.call("PowerShell", staged, cwd="D:/app")
    assert work.call("PowerShell", {"command": "git commit -m x"}, cwd="D:/app") == ["D:/app/src/a.py", "D:/app/src/b.py"]
