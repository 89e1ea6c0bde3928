"""What of an output carries nothing is left out; what anybody could want is not."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import door
from popkit_retention.core.policy.door.noise import has_count, quiet
from tests.examples import examples
from tests.policy.door_laws import noisy, rebuilt
from tests.policy.entering import shaped

# Lines in which a number matters.
NUMBERED = [
    "Waiting for the server ({n})",
    "{hash}: Pull complete",
    "Progress: {n}%",
    "src/app.py:{n}:12 error E501 line too long",
    "{n}:    return compute_the_thing()",
    "Warning: bad escape in line {n}",
    "error: retry {n} has failed",
    "test case_{n} ... ok",
    "10.0.0.{n} answers",
    "{hash} docs: update the contributors",
    "epoch {n} loss 0.{other} accuracy",
    '"count": {n},',
    "{n}\tAnna\tactive",
    "{n},Anna,active",
]


def lines(form: str, count: int = 40) -> str:
    """`count` lines in which {n} counts, {time} goes on, {hash} and {other} vary."""
    return "\n".join(
        form.format(
            n=at, time=f"10:{at // 60:02}:{at % 60:02}", hash=hashlib.sha256(str(at).encode()).hexdigest()[:20], other=(at * 37) % 101
        )
        for at in range(1, count + 1)
    )


@pytest.mark.parametrize("form", NUMBERED)
@pytest.mark.parametrize("head", ["", "Here is what came out\n\n"])
def test_lines_that_differ_in_anything_all_stay(form: str, head: str):
    text = head + lines(form)
    assert quiet(text) == text


@pytest.mark.parametrize("end", ["", "\r"])
def test_a_line_that_repeats_enters_once_with_its_count(end: str):
    text = "\n".join(["before", *[f"Waiting for the server{end}"] * 40, "after"])
    assert quiet(text) == f"before\nWaiting for the server{end}\n[the line above stands 40 times in a row]\nafter"


@pytest.mark.parametrize("line", [
    "waiting", "| 1 | Anna |", "1\tAnna", "Anna  active  1", "    0,", '    {"a": 1},', "x = [", "a, b, c", "1; 2; 3",
])  # fmt: skip
def test_rows_with_equal_values_stay_and_so_does_what_a_count_would_hardly_shorten(line: str):
    text = "\n".join(["so it is", *[line] * (3 if line == "waiting" else 40), "and so on"])
    assert quiet(text) == text


def test_a_line_that_looks_like_a_count_is_not_taken_for_one():
    own = "[the line above stands 40 times in a row]"
    assert quiet(f"a\n{own}\nb") == f"a\n[the line above stands 1 time in a row]\n{own}\nb"
    entry = door.enter(door.Arrival("toolu_1", TOOLS.of("Bash"), {}, "other", "T1", f"a\n{own}\nb"), door.ContextLines(), shaped(door.SAFE))
    assert entry.text == quiet(f"a\n{own}\nb")
    assert rebuilt(entry.text) == f"a\n{own}\nb"


ALIKE = "\n".join(["Waiting for the server"] * 40)


@pytest.mark.parametrize("text", [
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,40 +1,40 @@\n" + "\n".join("+" + line for line in ALIKE.split("\n")) + "\n\n\n\n\n",
    "\x1b[1mdiff --git a/x b/x\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\nthe \x1b[31mold\x1b[32mnew\x1b[m word\n\n\n\n",
    json.dumps([{"step": at, "text": "waiting"} for at in range(40)], indent=1) + "\n\n\n\n",
    "[\n" + ALIKE + "\n]",
    "<log>\n" + ALIKE + "\n</log>",
    "---\nname: x\n" + ALIKE,
    "\n".join(f"{at},waiting for the server,{at}" for at in range(40)),
    "\n".join(f"{at}\twaiting for the server" for at in range(40)),
    "\n".join(f"waiting {at}; for the server" for at in range(40)),
], ids=["diff", "coloured word diff", "json", "json list", "xml", "yaml", "csv", "tsv", "semicolons"])  # fmt: skip
def test_diffs_and_structured_data_are_never_touched(text: str):
    assert quiet(text) == text


def test_escape_codes_go_and_the_address_of_a_link_stays():
    assert quiet("\x1b[1;31mred\x1b[0m and \x1b[2Kplain \x1b]0;a title\x07text") == "red and plain text"
    link = "see \x1b]8;;https://example.org/report/17\x07the report"
    assert quiet(link + "\x1b]8;;\x07\x1b[0m") == link


@pytest.mark.parametrize(("text", "stays"), [
    ("Receiving objects:  10% (1/10)\rReceiving objects: 100% (10/10), done.", "Receiving objects: 100% (10/10), done."),
    ("\r 10%|#   | 1/10 [00:01<00:09]\r100%|####| 10/10 [00:10<00:00]", "100%|####| 10/10 [00:10<00:00]"),
    ("|\r/\r-\rinstalled 4 packages", "installed 4 packages"),
    (" 0 154 0 0 --:--:-- --:--:-- --:--:-- 0\r100 154 1 0 0:00:01 0:00:01 --:--:-- 678", "100 154 1 0 0:00:01 0:00:01 --:--:-- 678"),
    ("a: 3 MB/90 MB 3%\ra: 9 MB/90 MB 10%\nb", "a: 9 MB/90 MB 10%\nb"),
    ("    a.go:193: \r            \r\tError Trace:\ta.go:85", "    a.go:193: \r\tError Trace:\ta.go:85"),
    ("one\r10% built\r20% built\rended", "one\r20% built\rended"),
    ("Linking...\rLinking... done\r\nnext\r\n", "Linking... done\r\nnext\r\n"),
])  # fmt: skip
def test_of_progress_that_was_drawn_over_the_last_stays(text: str, stays: str):
    assert quiet(text) == stays


@pytest.mark.parametrize("text", [
    "one line\r\nanother\r\n",
    "part 3/10\rpart 2/10",
    "part 3/10\rpart 4/11",
    "10% of a\r20% of b",
    "1.\r15 rows",
    "old\rline\rends\rof\ra Macintosh file",
    "GET /a 200\rGET /a 500\rGET /b 200\ndone",
    "test 1/3 ok\rtest 2/3 FAILED\rtest 3/3 ok\n",
    "20% checked, warning: low disk\r100% checked\n",
    "anna 3/10\rbert 9/10\rcleo 5/10\n",
    "\r".join(f"{n * 10}% loss=0.{n * 37 % 100}" for n in range(11)),
    "name\x1b[20Gbytes\nanna\x1b[20G12\nbert\x1b[3C34",
    "N\0A\0M\0E\0\r\0",
    "trailing spaces   \n\t\n  \n",
])  # fmt: skip
def test_other_carriage_returns_moves_and_blanks_are_part_of_the_text(text: str):
    assert quiet(text) == text


def test_of_blank_lines_in_a_row_two_stay_as_they_are():
    assert quiet("a\n\n\n\n\nb\n \n\t\n\n\n") == "a\n\n\nb\n \n\t\n"


@given(noisy.filter(lambda text: "in a row]" not in quiet(text)))
@settings(max_examples=examples(60, 20_000))
def test_what_is_quiet_stays_as_it_is(text: str):
    once = quiet(text)
    assert quiet(once) == once


@pytest.mark.parametrize(("tool", "kind"), [("Read", "read"), ("Bash", "read"), ("Grep", "search"), ("Write", "write")])
def test_files_and_matches_are_no_noise_and_an_error_enters_whole(tool: str, kind: str):
    loud = "\x1b[31mred\x1b[0m\n\n\n\n\n" + ALIKE
    arrival = door.Arrival("toolu_1", TOOLS.of(tool), {}, kind, "T1", loud)
    assert door.enter(arrival, door.ContextLines(), shaped(door.SAFE)) == (loud, (), ())
    run = door.Arrival("toolu_2", TOOLS.of("Bash"), {}, "run:test", "T2", loud)
    assert len(door.enter(run, door.ContextLines(), shaped(door.SAFE)).text) < 200
    assert door.enter(run, door.ContextLines(), shaped(door.OFF)) == (loud, (), ())
    failed = door.Arrival("toolu_3", TOOLS.of("Bash"), {}, "run:test", "T3", loud, error=True)
    assert door.enter(failed, door.ContextLines(), shaped(door.SAFE)) == (loud, (), ())


@pytest.mark.parametrize(
    "text", ["\x1b[" * 30_000, "\x1b]" * 30_000, "\r" * 100_000, "1" * 100_000, "a1" * 50_000, "\n" * 100_000, "1/" * 30_000]
)
def test_a_long_text_of_one_sign_is_quieted_too(text: str):
    assert len(quiet(text)) <= len(text)


# --- what is left of lines that were drawn over, of codes and of rows -------------------------------------------------------------

SHORT = [
    *(f"{before}\r{behind}" for before, behind in [
        ("1%", "2%"), ("2%", "1%"), ("2%", "2%"), ("1%", "2/3"), ("1/3", "2/3"), ("1/3", "2/4"), ("1 of 3", "2 of 3"), ("1 of 3", "2/3"),
        ("1.5%", "1.6%"), ("1.6 %", "1.5 %"), ("9%", "10%"), ("1%, 2/3", "2%, 3/3"), ("1%, 2/3", "2%, 1/3"), ("1%, 2/3", "2%"),
        ("get a 1%", "get a 2%"), ("get a 1%", "get b 2%"), ("get a 1%", "get a b 2%"), ("get a b 1%", "get a 2%"), ("get a 1%", "done"),
        ("1% 3 MB", "2% 4 MB"), ("1% 3 MB/s", "2% 4kB/s"), ("1% 3 MB / 4 MB", "2% 4 MB / 4 MB"), ("1% 3 Mb x", "2% 4 Mb"),
        ("1% 3 it/s", "2% 5 it/s"),
        ("1% 3 MBx", "2% 4 MBx"), ("1% 0:01", "2% 0:09"), ("1% 1:00:01", "2% ?"), ("1% ?:00:01", "2% 3:10"), ("1% a/b.c", "2% a/b.c"),
        ("1% a/b.c", "2% a/b.d"), ("error 1%", "error 2%"), ("1% warned", "2% warned"), ("1% not x", "2% not x"),
        ("1% missing", "2% missing"),
        ("1% skipped", "2% skipped"), ("1% a=b", "2% a=b"), ("1% a= b", "2% a= b"), ("1% a==b", "2% a==b"), ("1% a=>b", "2% a=>b"),
        ("same", "same"), ("same ", "same"), ("", "a"), ("  ", "a"), ("|/-", "a"), ("|/-\\", "a"), ("a", "b"), ("a/-", "b"),
        ("ab...", "ab... ok"),
        ("ab…", "ab… ok"), ("ab..", "ab.. ok"), ("ab...", "b ab..."), ("ab...", "ok"), ("error...", "error... ok"),
        (" 10 0:00:10 0:00:01 0:00:09", " 20 0:00:10 0:00:02 0:00:08"), (" 10 0:00:10 0:00:01 0:00:09", " done"),
        (" 10 0:00:10 0:00:01 0:00:09 ab", " 20 0:00:10 0:00:02 0:00:08 ab"), (" 10 0:00:10 0:00:01", " 20 0:00:10 0:00:02"),
        ("10 --:--:-- 0:01 0:09", "20 --:--:-- 0:02 0:08"), ("a\r1%", "2%"), ("1%\ra", "2%"), ("1%\r3%", "2%"), ("1%\r2%\r3%", "4%\r\r"),
    ]),
    "a\r", "a\r\r", "\ra", "\r", "1%\r2%\r\nb\r", "a\nb\r\n1%\r2%\n",
    *("a" + code + "b" for code in [
        "\x1b[31m", "\x1b[0;1;38;5;12m", "\x1b[K", "\x1b[2K", "\x1b[5G", "\x1b[2;3H", "\x1b[3C", "\x1b[3`", "\x1b[3a", "\x1b[1;2f",
        "\x1b[?25l",
        "\x1b[ q", "\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1b]8;;https://a.invalid\x07c\x1b]8;;\x07", "\x1b]8;;\x07",
        "\x1b]8;id=1;x\x07",
        "\x1bM", "\x1b\\", "\x1b^", "\x1b_", "\x1b7", "\x1b", "\x1b[", "\x1b]0;x", "\x1b\x1b[31m[31m", "\x1b[3\x1b[0m1m", "\x1b[5G\x1b[31m",
    ]),
    "\x1b[5Gb", "a\x1b[5G", "a \x1b[5Gb", "a\x1b[5G b", "a\x1b[5G\x1b[6Gb", "a\x1b[5G\nb", "\x1b[31m",
    *("\n".join(rows) for rows in [
        ["a", "", "b"], ["a", "", "", "b"], ["a", "", "", "", "b"], ["a", " ", "", "\t", "", "b"], ["", "", "", "a"], ["a", "", "", "", ""],
        ["a", "", ""],
        ["", "", "", ""], [""], ["a"], ["a", "a"], ["x" * 81] * 2, ["x" * 82] * 2, ["x" * 83] * 2, ["x" * 84] * 2, ["x" * 85] * 2,
        ["x" * 40] * 3, ["x" * 41] * 3, ["x" * 42] * 3, ["x" * 43] * 3, ["x"] * 42, ["x"] * 43, ["x"] * 44, ["x"] * 45, ["x"] * 46,
        ["x" * 99] * 3 + ["[the line above stands 3 times in a row]"], ["[the line above stands 3 times in a row]"] * 3,
        ["", "", "", "[the line above stands 3 times in a row]"], ["a", "[the line above stands 1 time in a row]\r"],
        ["[the line above stands 2 times in a row]", "a"], ["a", "[the line above stands 2 times in a row] "],
        ["a", "[the line above stands two times in a row]"],
        ["x" * 99] * 3 + ["y" * 99] * 3, ["x" * 99] * 3 + [""], ["x" * 99] * 3 + ["", ""], ["x\t" * 50] * 3, ["x | " * 30] * 3,
        ["x, y, " * 20] * 3,
        ["x; y; " * 20] * 3, ["x,  y" * 20] * 3, ["ab  cd  ef" * 9] * 3,
        *(["x, y" + "z" * 99] * count for count in (3, 11, 12)), ["x " * 50 + "["] * 3,
        ["x " * 50 + "( "] * 3,
        *([f"{begin}a"] + ["x" * 99] * 3 for begin in (
            "{", "[1", "[ ", "[{", '["', "[[", "[]", "[a", "<a", "<!a", "<?a", "</a", "< a", "<-a", "---\n", "--- ", "%YAML", "%YAM", "@@ ",
            "@@", "diff --git ",
            "+++ ", "++ ", " {", "\n\n{", "x{",
        )),
        ["x" * 99] * 3 + ["@@ -1"], *([f"a{separator}b" * 40] * count for separator in "\t,;|:" for count in (11, 12)),
        [*["a,b"] * 11, "a,b,c"] + ["x" * 99] * 3, [*["a,b"] * 12, ""], [*["a,b"] * 200, *["x" * 99] * 3],
        [*["a,b"] * 199, *["x" * 99] * 3],
    ]),
]  # fmt: skip


def folded(text: str) -> str:
    """A text as Python writes it, of what stands many times in a row one and how often."""
    return re.sub(r"(.+?)\1{8,}", lambda found: f"{found[1]}×{len(found[0]) // len(found[1])}", repr(text))


def test_of_each_short_text_stays_what_the_golden_shows(golden):
    rows = [f"{folded(text)} => {'the same' if quiet(text) == text else folded(quiet(text))}" for text in dict.fromkeys(SHORT)]
    rows += [f"{folded(text)} looks like a count" for text in dict.fromkeys(SHORT) if has_count(text)]
    golden(Path(__file__).with_name("goldens") / "quiet.txt", "".join(f"{row}\n" for row in rows))
