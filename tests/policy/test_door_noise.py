"""What of an output carries nothing is left out; what anybody could want is not."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given, settings

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import door
from popkit_retention.core.policy.door.noise import quiet
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
