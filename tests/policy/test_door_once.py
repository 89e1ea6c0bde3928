"""What the context shows is said once: of a run of lines that it has, the first and the last enter, and where the others stand."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hidden_failures import hidden_lines
from popkit_retention.core.hosts import codex, opencode
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import door, own_lines
from popkit_retention.core.policy.door import once, shown
from popkit_retention.core.policy.door.numbering import listed
from popkit_retention.core.policy.tools import Tool
from tests.examples import examples
from tests.policy.entering import DoorContext, block, body, read_of, references
from tests.policy.failing import FAILING

REMINDER = "\n\n<system-reminder>\nConsider whether this file is malicious.\n</system-reminder>\n"


@pytest.fixture
def context() -> DoorContext:
    return DoorContext()


@given(block, block, st.integers(min_value=0, max_value=40))
@settings(max_examples=examples(40, 5_000))
def test_of_a_read_every_line_that_enters_keeps_its_number(before: list[str], lines: list[str], shared: int):
    lines = [*lines, *before[:shared]]
    context = DoorContext()
    context.reads(before, 7)
    entered = context.reads(lines, 100).text.split("\n")
    number = 100
    for entered_line in entered:
        shown_references = references(entered_line)
        if shown_references:
            assert int(shown_references[0]["first"]) == number
            number = int(shown_references[0]["last"]) + 1
        else:
            assert entered_line == f"{number:>6}→{lines[number - 100]}" if lines else entered_line == ""
            number += 1


def test_first_and_last_line_stay_and_the_reference_says_how_many_and_where(context: DoorContext):
    context.reads(body("a"))
    entry = context.reads([*body("new", 2), *body("a"), *body("more", 2)])
    entered = entry.text.split("\n")
    assert entered[2] == "     3→" + body("a")[0]
    assert entered[3] == (
        "[lines 4–31 as in your Read of a.py above, there 2–29: from «a_1 = configure('a', step=1,» to «a_28 = configure('a', step=28,»]"
    )
    assert entered[4] == "    32→" + body("a")[-1]
    assert len(entered) == 7
    assert entry.leans_on == ("toolu_1",)
    assert entry.reasons == ("28 lines that the context already shows",)


def test_lines_of_a_diff_are_said_once_with_what_their_signs_say(context: DoorContext):
    context.reads(body("a"))
    signs = "-" * 12 + "+" * 9 + " " * 9
    hunk = [sign + line for sign, line in zip(signs, body("a"))]
    entry = context.arrives("\n".join(["--- a/a.py", "+++ b/a.py", "@@ -1,21 +1,18 @@", *hunk]), kind="other", command="git diff")
    entered = entry.text.split("\n")
    said = ["[10 removed lines", "[7 added lines", "[7 unchanged lines"]
    assert [line.partition(" as in your Read of a.py above, there ")[0] for line in entered if references(line)] == said
    assert [line for line in entered[3:] if not references(line)] == [hunk[at] for at in (0, 11, 12, 20, 21, 29)]


def test_a_diff_that_is_shown_again_is_said_once_as_it_stands(context: DoorContext):
    text = "\n".join(["@@ -1,30 +1,30 @@", *("+" + line for line in body("a"))])
    context.arrives(text, kind="other", command="git diff HEAD~1")
    context.reads(body("a"))
    [reference] = references(context.arrives("again\n" + text, kind="other", command="git diff HEAD~2").text)
    assert (reference["about"], reference["sign"]) == ("git diff HEAD~1", None)


@pytest.mark.parametrize("before", [[], ["a list of it"], ["@@ what was"]])
def test_signs_outside_a_diff_are_part_of_their_lines(context: DoorContext, before: list[str]):
    context.reads(body("a"))
    text = "\n".join([*before, *("+" + line for line in body("a")), "of it", "@@ -1 +1 @@"])
    assert context.arrives(text, kind="other") == (text, (), ())


def test_a_reference_is_one_line_that_can_be_shown_and_written():
    sources = door.ContextLines()
    lines = ["first", "\x1b[31m \ud800 red «now»\r\x07", *body("a", 8), "\u2028 the very end\x1b[0m", "last"]
    name = door.name_of(TOOLS.of("Bash"), {"command": "echo\n\x1b[2J\ud800 [x]"}, "")
    sources.add(once.source("toolu_1", name, "\n".join(lines)))
    entry = once.say_once("\n".join(lines), sources)
    words = "from «［31m red ‹now›» to «the very end ［0m»"
    assert entry.text == f"first\n[10 lines as in your Bash of echo ［2J ［x］ above, there lines 2–11 of it: {words}]\nlast"


def test_words_are_of_twelve_characters_where_one_of_the_nearest_lines_has_them(context: DoorContext):
    lines = ["begin", "}", "", "  })", "return configured_basket(customer)", *body("a", 8), "x" * 50, "}", "", ")", "done"]
    context.reads(lines)
    [reference] = references(context.reads(["before", *lines, "behind"]).text)
    assert (reference["head"], reference["tail"]) == ("return configured_basket(custome", "x" * 32)


def test_where_no_line_near_says_much_the_longest_one_is_named(context: DoorContext):
    lines = ["begin", "}", ")", "});", *body("a", 8), "]", "),", ")", "done"]
    context.arrives("\n".join(lines))
    [reference] = references(context.arrives("\n".join([*lines, "more"])).text)
    assert (reference["head"], reference["tail"]) == ("});", "),")


def test_of_several_calls_of_one_name_the_last_is_called_so(context: DoorContext):
    context.reads([*body("a"), "old"])
    context.reads([*body("b"), *body("c")])
    [reference] = references(context.reads([*body("b"), "new"]).text)
    assert (reference["newest"], reference["about"]) == ("last ", "a.py")
    [reference] = references(context.reads([*body("a"), "new"], 40).text)
    assert (reference["newest"], reference["about"]) == (None, "a.py")


def test_where_another_result_would_fit_the_same_words_the_lines_enter(context: DoorContext):
    middle = body("a", 10)
    context.reads([*body("x", 4), *middle, *body("y", 4)])
    changed = read_of([*body("x", 4), *middle[:5], "changed", *middle[6:], *body("y", 4)])
    context.arrives(changed, "Read", "/a.py", again=True)
    context.arrives("nothing", "Read", "/a.py")
    entry = context.reads([*body("x", 4), *middle, *body("y", 4), "more"])
    assert entry == (read_of([*body("x", 4), *middle, *body("y", 4), "more"]), (), ())


def test_a_short_run_stays_whole(context: DoorContext):
    short, long = "\n".join(body("a", 15)), "\n".join(body("a", 30))
    context.arrives(long, kind="run:test", command="npm test")
    assert context.arrives(short, kind="run:test", command="npm test") == (short, (), ())
    assert context.arrives(long, kind="run:test", command="npm test").leans_on == ("toolu_1",)


@pytest.mark.parametrize("kind", ["run:test", "other", "ack", "read", "search"])
def test_a_failure_that_comes_again_enters_again(kind: str):
    for name, (text, failure) in FAILING.items():
        context = DoorContext()
        context.arrives(text, kind=kind, command="make")
        entered = context.arrives("again\n" + text + "\ndone", kind=kind, command="make").text
        assert references(entered), f"what went well is said once: {name}"
        assert hidden_lines(text, entered) == [], name
        if kind == "run:test":
            assert set(failure.split("\n")) <= set(entered.split("\n")), name


def test_a_failure_parts_what_is_said_once_before_it_from_what_is_behind_it(context: DoorContext):
    lines = [*body("a", 12), "FAIL tests/test_shop.py", *body("b", 12)]
    context.arrives("\n".join(lines), kind="run:test", command="npm test")
    entry = context.arrives("\n".join(["FAIL once more", *lines]), kind="run:test", command="npm test")
    entered = entry.text.split("\n")
    assert [line for line in entered if not references(line)] == ["FAIL once more", lines[0], lines[12], lines[-1]]
    assert [(one["count"], one["begin"], one["end"]) for one in references(entry.text)] == [("11", "2", "12"), ("11", "14", "24")]


def test_a_file_is_said_once_whatever_it_speaks_of(context: DoorContext):
    lines = [*body("a", 12), "raise ValueError('the price is missing')", *body("b", 12)]
    context.reads(lines)
    assert len(references(context.reads(lines).text)) == 1
    assert len(references(context.arrives("\n".join(lines), kind="read", command="cat a.py").text)) == 1


@pytest.mark.parametrize(("path", "cwd", "name"), [
    ("/shop/src/app.js", "/shop", "Read of src/app.js"),
    ("/shop/src/app.js", "/shop/", "Read of src/app.js"),
    ("/shopping/app.js", "/shop", "Read of /shopping/app.js"),
    ("C:\\shop\\src\\app.js", "C:\\shop", "Read of src\\app.js"),
    ("/shop/app/[id]/page.tsx", "/shop", "Read of app/［id］/page.tsx"),
    ("/shop/" + "deep/" * 20 + "a_name_that_tells_which.py", "/shop",
     "Read of deep/deep/deep/de…/deep/deep/deep/a_name_that_tells_which.py"),
    ("/shop/" + "n" * 80 + ".py", "/shop", "Read of " + "n" * 80 + ".py"),
])  # fmt: skip
def test_a_file_is_named_by_its_path_from_the_session_s_folder_and_never_cut(path: str, cwd: str, name: str):
    assert door.name_of(TOOLS.of("Read"), {"file_path": path, "limit": 7}, cwd) == name


@pytest.mark.parametrize(
    ("tool", "tool_input", "name"),
    [
        (TOOLS.of("Grep"), {"pattern": "total", "path": "/shop/src"}, "Grep of total"),
        (TOOLS.of("Task"), {"description": "Find it", "prompt": "x"}, "Task of Find it"),
        (TOOLS.of("mcp__files__read"), {"path": "/shop/a.py"}, "mcp__files__read of a.py"),
        (opencode.TOOLS.of("read"), {"filePath": "/shop/src/a.py"}, "read of src/a.py"),
        (codex.TOOLS.of("shell"), {"command": "npm test"}, "shell of npm test"),
    ],
)
def test_a_call_is_named_by_what_its_host_says_distinguishes_it(tool: Tool, tool_input: dict, name: str):
    assert door.name_of(tool, tool_input, "/shop") == name


def test_a_long_command_is_cut_in_the_middle():
    name = door.name_of(TOOLS.of("Bash"), {"command": "npm test -- " + "a" * 80 + " | tail -20", "description": "Run the tests"}, "/shop")
    assert name == "Bash of npm test -- aaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaa | tail -20"
    assert door.name_of(TOOLS.of("TodoWrite"), {"todos": []}, "/shop") == "TodoWrite"


def test_the_way_back_is_named_once():
    sources = door.ContextLines()
    sources.add(once.source("toolu_1", "Bash of one", "\n".join([*body("a"), "gap", *body("b")])))
    entry = once.say_once("\n".join([*body("a"), "other", *body("b")]), sources, handle="k7m2qdab")
    assert [one["handle"] for one in references(entry.text)] == [None, "k7m2qdab"]


@pytest.mark.parametrize("count", [1, 4, 7])
def test_a_run_of_fewer_than_eight_lines_stays(context: DoorContext, count: int):
    long = [line * 20 for line in body("a", count)]
    context.arrives("\n".join([*body("x"), *long, *body("y")]))
    text = "\n".join([*body("u"), *long, *body("v")])
    assert context.arrives(text) == (text, (), ())


@pytest.mark.parametrize("offset", range(9))
def test_a_run_of_eight_lines_is_found_wherever_it_begins(context: DoorContext, offset: int):
    run = [line * 20 for line in body("a", shown.LEAST_LINES)]
    context.arrives("\n".join([*body("x", offset), *run, *body("y")]))
    entry = context.arrives("\n".join([*body("u"), *run]))
    assert entry.leans_on == ("toolu_1",)
    assert references(entry.text)[0]["count"] == "6"


def test_a_reference_that_is_hardly_shorter_than_its_lines_is_not_worth_it(context: DoorContext):
    text = "\n".join(str(number) for number in range(12))
    context.arrives(text)
    assert context.arrives(text) == (text, (), ())


@pytest.mark.parametrize("say_once", [door.OFF, door.READS, door.ANY])
def test_an_error_enters_whole(say_once: str):
    context = DoorContext(say_once)
    text = "\n".join(body("a"))
    context.arrives(text)
    assert context.arrives(text, error=True) == (text, (), ())
    assert context.arrives(read_of(body("a")), "Read", "/a.py", error=True) == (read_of(body("a")), (), ())


def test_a_call_repeated_after_a_reference_enters_whole_and_becomes_the_new_source(context: DoorContext):
    context.reads(body("a"))
    assert context.reads(body("a")).leans_on == ("toolu_1",)
    whole = context.arrives(read_of(body("a")), "Read", "/a.py", again=True)
    assert whole == (read_of(body("a")), (), ())
    assert context.reads(body("a")).leans_on == ("toolu_3",)


def test_off_repeats_everything_and_reads_refers_only_to_reads_of_the_same_file():
    for say_once, tool, path, leans in (
        (door.OFF, "Read", "/a.py", ()),
        (door.READS, "Read", "/a.py", ("toolu_1",)),
        (door.READS, "Read", "/b.py", ()),
        (door.READS, "Bash", "", ()),
        (door.ANY, "Read", "/b.py", ("toolu_1",)),
        (door.ANY, "Bash", "", ("toolu_1",)),
    ):
        context = DoorContext(say_once)
        context.reads(body("a"))
        text = read_of(body("a")) if tool == "Read" else "\n".join(body("a"))
        assert context.arrives(text, tool, path).leans_on == leans, (say_once, tool, path)


@pytest.mark.parametrize(("tool", "tool_input"), [
    ("Write", {"file_path": "/a.py", "content": "\n".join(body("a"))}),
    ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "\n".join(body("a"))}),
    ("MultiEdit", {"file_path": "/a.py", "edits": [{"old_string": "x", "new_string": "y"}, {"new_string": "\n".join(body("a"))}, 7]}),
])  # fmt: skip
def test_any_knows_what_a_call_has_written_and_a_failed_one_has_written_nothing(context: DoorContext, tool: str, tool_input: dict):
    context.arrives("done", tool, **tool_input)
    assert context.reads(body("a")).leans_on == ("call toolu_1",)
    failed = DoorContext()
    failed.arrives("String to replace not found", tool, error=True, **tool_input)
    assert failed.reads(body("a")).leans_on == ()


def test_lines_that_end_in_cr_lf_are_other_lines_than_those_that_end_in_lf(context: DoorContext):
    context.arrives("\r\n".join(body("a")), command="type a.txt")
    assert context.arrives("\n".join(body("a")), command="cat a.txt").leans_on == ()
    entry = context.arrives("\r\n".join(body("a")))
    assert entry.leans_on == ("toolu_1",)
    assert entry.text.split("\n")[0] == body("a")[0] + "\r"


def test_what_the_host_adds_for_the_model_never_goes(context: DoorContext):
    context.reads(body("a"), after=REMINDER)
    entry = context.reads(body("a"), after=REMINDER)
    assert entry.leans_on == ("toolu_1",)
    assert entry.text.endswith(body("a")[-1] + REMINDER)
    alone = context.arrives(REMINDER * 30)
    assert alone == (REMINDER * 30, (), ())


def test_what_was_dropped_or_not_kept_is_never_leaned_on():
    for forget in (
        lambda context: context.shown.drop(["toolu_1"]),
        lambda context: context.shown.keep(["toolu_2"]),
        lambda context: context.shown.keep([]),
    ):
        context = DoorContext()
        context.reads(body("a"))
        context.reads(body("b"), path="/b.py")
        forget(context)
        assert context.reads(body("a")) == (read_of(body("a")), (), ())


@given(st.lists(block, min_size=1, max_size=5), st.sets(st.integers(min_value=1, max_value=5)), block)
@settings(max_examples=examples(40, 3_000))
def test_after_keep_the_door_answers_as_if_only_what_is_kept_had_ever_come(results: list[list[str]], kept: set[int], arriving: list[str]):
    thinned, fresh = door.ContextLines(), door.ContextLines()
    for at, lines in enumerate(results, 1):
        thinned.add(door.Source(f"toolu_{at}", f"T{at}", lines))
        if at in kept:
            fresh.add(door.Source(f"toolu_{at}", f"T{at}", lines))
    thinned.keep({f"toolu_{at}" for at in kept})
    found, wanted = thinned.runs(arriving), fresh.runs(arriving)
    assert [(run.begin, run.end, run.source.id, run.at) for run in found] == [(run.begin, run.end, run.source.id, run.at) for run in wanted]


def test_the_lines_that_an_id_showed_before_are_gone_when_it_shows_others():
    sources = door.ContextLines()
    sources.add(door.Source("toolu_1", "T1", body("a")))
    sources.add(door.Source("toolu_1", "T1", body("b")))
    assert sources.runs(body("a")) == []
    assert len(sources.runs(body("b"))) == 1


def test_nothing_leans_on_lines_that_are_themselves_only_a_reference(context: DoorContext):
    context.reads(body("a", 40))
    second = context.reads(body("a", 40))
    assert second.leans_on == ("toolu_1",)
    context.shown.drop(["toolu_1"])
    third = context.reads(body("a", 40))
    assert third == (read_of(body("a", 40)), (), ())


def test_a_copied_reference_is_not_taken_for_the_lines_that_it_names(context: DoorContext):
    context.reads(body("a"))
    second = context.reads(body("a"))
    reference = second.text.split("\n")[1]
    entry = context.arrives("\n".join([*body("x"), reference, *body("y")]))
    assert entry.text.split("\n")[30] == own_lines.MARK + reference
    assert entry.leans_on == ()


class Counted(str):
    """A line that counts how often it is compared, and how many are hashed together."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def _equal(count: int) -> list[str]:
    return ["the same line"] * count


def _in_turn(count: int) -> list[str]:
    return [f"line {at % 2}" for at in range(count)]


def _almost(count: int) -> list[str]:
    """Every four lines stand in the source, no eight do."""
    return [line for at in range(count // 7) for line in (*(f"line {number}" for number in range(6)), f"another {at}")]


@pytest.mark.parametrize("make", [_equal, _in_turn, _almost])
def test_the_work_grows_with_the_text_and_no_faster(make):
    sources = door.ContextLines()
    for id in ("toolu_1", "toolu_2", "toolu_3"):
        sources.add(door.Source(id, id, [Counted(line) for line in make(400)]))
    compared = []
    for count in (2_000, 4_000):
        lines = [Counted(line) for line in make(count)]
        Counted.compared = 0
        sources.runs(lines)
        compared.append(Counted.compared)
    assert compared[0] <= 80 * 2_000
    assert compared[1] <= 2.2 * compared[0]


@pytest.mark.parametrize(
    "text", ["", "\n", "\n" * 500, "\r\n" * 50, "\0" * 999, "\ud800\udcff\n" * 40, "x" * 100_000, "1→\n" * 40, "\t" * 4_000]
)
def test_texts_of_any_shape_enter_and_enter_again(text: str):
    context = DoorContext(shape=door.SAFE)
    for tool in ("Read", "Bash", "Grep", "mcp__x__y"):
        for _ in range(3):
            entry = context.arrives(text, tool, "/a.py" if tool == "Read" else "")
            assert len(entry.text) <= len(text)


# --- names of calls, numbers of lines, and where these stand ------------------------------------------------------------------------

GOLDENS = Path(__file__).with_name("goldens")
CWDS = ("/w", "/w/", "", "/", "C:\\w", "/wx")
PATHS = [
    "/w/a.py", "/w/b/a.py", "/w", "/w/", "/w//a.py", "/wx/a.py", "a.py", "/a.py", "C:\\w\\a.py", "C:\\w\\b\\a.py", "/w\\a.py",
    "/w/" + "b" * 54 + "/a.py",
    "/w/" + "b" * 55 + "/a.py", "/w/" + "b" * 56 + "/a.py", "/w/" + "b" * 80 + "/a.py", "/w/" + "b/" * 40 + "a.py", "/w/b/" + "a" * 55,
    "/w/b/" + "a" * 56,
    "/w/b/" + "a" * 57, "/w/b/" + "a" * 58, "/w/b/" + "a" * 59, "/w/bcd/" + "a" * 57, "/w/bcdef/" + "a" * 55, "/w/" + "a" * 80,
    "/w/b/" + "a" * 80, " /w/a\n.py ",
    "/w/[id]/«a»….py",
]  # fmt: skip
COMMANDS = [
    "npm test", "  npm \n test ", "x" * 60, "x" * 61, "".join(map(chr, range(33, 95))), "a" * 30 + "b" * 40, "echo \x1b[31m a\0b",
    "[a] «b» …", " ", "",
]  # fmt: skip


def test_a_call_is_called_as_the_golden_shows(golden):
    rows = [f"{path!r} in {cwd!r} => {door.name_of(TOOLS.of('Read'), {'file_path': path}, cwd)!r}" for path in PATHS for cwd in CWDS]
    rows += [f"{command!r} => {door.name_of(TOOLS.of('Bash'), {'command': command}, '/w')!r}" for command in COMMANDS]
    asked = [
        {"url": "a", "query": "b"}, {"query": "b"}, {"query": 3, "description": "c"}, {"query": " ", "skill": "d"}, {"a": "b"},
        {"path": "/w/a"},
        {"pattern": "/w/a"}, {"task_id": "t"},
    ]  # fmt: skip
    rows += [f"{given_} => {door.name_of(TOOLS.of('mcp__[x]'), given_, '/w')!r}" for given_ in asked]
    golden(GOLDENS / "call_names.txt", "".join(f"{row}\n" for row in rows))


LISTINGS = [
    [], ["a"], ["1→a"], ["1→a", "2→b"], ["1→a", "2→b", "3→c"], ["1→a", "3→b"], ["1→a", "2\tb"], ["1\ta", "2\tb"], ["x", "1→a", "2→b"],
    ["1→a", "2→b", "x"],
    ["1→a", "2→b", "x", "3→c", "4→d"], ["x", "y", "1→a", "2→b", "z"], ["1→a", "x", "2→b"], ["1→a", "2→b", "1→c", "2→d"],
    ["1→a", "2→b", "3→c", "1→d"],
    ["0→a", "1→b"], ["00→a", "01→b"], ["01→a", "02→b"], ["9→a", "10→b"], [" 9→a", "10→b"], ["  9→a", " 10→b"], ["  9→a", "  10→b"],
    [" 9→a", "  10→b"],
    ["99→a", "100→b"], [" 1→a", " 2→b"], [" 1→a", "2→b"], ["1→a", " 2→b"], ["1→", "2→"], ["1 →a", "2 →b"], ["-1→a", "0→b"],
    ["1→→a", "2→→b"],
    ["123456789012→a", "123456789013→b"], ["1234567890123→a", "1234567890124→b"], [" " * 11 + "1→a", " " * 11 + "2→b"],
    [" " * 12 + "1→a", " " * 12 + "2→b"],
    ["1: a", "2: b"], ["<content>", "1: a", "2: b"], ["1: a", "2: b", "<content>", "3: c", "4: d"], ["<content>", "1: a", "2→b", "3→c"],
    ["<content>"],
    ["<content>", "1:a", "2:b"], ["<content>", "x", "1: a", "2: b", "</content>"], ["1→a", "2→b", "<content>", "1: a", "2: b"],
    ["<content>", "9: a", "10: b"],
]  # fmt: skip


def test_the_numbers_of_a_listing_are_told_from_lines_as_the_golden_shows(golden):
    golden(GOLDENS / "listings.txt", "".join(f"{lines} => {listed(lines)}\n" for lines in LISTINGS))


def test_a_source_knows_which_of_its_lines_a_listing_counts():
    source = shown.Source("a", "A", ["x"] * 20, numbered=[(2, 6, 10), (8, 12, 40)])
    assert [source.number(begin, end) for begin, end in [(2, 6), (3, 5), (1, 3), (2, 7), (8, 12), (9, 12), (9, 13), (6, 7)]] == [
        10, 11, None, None, 40, 41, None, None,
    ]  # fmt: skip
    assert [source.at(number, count) for number, count in [(10, 4), (10, 5), (9, 1), (13, 1), (14, 1), (40, 4), (41, 3), (41, 4), (43,
    1)]] == [
        [2], [], [], [5], [], [8], [9], [], [11],
    ]  # fmt: skip
    twice = shown.Source("a", "A", ["x"] * 20, numbered=[(0, 4, 1), (10, 14, 3)])
    assert twice.at(3, 2) == [2, 10]


@given(st.lists(st.text(max_size=5), max_size=8), st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, 2, -1]))
@settings(max_examples=examples(60, 2_000), deadline=None)
def test_lines_in_one_piece_are_the_lines(lines: list[str], begin: int, end: int, step: int):
    stored = shown.Lines(lines)
    assert (len(stored), list(stored), stored[begin:end:step]) == (len(lines), lines, lines[begin:end:step])
    if -len(lines) <= begin < len(lines):
        assert stored[begin] == lines[begin]
    else:
        with pytest.raises(IndexError):
            stored[begin]
    assert stored.bytes == sum(len(line.encode("utf-8", "surrogatepass")) for line in lines) + array("I").itemsize * len(lines)
