"""What several commands of one line have printed is told apart where that is certain, and each part enters as what it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import door
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.commandline import printed
from popkit_retention.core.policy.door.sections import SAID
from popkit_retention.core.state import shipped
from tests.examples import examples
from tests.policy.door_laws import HANDLE
from tests.policy.entering import DoorContext, body, shaped

FILE = body("a", 60)
MATCHES = [f"src/a.py:{at}:    return configure({at})" for at in range(90)]
ROWS = [f"row {at} of it" for at in range(400)]
PASSED = [f"tests/test_shop.py::test_order_{at:03} PASSED   [{at:3}%]" for at in range(100)]


def arriving(line: str, text: str, error: bool = False) -> door.Arrival:
    call = Call("toolu_1", TOOLS.of("Bash"), {"command": line}, Outcome(len(text), error=error, exit_code=1 if error else 0), cwd="/p")
    kind = classify(call, "/p", shipped.rules()).kind
    return door.Arrival("toolu_1", TOOLS.of("Bash"), {"command": line}, kind, "T1", text, error, handle=HANDLE)


def entered(line: str, lines: list[str], error: bool = False) -> list[str]:
    return door.enter(arriving(line, "\n".join(lines), error), door.ContextLines(), shaped(door.STRONG)).text.split("\n")


def told(line: str, lines: list[str]) -> list[tuple[list[str], str]]:
    """The sections of an output: its lines, and their kind."""
    return [(lines[begin:end], kind) for begin, end, kind in arriving(line, "").sections("\n".join(lines))]


# --- whole files -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [
    "cat src/app.py",
    "git show main:src/app.py",
    "cd src && git show 1a2b3c4:./app.py",
    "git cat-file -p HEAD~2:src/app.py",
    "for f in a.py b.py; do cat $f; done",
    "for f in src/*.py; do echo \"== $f\"; cat $f; done",
    "for f in a.py b.py; do git show main:$f; done",
    "nl -ba src/app.py | sed -n '1,80p'",
    "bat -p src/app.py",
    "sed -n 1,200p src/app.py",
    "head -n 100 src/app.py",
    "cat src/app.py | head -50",
    "tail -n +5 src/app.py",
    "sed 90q src/app.py",
    "cat src/app.py; npm test",
    "git checkout -q main; cat src/app.py && npm test | tail -5",
    "(cd src && cat app.py; npm test)",
    "bash -c 'cat src/app.py; ls'",
    "cat src/app.py & npm test",
    "if [ -f a ]; then cat src/app.py; else npm test; fi",
    "while read f; do npm test -- $f; cat $f; done < files",
    "show() { cat src/app.py; }; npm test; show",
])  # fmt: skip
def test_a_file_enters_whole_whatever_shows_it_and_so_does_any_possible_part_of_one(line: str):
    lines = [*FILE, *ROWS]
    assert entered(line, lines) == lines


@pytest.mark.parametrize("line", ["git show main", "git log -p main:a.py", "ls; npm run dev"])
def test_what_shows_no_file_is_shortened_as_before(line: str):
    assert len(entered(line, ROWS)) < len(ROWS)


# --- boundaries --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [
    "cat a.py; echo ---; npm run dev",
    "cat a.py && echo '---' && npm run dev",
    "cd src\ncat a.py\nprintf '%s\\n' ---\nnpm run dev",
    "cat a.py; printf '\\n---\\n'; npm run dev",
    "cat a.py; echo -e \"\\n---\"; npm run dev 2>&1",
])  # fmt: skip
def test_what_the_line_says_between_two_parts_tells_them_apart(line: str):
    blank = [""] if "\\n---" in line else []
    lines = [*FILE, *blank, "---", *ROWS]
    kept = entered(line, lines)
    assert kept[: len(FILE) + len(blank) + 1] == lines[: len(FILE) + len(blank) + 1]
    assert kept[-1].startswith(f"[PopKit left out {sum(row not in kept for row in ROWS)} of {len(lines)} lines; to see all: popkit restore")
    assert kept[-2] == ROWS[-1]
    assert len(kept) < len(FILE) + len(ROWS)


def test_each_part_has_the_kind_of_its_command():
    line = "cd a && echo '== x' && sed -n 1,80p x && echo '== found' && rg foo src && echo '== main:y' && git show main:y"
    line += "; echo '== t'; npm test"
    parts = [["== x"], FILE, ["== found"], MATCHES, ["== main:y"], FILE, ["== t"], PASSED]
    lines = [one for part in parts for one in part]
    assert told(line, lines) == list(zip(parts, [SAID, "read", SAID, "search", SAID, "read", SAID, "run"]))


def test_of_each_part_stays_what_stays_of_its_kind():
    line = "echo == tests; npm test; echo == found; rg foo src; echo == file; cat x"
    failed = ["FAILED tests/test_shop.py::test_price"]
    lines = ["== tests", *PASSED, *failed, *PASSED, "1 failed", "== found", *MATCHES, "== file", *FILE]
    kept = entered(line, lines)
    assert [one for one in kept if one.startswith("== ")] == ["== tests", "== found", "== file"]
    assert kept[-len(FILE) - 1 : -1] == FILE
    assert failed[0] in kept
    assert 0 < sum(one in kept for one in MATCHES) < len(MATCHES)
    assert 0 < sum(one in kept for one in PASSED) < len(PASSED)


def test_a_loop_over_names_says_which_file_follows():
    lines = ["=== a.py", *FILE, "=== b.py", *FILE, "done", *ROWS]
    sections = told('for f in a.py b.py; do echo "=== $f"; cat $f; done; echo done; npm run dev', lines)
    assert [kind for _, kind in sections] == [SAID, "read", SAID, "read", SAID, "other"]


@pytest.mark.parametrize("lines", [
    [*FILE[:30], "---", *FILE[30:], "---", *ROWS],  # the file has such a line
    [*FILE, *ROWS],  # it was not said
    [*FILE, "and no end---", *ROWS[:20], "---", *ROWS],  # the file ended without an end of its line
])  # fmt: skip
def test_where_what_is_said_may_stand_somewhere_else_the_whole_stays_one(lines: list[str]):
    assert entered("cat a.py; echo ---; npm run dev", lines) == lines


def test_what_is_said_in_several_lines_stands_there_in_all_of_them():
    line = "cat a.py; printf 'then\\n------\\n'; npm run dev"
    assert [kind for _, kind in told(line, [*FILE, "then", "------", *ROWS])] == ["read", SAID, "other"]
    assert [kind for _, kind in told(line, [*FILE, "------", *ROWS])] == ["read"]


@pytest.mark.parametrize("line", [
    "show() { cat a.py; }; echo ---; show; echo == t; npm test",
    "echo ---; cat a.py & echo == t; npm test",
    "set -ex; echo ---; cat a.py; echo == t; npm test",
    "cat a.py; " * 101 + "echo ---; cat a.py; echo == t; npm test",
])  # fmt: skip
def test_where_the_order_is_not_that_of_the_line_the_whole_stays_one(line: str):
    assert [kind for _, kind in told(line, ["---", *FILE, "== t", *PASSED])] == ["read"]


def test_what_is_said_only_of_a_failure_need_not_stand_there():
    line = "cat a.py; echo ---; rg foo || echo none of it; echo == t; npm test"
    assert [kind for _, kind in told(line, [*FILE, "---", *MATCHES, "== t", *PASSED])] == ["read", SAID, "search", SAID, "run"]


def test_messages_before_a_file_are_counted_with_it():
    lines = ["Exit code 1", *(f"head: {name}.py" for name in "bcdef"), *FILE[:20], *ROWS]
    taken = told("head -20 a.py; npm run dev", lines)
    assert [kind for _, kind in taken] == ["read", "other"]
    assert taken[0][0][:26] == lines[:26]


def test_parts_that_together_keep_to_the_budget_enter_whole():
    lines = [*ROWS[:130], "---", "done", "== b", "done"]
    assert entered("npm run dev; echo ---; npm run web; echo == b; npm run app", lines) == lines


@pytest.mark.parametrize(("line", "most"), [
    ("sed -n 1,20p a.py; npm run dev", 20),
    ("head -5 a.py b.py && npm run dev", 10),
    ("git show main:a.py | head -20; git log", 20),
    ("npm run dev 2>&1 | tail -4; tail -n +5 a.py | head -20; npm run dev", 24),
    ("cd src; pwd; sed -n '1,5p;10,14p' a.py; npm run dev", 11),
])  # fmt: skip
def test_lines_beyond_those_that_the_commands_so_far_may_show_are_no_file_s(line: str, most: int):
    lines = [*FILE[:most], *ROWS]
    kept = entered(line, lines)
    assert [one for one in kept if one in FILE] == FILE[:most]
    assert sum(one in ROWS for one in kept) < len(ROWS)


@pytest.mark.parametrize("show", ["cat -n a.py", "nl -ba a.py", "nl -b a a.py | head -90", "git show main:a.py | cat -n | grep a_"])
def test_numbers_before_all_lines_of_a_file_tell_where_it_ends(show: str):
    lines = [*(f"{at:>6}\t{one}" for at, one in enumerate(["", *FILE], 1)), *ROWS]
    assert [kind for _, kind in told(show + "; npm run dev", lines)] == ["read", "other"]
    assert entered(show + "; npm run dev", lines)[: len(FILE) + 1] == lines[: len(FILE) + 1]
    assert [kind for _, kind in told(show + "; cat b.py; npm run dev", lines)] == ["read"]


@pytest.mark.parametrize("show", ["nl a.py", "cat -b a.py", "cat -n a.py | cut -c8-", "cat -n a.py | sed 's/ *//'"])
def test_where_not_all_lines_have_their_number_it_tells_nothing(show: str):
    lines = [*(f"{at:>6}\t{one}" for at, one in enumerate(FILE, 1)), *ROWS]
    assert [kind for _, kind in told(show + "; npm run dev", lines)] == ["read"]


@pytest.mark.parametrize("before", [
    "npm run dev > log", "npm run dev | tail -4", "wc -l *.py", "rm -v *.log", "ls", "git checkout -q main", "ls | xargs -n 9 head -2",
    "head -2 src/[ab].py", "bash -c 'head -2 a.py; head -2 b.py'", "find . -exec head -2 {} +",
])  # fmt: skip
def test_before_a_file_may_stand_all_that_nothing_bounds(before: str):
    lines = [*ROWS[:90], *FILE[:20], *ROWS]
    assert [kind for _, kind in told(before + "; sed -n 1,20p a.py; npm run dev", lines)] == ["read"]


def test_what_is_said_of_errors_may_stand_behind_a_file():
    lines = [*ROWS, *FILE[:20], *(f"warning {at} of the shop" for at in range(40))]
    assert entered("npm run dev; sed -n 1,20p a.py", lines) == lines


def test_of_a_line_that_failed_a_file_enters_whole_too():
    lines = ["Exit code 1", *FILE, "---", *ROWS, *ROWS]
    kept = entered("cat a.py; echo ---; npm run dev", lines, error=True)
    assert kept[: len(FILE) + 2] == lines[: len(FILE) + 2]
    assert len(kept) < len(lines)


def test_what_the_host_has_put_into_a_file_is_one():
    assert [kind for _, kind in told("cat a.py; echo ---; ls", ["<persisted-output>", *FILE, "---", *ROWS])] == ["read"]


# --- noise, and lines that stay ----------------------------------------------------------------------------------------------------------


def test_blank_lines_of_a_file_stay_beside_noise_that_leaves():
    lines = ["a = 1", "", "", "", "b = 2", "---", *["fetching the parts of it, again and again"] * 9, "", "", "", "done"]
    entry = door.enter(arriving("cat a.py; echo ---; npm run dev", "\n".join(lines)), door.ContextLines(), shaped(door.SAFE))
    counted = ["fetching the parts of it, again and again", "[the line above stands 9 times in a row]", "", "", "done"]
    assert entry.text.split("\n") == [*lines[:6], *counted]


def test_beside_what_looks_like_a_count_no_noise_leaves():
    lines = ["a = 1", "[the line above stands 9 times in a row]", "---", *["fetching the parts of it, again and again"] * 9]
    entry = door.enter(arriving("cat a.py; echo ---; npm run dev", "\n".join(lines)), door.ContextLines(), shaped(door.SAFE))
    assert entry.text.split("\n") == lines


def test_a_file_beside_a_run_is_said_once_though_it_speaks_of_errors():
    source = [f"    if step_{at}.failed: raise ShopError('no such step as {at}')" for at in range(40)]
    shown = door.ContextLines()
    shown.add(door.Source("toolu_0", "Read of a.py", source, "/p/a.py"))
    lines = ["== a.py", *source, "== tests", *PASSED]
    entry = door.enter(
        arriving("echo == a.py; cat a.py; echo == tests; npm test", "\n".join(lines)), shown, door.Settings(door.ANY, door.OFF)
    )
    assert entry.leans_on == ("toolu_0",)
    assert sum(one in source for one in entry.text.split("\n")) == 2


# --- files that are read again -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "tool_input", "path"), [
    *(("Bash", {"command": line}, path) for line, path in (
        ("cat a.py", "/p/a.py"),
        ("cd src && sed -n 1,80p a.py", "/p/src/a.py"),
        ("echo == a.py; nl -ba a.py | sed -n '1,80p'", "/p/a.py"),
        ("sed -n '1,5p;10,14p' a.py", "/p/a.py"),
        ("for f in a.py; do cat $f; done", "/p/a.py"),
        ("cat a.py b.py", ""),
        ("cat a.py; npm test", ""),
        ("cat $FILE", ""),
        ("git show main:a.py", ""),
        ("npm test", ""),
    )),
    ("Read", {"file_path": "/p/a.py"}, "/p/a.py"),
    ("Grep", {"pattern": "x", "path": "/p/a.py"}, ""),
])  # fmt: skip
def test_what_shows_one_file_has_read_it(tool: str, tool_input: dict, path: str):
    traits = TOOLS.of(tool)
    classified = classify(Call("toolu_1", traits, tool_input, Outcome(9), cwd="/p"), "/p", shipped.rules())
    assert door.path_of(traits, classified.subjects, classified.parts) == path


def test_a_read_of_which_a_state_names_no_file_has_read_none():
    assert door.path_of(TOOLS.of("Read"), [], []) == ""


def test_with_reads_a_file_is_said_once_whether_it_is_read_or_a_shell_shows_it():
    context = DoorContext(door.READS)
    context.reads(FILE, path="/p/a.py")
    shown = context.arrives("\n".join(["more", *FILE]), path="/p/a.py", command="cat a.py")
    assert shown.leans_on == ("toolu_1",)
    context.arrives("\n".join(body("b")), path="/p/b.py", command="cat b.py")
    assert context.reads(body("b"), path="/p/b.py").leans_on == ("toolu_3",)
    assert context.arrives("\n".join(FILE), command="npm run dev").leans_on == ()


# --- laws --------------------------------------------------------------------------------------------------------------------------------

COMMANDS = {
    "cat a.py": "read", "cat -n a.py": "numbered",
    "sed -n 1,9p a.py": "read", "git show main:b.py": "read", "head -3 c.py": "read", "rg foo": "search",
    "npm test": "run", "npm run dev": "other", "pwd": "other", "npm run dev 2>&1 | tail -4": "other", "cd x": "", "echo ---": "said",
    "echo == b": "said", "export A=1": "", "nothing > file": "",
}  # fmt: skip
LONGEST = {"sed -n 1,9p a.py": 9, "head -3 c.py": 3, "pwd": 1, "npm run dev 2>&1 | tail -4": 4}
_part = st.sampled_from(
    ["---", "== b", "", "ok", "== b\r", "x---", "[… 2 lines]", "error", *FILE[:4], *(f"row {at} of the rows" for at in range(30))]
)


@st.composite
def _printing(draw: st.DrawFn) -> tuple[str, list[str], list[bool]]:
    """A line, what it prints, and of each line whether a file has it."""
    commands = draw(st.lists(st.sampled_from(list(COMMANDS)), min_size=2, max_size=6))
    lines: list[str] = []
    of_files: list[bool] = []
    for command in commands:
        kind = COMMANDS[command]
        printed_by = st.lists(_part, max_size=LONGEST.get(command, 80) if kind else 0)
        some = [command[len("echo ") :]] if kind == "said" else draw(printed_by)
        lines += [f"{at:>6}\t{one}" for at, one in enumerate(some, 1)] if kind == "numbered" else some
        of_files += [kind in ("read", "numbered")] * len(some)
    joined = draw(st.sampled_from(["; ", " && ", "\n"]))
    return joined.join(commands), lines, of_files


@given(_printing())
@settings(max_examples=examples(200, 20_000))
def test_no_line_of_a_file_is_taken_for_another(printing: tuple[str, list[str], list[bool]]):
    line, lines, of_files = printing
    sections = arriving(line, "").sections("\n".join(lines)) if lines else []
    assert [at for begin, end, _ in sections for at in range(begin, end)] == list(range(len(lines)))
    if any(kind == "read" for *_, kind in sections) or any(of_files):
        taken = [kind == "read" for begin, end, kind in sections for _ in range(begin, end)]
        assert all(is_taken for is_taken, is_file in zip(taken, of_files) if is_file)


@given(_printing())
@settings(max_examples=examples(100, 20_000))
def test_strong_keeps_every_line_of_a_file_and_counts_what_it_leaves_out(printing: tuple[str, list[str], list[bool]]):
    line, lines, of_files = printing
    kept = entered(line, lines)
    if not lines or kept == lines or any(one.startswith("[the line above stands ") for one in kept):
        return  # equal lines in a row are counted by another rule
    at = hidden = 0
    for one in kept[:-1]:
        gap = 0 if one == lines[at] else int(one.removeprefix("[… ").split(" ")[0])
        assert not any(of_files[at : at + gap])
        hidden += gap
        at += gap or 1
    assert kept[-1].startswith(f"[PopKit left out {hidden} of {len(lines)} lines")


@given(st.text(st.sampled_from("abc'\"$`;|&()<>{}\n\\ -=%"), max_size=40), st.lists(_part, max_size=30))
@settings(max_examples=examples(100, 20_000))
def test_whatever_the_line_the_sections_are_all_of_the_output(line: str, lines: list[str]):
    for command in (line, "cat a; " + line, "echo " + line + "; cat a; npm test"):
        sections = arriving(command, "").sections("\n".join(lines))
        assert [at for begin, end, _ in sections for at in range(begin, end)] == list(range(max(1, len(lines))))


@pytest.mark.parametrize(("command", "text"), [
    ("echo a   b", "a b\n"), ("echo 'a   b'", "a   b\n"), ("echo", "\n"), ("echo -n a", None), ("echo $x", None),
    ("echo -e 'a\\tb'", "a\tb\n"),
    ("printf 'a\\n'", "a\n"), ("printf a", None), ("printf '%s\\n' a", "a\n"), ("printf '%d\\n' 1", None), ("printf '%s %s\\n' a b", None),
    ("echo 'a\\n'", "a\\n\n"), ("printf '\\x41\\n'", None),
])  # fmt: skip
def test_what_a_command_says_is_known_or_is_not(command: str, text: str | None):
    assert [step.text for step in printed.steps(command)] == [text]
