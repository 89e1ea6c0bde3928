"""What of an output carries nothing is left out; what anybody could want is not."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.utils.policy import door
from hooks.utils.policy.door.noise import LEAST_ALIKE, quiet
from tests.examples import examples

codes = ["\x1b[31m", "\x1b[0m", "\x1b", "[0m", "\x1b]8;;https://a.b\x07", "\x1b]0;title\x07"]
blanks = ["\n", "\n\n\n\n", "\r", "\r\n", "\t", " "]
said = ["done", "Fetching part 3 of 20\n", "Fetching part 4 of 20\n" * 12, "12:00:01 ready\n", "error", "50%", "\ud800", "\0t"]
pieces = st.sampled_from([*codes, *blanks, *said, "a,b", "|", "{", "@@ "])
texts = st.lists(pieces, max_size=40).map("".join)


def lines(form: str, count: int = 40) -> str:
    """`count` lines in which {n} counts, {time} goes on, {hash} and {other} vary."""
    return "\n".join(
        form.format(
            n=at, time=f"10:{at // 60:02}:{at % 60:02}", hash=hashlib.sha256(str(at).encode()).hexdigest()[:20], other=(at * 37) % 101
        )
        for at in range(1, count + 1)
    )


@pytest.mark.parametrize("form", [
    "Waiting for the server ({n})",
    "[{time}] still waiting for the server",
    "2026-01-11T{time}.868374Z worker idle",
    "2026-01-11 {time}.868374-0700  localhost kernel[0]: (NVMe) Assert failed: shadow",
    "{hash}: Pull complete",
    "sha256:{hash}: Already exists",
    "Downloading part {n}/40 ({other} KB)",
    "Progress: {n}%",
    "step {n} of 40: ready after {n}.5s",
    "request {hash} served in {other} ms",
])  # fmt: skip
def test_lines_of_a_log_that_differ_only_in_times_hashes_and_counts_become_first_last_and_a_count(form: str):
    whole = lines(form)
    told = quiet(f"before\n{whole}\nafter", "abcdefgh")
    first, last = whole.split("\n")[0], whole.split("\n")[-1]
    assert told.text == f"before\n{first}\n[38 lines like these: popkit restore abcdefgh]\n{last}\nafter"
    assert told.lines == 38


@pytest.mark.parametrize("form", [
    "src/app.py:{n}:12 error E501 line too long",
    "src/app.py:{n} note: the definition stands here",
    "src/app.py({n},5): error TS2304: Cannot find the name",
    "  {n}:5  error  Missing semicolon  semi",
    "{n}:    return compute_the_thing()",
    "{n}-    return compute_the_thing()",
    "Warning: bad escape in line {n}",
    "unexpected token at line {n}, column 7",
    "unexpected token at position {n}",
    "error: retry {n} has failed",
    "modified:   transcripts/agent-{hash}.jsonl",
    "Created: 2026-01-{n}.md",
    "create mode 100644 logs/run_{n}.txt",
    "Compiling module{n}",
    "test case_{n} ... ok",
    "10.0.0.{n} answers",
    "server-{n} is ready",
    "pip install package==1.{n}.0",
    "{hash} docs: update the contributors",
    "commit {hash}",
    "* {hash} docs: update the contributors",
    "epoch {n} loss 0.{other} accuracy",
    "run {n}: 0.{other} s",
    "replicas: {n}",
    '"count": {n},',
    "- port: {n}",
    "PORT = {n}",
    "{n}\tAnna\tactive",
    "| {n} | Anna | active |",
    "{n},Anna,active",
    "Anna  active  {n}  today",
    "{n} {other} {n}",
])  # fmt: skip
@pytest.mark.parametrize("head", ["", "Here is what came out\n\n"])
def test_lines_whose_numbers_somebody_could_want_all_stay(form: str, head: str):
    text = head + lines(form)
    assert quiet(text, "abcdefgh") == (text, 0)


@pytest.mark.parametrize(("count", "stays"), [(LEAST_ALIKE - 1, True), (LEAST_ALIKE, False)])
def test_fewer_than_twelve_lines_alike_stay(count: int, stays: bool):
    text = lines("Waiting for the server ({n})", count)
    assert (quiet(text).text == text) is stays


def test_lines_alike_that_end_in_cr_lf_keep_their_ends():
    told = quiet(lines("Waiting for the server ({n})").replace("\n", "\r\n"))
    assert told.text == "Waiting for the server (1)\r\n[38 lines like these]\nWaiting for the server (40)"


ALIKE = lines("Waiting for the server ({n})")


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
    assert quiet(text) == (text, 0)


def test_escape_codes_go_and_the_address_of_a_link_stays():
    assert quiet("\x1b[1;31mred\x1b[0m and \x1b[2Kplain \x1b]0;a title\x07text").text == "red and plain text"
    link = "see \x1b]8;;https://example.org/report/17\x07the report"
    assert quiet(link + "\x1b]8;;\x07\x1b[0m").text == link


@pytest.mark.parametrize(("text", "stays"), [
    ("Receiving objects:  10% (1/10)\rReceiving objects: 100% (10/10), done.", "Receiving objects: 100% (10/10), done."),
    ("\r 10%|#   | 1/10 [00:01<00:09]\r100%|####| 10/10 [00:10<00:00]", "100%|####| 10/10 [00:10<00:00]"),
    ("|\r/\r-\rinstalled 4 packages", "installed 4 packages"),
    ("  0   0  0 --:--:-- 0\r100 154 100 0:00:01 678", "100 154 100 0:00:01 678"),
    ("Linking...\rLinking... done\r\nnext\r\n", "Linking... done\r\nnext\r\n"),
])  # fmt: skip
def test_of_progress_that_was_drawn_over_the_last_stays(text: str, stays: str):
    assert quiet(text).text == stays


@pytest.mark.parametrize("text", [
    "one line\r\nanother\r\n",
    "old\rline\rends\rof\ra Macintosh file",
    "    assertions.go:193: \r            \r\tError Trace:\tassertions.go:85",
    "N\0A\0M\0E\0\r\0",
    "trailing spaces   \n\t\n  \n",
])  # fmt: skip
def test_other_carriage_returns_and_blanks_are_part_of_the_text(text: str):
    assert quiet(text).text == text


def test_of_blank_lines_in_a_row_two_stay_as_they_are():
    assert quiet("a\n\n\n\n\nb\n \n\t\n\n\n").text == "a\n\n\nb\n \n\t\n"


@given(texts)
@settings(max_examples=examples(60, 20_000))
def test_what_is_quiet_stays_as_it_is(text: str):
    once = quiet(text).text
    assert quiet(once).text == once


@given(texts)
@settings(max_examples=examples(60, 20_000))
def test_every_word_that_is_left_out_stands_in_what_stays_or_was_drawn_over(text: str):
    """Nothing but escape codes, blanks, progress and lines alike goes: each other line stays, in its order."""
    told = iter(quiet(text).text.split("\n"))
    if "\x1b" in text or "\r" in text or "Fetching" in text:
        return
    for line in (line for line in text.split("\n") if line.strip()):
        assert line in told


@pytest.mark.parametrize(("tool", "kind"), [("Read", "read"), ("Bash", "read"), ("Grep", "search"), ("Write", "write")])
def test_files_and_matches_are_no_noise_and_an_error_enters_whole(tool: str, kind: str):
    loud = "\x1b[31mred\x1b[0m\n\n\n\n\n" + ALIKE
    arrival = door.Arrival("toolu_1", tool, {}, kind, "T1", loud)
    assert door.enter(arrival, door.Shown(), door.OFF, door.SAFE) == (loud, (), ())
    run = door.Arrival("toolu_2", "Bash", {}, "run:test", "T2", loud)
    assert len(door.enter(run, door.Shown(), door.OFF, door.SAFE).text) < 200
    assert door.enter(run, door.Shown(), door.OFF, door.OFF) == (loud, (), ())
    failed = door.Arrival("toolu_3", "Bash", {}, "run:test", "T3", loud, error=True)
    assert door.enter(failed, door.Shown(), door.OFF, door.SAFE) == (loud, (), ())


@pytest.mark.parametrize(
    "text", ["\x1b[" * 30_000, "\x1b]" * 30_000, "\r" * 100_000, "1" * 100_000, "a1" * 50_000, "\n" * 100_000, "1/" * 30_000]
)
def test_a_long_text_of_one_sign_is_quieted_too(text: str):
    assert len(quiet(text).text) <= len(text)
