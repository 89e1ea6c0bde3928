"""A newer search, the same content and a newer list end the earlier one; a line that shows several things ends with all of them."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario

LINES = {"output_mode": "content"}
GREPS = [
    ({"pattern": "login"}, {"pattern": "login"}, True),
    ({"pattern": "login"}, {"pattern": "Login"}, False),
    ({"pattern": "login"}, {"pattern": "login", **LINES, "-n": True}, True),
    ({"pattern": "login"}, {"pattern": "login", "-i": True}, False),
    ({"pattern": "login"}, {"pattern": "login", "multiline": True}, False),
    ({"pattern": "login", "path": "src"}, {"pattern": "login"}, True),
    ({"pattern": "login"}, {"pattern": "login", "path": "src"}, False),
    ({"pattern": "login", "path": "src"}, {"pattern": "login", "path": "/p/src"}, True),
    ({"pattern": "login", "path": "srclib"}, {"pattern": "login", "path": "src"}, False),
    ({"pattern": "login", "glob": "*.ts"}, {"pattern": "login", "glob": "*.ts"}, True),
    ({"pattern": "login", "glob": "*.ts"}, {"pattern": "login"}, True),
    ({"pattern": "login", "glob": "*.ts"}, {"pattern": "login", "glob": "*.js"}, False),
    ({"pattern": "login"}, {"pattern": "login", "type": "py"}, False),
    ({"pattern": "login", **LINES}, {"pattern": "login"}, False),
    ({"pattern": "login", **LINES}, {"pattern": "login", "output_mode": "count"}, False),
    ({"pattern": "login"}, {"pattern": "login", "output_mode": "count"}, True),
    ({"pattern": "login", **LINES, "head_limit": 9}, {"pattern": "login", **LINES}, True),
    ({"pattern": "login", **LINES}, {"pattern": "login", **LINES, "head_limit": 9}, False),
    ({"pattern": "login", **LINES}, {"pattern": "login", **LINES, "offset": 9}, False),
    ({"pattern": "login", **LINES, "-C": 3}, {"pattern": "login", **LINES, "-A": 9, "-B": 3}, True),
    ({"pattern": "login", **LINES, "-A": 3}, {"pattern": "login", **LINES}, False),
]


@pytest.mark.parametrize(("earlier", "later", "ends"), GREPS)
def test_the_grep_tool_follows_the_same_rule(session: Scenario, earlier, later, ends):
    session.call("Grep", earlier)
    assert session.call("Grep", later) == ({"T1": "superseded"} if ends else {})


def test_the_grep_tool_and_a_search_on_the_command_line_are_the_same_search(session: Scenario):
    session.grep("login")
    assert session.bash("rg -n login") == {"T1": "superseded"}
    assert session.grep("login") == {}, "it lists the files only"
    assert "T2" in session.call("Grep", {"pattern": "login", "output_mode": "content"})


def test_the_glob_tool_is_superseded_by_the_same_glob(session: Scenario):
    session.call("Glob", {"pattern": "**/*.ts"})
    session.call("Glob", {"pattern": "**/*.js"})
    assert session.call("Glob", {"pattern": "**/*.ts"}) == {"T1": "superseded"}


def test_a_search_that_finds_nothing_ends_the_earlier_one_that_did(session: Scenario):
    session.bash("rg login")
    assert session.bash_fails("rg login", "") == {"T1": "superseded"}


def test_a_search_that_fails_ends_nothing(session: Scenario):
    session.bash("rg 'login('")
    assert session.bash_fails("rg 'login('", "regex parse error: unclosed group", code=2) == {}
    assert session.live == ["T1", "T2"]


def test_the_reason_names_the_newer_one(session: Scenario):
    session.grep("login")
    session.grep("login")
    assert session.reasons("T1") == 'a newer run of the same thing: Grep "login"'


# What never ran, or does not show how it went.

HIDDEN = [
    "{ pytest; } > out.txt", "(pytest) > out.txt", "(pytest) > /dev/null", "(pytest; echo done) &> log", "pytest > out | cat",
    "(pytest) 2>/dev/null", "{ pytest; } 2>&1 | tail -1", "(pytest; echo done) | tail -1", "if pytest; then :; fi | tail -1",
    "for t in unit; do (pytest); done > log", "{ { pytest; }; } 2>&1 | wc -l", "exec > out.txt; pytest", "(pytest; echo done) &",
    "pytest && echo done &",
]  # fmt: skip
NEVER_RUN = [
    "f() { pytest; }", "f() ( pytest )", "function f { pytest; }", "function f() { pytest; }", "f()\n{\npytest\n}",
    "check() { { pytest; }; }; git diff", "exit 0; pytest", "exit\npytest", "set -n; pytest", "set -o noexec; pytest", "bash -n -c pytest",
    "bash -nc pytest", "bash -n <<E\npytest\nE", "exec true; pytest", "cd web || exit 0; pytest", "if [ -f x ]; then exit 0; fi; pytest",
    "make deps || { echo no; pytest; }", "bash -c 'exit 0; pytest'", "f() { cd web; pytest; }", "env -i pytest", "exec -c pytest",
]  # fmt: skip
SWALLOWED = ["(pytest; exit 0)", "pytest; exit 0", "pytest || true"]
RUN = [
    "{ pytest; }", "(pytest)", "(exit 0); pytest", "f() { exit 0; }; pytest", "cd web2 || exit 1; (cd /p; pytest)", "exec 3>&1; pytest",
    "{ ruff check; } > out.txt; pytest", "for i in 1 2; do echo; done | cat; pytest", "exec pytest", "set -e; pytest",
    "{ pytest; } > >(tee log)", "case $x in a) ls;; esac > log; pytest", "f() { ls; }; { pytest; }", "{ pytest; } 2>&1 | cat",
    "f() { cd web; }; pytest",
]  # fmt: skip


@pytest.mark.parametrize("line", [*HIDDEN, *NEVER_RUN, *SWALLOWED])
def test_a_failure_waits_for_a_run_that_ran_and_can_be_seen(session: Scenario, line: str):
    session.bash_fails("pytest", "1 failed")
    assert session.bash(line) == {}
    assert session.bash("pytest", "1 passed").get("T1") == "superseded"


@pytest.mark.parametrize("line", RUN)
def test_what_stands_elsewhere_in_a_line_does_not_hide_a_run(session: Scenario, line: str):
    session.bash_fails("pytest", "1 failed")
    assert session.bash(line).get("T1") == "superseded"


@pytest.mark.parametrize("start", ["test -f x || exit 1", "if [ -f x ]; then echo no; exit 1; fi", "[ -f x ] && return 2"])
def test_behind_an_exit_that_is_a_failure_a_run_counts_if_the_line_succeeds(session: Scenario, start: str):
    session.bash_fails("pytest", "1 failed")
    assert session.bash_fails(f"{start}; pytest; git diff", "no") == {}
    assert session.bash(f"{start}; pytest; git diff", "1 passed").get("T1") == "superseded"
    session.bash_fails("ruff check", "1 error")
    assert "T4" not in session.bash(f"({start}; ruff check); git diff")


def test_a_read_behind_a_filter_of_its_group_shows_an_unknown_part(session: Scenario):
    session.bash("cat a.py")
    assert session.bash("{ cat a.py; cat b.py; } | head -50") == {}
    assert session.bash("{ cat a.py; cat b.py; }") == {"T1": "superseded", "T2": "superseded"}


STARTED = "Command running in background with ID: b1. Output is being written to: /tmp/b1.output"
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
SAID = REFUSED + " To tell you how to proceed, the user said:\nback up first"


def test_what_works_on_in_the_background_answers_no_error(session: Scenario):
    session.bash_fails("git push", "rejected")
    assert session.bash("git push", STARTED) == {}
    assert "T1" in session.bash("git push")


def test_what_was_refused_replaces_no_error(session: Scenario):
    session.read_fails("a.py")
    assert session.call("Read", {"file_path": "a.py"}, REFUSED, failed=True) == {}


def test_the_words_of_a_refusal_are_a_decision_that_nothing_ends(session: Scenario):
    session.call("Bash", {"command": "alembic upgrade head"}, SAID, failed=True)
    assert session.tier("T1") == "preserved"
    assert session.bash("alembic upgrade head") == {}


@pytest.mark.parametrize("text", [STARTED, REFUSED])
def test_an_id_or_a_refusal_is_no_verdict(session: Scenario, text: str):
    session.call("Bash", {"command": "npm test"}, text, failed=text == REFUSED)
    assert session.result("T1").verdict == ""


def test_a_filter_that_left_nothing_out_is_none(session: Scenario):
    session.bash("npm test", "\n".join(f"line {n}" for n in range(50)))
    assert session.bash("npm test | tail -50", "\n".join(f"test {n}" for n in range(50))) == {}
    assert session.bash("npm test | tail -50", "no test\n") == {"T1": "superseded", "T2": "superseded"}


def test_what_stands_behind_a_failed_command_has_not_run(session: Scenario):
    session.bash("npm run build")
    session.bash("npm test")
    assert session.bash_fails("npm run build && npm test") == {"T1": "superseded"}
    assert "T2" in session.bash("npm run build && npm test")


def test_a_command_that_was_perhaps_not_reached_ends_nothing(session: Scenario):
    session.bash("npm test")
    for line in ("npm run build || npm test", "if test -f x; then npm test; fi", "npm run build && npm test; echo done", "npm test &"):
        assert "T1" not in session.bash(line)


# The same content.


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda s: s.bash("python gen.py", "42"), lambda s: s.bash("python gen.py --again", "42")),
        (lambda s: s.bash("rg login", "a.py:1:login"), lambda s: s.bash("rg 'logi[n]'", "a.py:1:login")),
        (lambda s: s.read("a.py", text="x = 1"), lambda s: s.read("copy/a.py", text="x = 1")),
    ],
)
def test_the_same_content_of_the_same_kind_ends_the_earlier(session: Scenario, first, second):
    first(session)
    assert second(session) == {"T1": "same_content"}


def test_the_same_content_of_another_kind_ends_nothing(session: Scenario):
    session.bash("rg 42", "42")
    assert session.bash("python answer.py", "42") == {}
    assert session.bash("npm test", "42") == {}


def test_no_content_is_not_the_same_content(session: Scenario):
    session.bash("python a.py", "")
    assert session.bash("python b.py", "") == {}


def test_the_same_error_text_of_two_things_ends_nothing(session: Scenario):
    session.bash_fails("python a.py", "Killed")
    assert session.bash_fails("python b.py", "Killed") == {}
    session.read_fails("a.py")
    assert session.read_fails("b.py") == {}


def test_a_preserved_result_is_not_ended_by_the_same_content(session: Scenario):
    session.read("STATUS.json", text="{}")
    assert session.read("old/STATUS.json", text="{}") == {}


# The same call of any other tool.


QUERY = {"sql": "select 1", "limit": 5}


def test_the_same_call_of_a_tool_that_no_table_names_may_return_something_else(session: Scenario):
    session.call("mcp__db__query", QUERY)
    assert session.call("mcp__db__query", QUERY) == {}


def test_the_same_call_of_any_tool_that_returns_the_same_ends_the_earlier(session: Scenario):
    session.call("mcp__db__query", QUERY, "1 row")
    assert session.call("mcp__db__query", QUERY, "1 row") == {"T1": "same_content"}


def test_the_same_call_of_a_getter_ends_the_earlier(session: Scenario):
    session.call("WebFetch", {"url": "https://a.dev", "prompt": "list"})
    assert session.call("WebFetch", {"url": "https://a.dev", "prompt": "count"}) == {}
    assert session.call("WebFetch", {"prompt": "list", "url": "https://a.dev"}) == {"T1": "superseded"}


@pytest.mark.parametrize("tool", ["BashOutput", "TaskOutput"])
def test_the_output_of_a_background_task_shows_only_what_is_new(session: Scenario, tool: str):
    session.call(tool, {"bash_id": "b1"})
    assert session.call(tool, {"bash_id": "b1"}) == {}


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("Set-Location D:\\app\\web; npm test", "D:/app/web"),
        ("set-location -Path 'D:\\app\\web'; npm test", "D:/app/web"),
        ('cd "D:\\app\\web"; npm test', "D:/app/web"),
        ("Push-Location web; npm test", "D:/app/web"),
        ("Push-Location web; Pop-Location; npm test", "D:/app"),
        ("Set-Location $web; npm test", "?"),
        ('Set-Location -Path "D:\\app\\it\'s\\"; npm test', "D:/app/it's"),
    ],
)
def test_a_line_for_windows_runs_in_the_folder_that_it_goes_to(line: str, folder: str):
    session = Scenario(cwd="D:/app")
    session.call("PowerShell", {"command": line}, "5 passed")
    assert session.result("T1").parts == [[f"run:npm:test@{folder}", []]]


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        (["Get-Content 'C:\\a\\b.txt'", "Get-Content C:\\a\\b.txt", 'Get-Content "C:\\a\\b.txt"'], "do:Get-Content C:\\a\\b.txt@D:/app"),
        (["rg 'a\\.b' 'x'", "rg a\\.b x", 'rg "a\\.b" x', "rg 'a'\\.b x"], "search:content:a\\.b"),
        (['cat "it\'s\\a" C:\\b'], "read:D:/app/it's/a"),
    ],
)
def test_a_backslash_for_windows_is_itself_in_any_quotes(lines: list[str], key: str):
    session = Scenario(cwd="D:/app")
    for line in lines:
        session.call("PowerShell", {"command": line}, "x")
    assert [session.result(f"T{at}").parts[0][0] for at in range(1, len(lines) + 1)] == [key] * len(lines)


def test_a_link_that_a_listing_names_shows_nothing_of_its_folder(session: Scenario):
    session.bash("ls link", "a\nb")
    assert session.bash("ls -la link", "lrwxr-xr-x 1 u u 3 link -> ../x") == {}
    assert session.bash("ls -la link", "total 8\n-rw-r--r-- 1 u u 3 a\n-rw-r--r-- 1 u u 3 b") == {"T1": "superseded", "T2": "superseded"}


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("npm run lint", "lint -> ok"),
        ("ls src", "lib"),
        ("cat a.rs", "let f = a -> b"),
        ("cat a.rs; ls -l link", "lrwxr-xr-x 1 u link -> x"),
    ],
)
def test_an_arrow_in_another_output_is_no_link(session: Scenario, line: str, output: str):
    session.bash(line.partition(";")[0], "before")
    assert session.bash(line, output) == {"T1": "superseded"}


def test_the_same_command_in_another_folder_is_not_the_same_command(session: Scenario):
    session.bash("git status")
    session.bash("cd /other", cwd="/other")  # the host reports the folder that a call left behind
    assert session.bash("git status", cwd="/other") == {}
    session.bash("cd /p", cwd="/p")
    assert "T1" in session.bash("git status")


# Pages of a document.


@pytest.mark.parametrize(
    ("earlier", "later", "ends"), [("1-5", "1-9", True), ("1-5", "6-10", False), ("3", "1-5", True), ("1-5", "", True)]
)
def test_pages_are_covered_as_lines_are(session: Scenario, earlier: str, later: str, ends: bool):
    session.call("Read", {"file_path": "a.pdf", "pages": earlier}, "PDF pages extracted: 1 page(s)")
    whole = {"pages": later} if later else {}
    assert session.call("Read", {"file_path": "a.pdf", **whole}, "PDF file read: /p/a.pdf") == ({"T1": "superseded"} if ends else {})


# Task lists.


def test_of_task_lists_only_the_newest_is_kept(session: Scenario):
    session.call("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    assert session.call("TodoWrite", {"todos": [{"content": "a", "status": "completed"}]}) == {"T1": "superseded"}
    assert session.call("TaskList", {}) == {"T2": "superseded"}


def test_of_task_lists_only_the_newest_is_kept_where_they_are_preserved_too():
    session = Scenario({"tool_overrides": {"TodoWrite": "preserved"}})
    session.call("TodoWrite", {"todos": []})
    session.nothing(3)
    assert session.tier("T1") == "preserved"
    assert session.call("TodoWrite", {"todos": [{"content": "a"}]}) == {"T1": "superseded"}


# --- lines that show several things ------------------------------------------------------------------------------------------------------


def test_a_line_that_read_two_files_lives_until_both_are_edited(session: Scenario):
    session.bash("cat a.py b.py")
    assert session.edit("a.py") == {}
    assert session.edit("b.py")["T1"] == "edited"


def test_a_line_that_read_a_file_and_ran_the_tests_keeps_what_the_tests_said(session: Scenario):
    session.bash("cat a.py; npm test")
    assert session.tier("T1") == "session"
    assert session.edit("a.py") == {}
    assert session.bash("npm test")["T1"] == "superseded"


def test_a_line_that_read_two_files_lives_until_both_are_committed(session: Scenario):
    session.bash("cat a.py b.py")
    assert session.bash("git commit -m x", committed=["/p/a.py"]) == {}
    assert session.bash("git commit -m y", committed=["/p/b.py"])["T1"] == "committed"


def test_a_line_that_shows_two_things_is_ended_when_both_have_come_again(session: Scenario):
    session.bash("cat a.py && cat b.py")
    assert session.read("a.py") == {}
    assert session.read("b.py") == {"T1": "superseded"}


def test_one_line_ends_all_that_it_shows_again(session: Scenario):
    session.read("a.py")
    session.bash("npm test")
    assert session.bash("cat a.py; npm test") == {"T1": "superseded", "T2": "superseded"}


def test_a_search_beside_a_read_does_not_keep_it_alive(session: Scenario):
    session.bash("rg login; cat a.py")
    assert session.tier("T1") == "medium"
    assert session.edit("a.py") == {"T1": "edited"}


def test_a_test_run_is_not_ended_by_a_commit_or_a_change_on_disk_either(session: Scenario):
    session.bash("cat a.py; npm test")
    session.bash("git commit -m x")
    session.bash("git commit -m y", committed=["/p/a.py"])
    session.changed_on_disk("/p/a.py")
    assert "T1" in session.live


def test_a_pattern_that_pins_a_file_of_a_line_pins_the_line(session: Scenario):
    session.bash("cat a.py src/b.py")
    session.pin("src/")
    session.edit("a.py")
    session.edit("src/b.py")
    assert "T1" in session.live
