"""The levels of a text, when it goes from one to the next, and a summariser of the user's own."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.memory.compression import (
    POLICY,
    TOKENS,
    CompressionPolicy,
    at_level,
    cut,
    embedding_of,
    fits,
    keywords,
    most_tokens,
    summary,
)
from popkit_retention.memory.items import DIMENSIONS, LEVELS, SUMMARY, BadItem
from popkit_retention.memory.sentences import Corpus
from popkit_retention.memory.summariser import SummariserFailed, summarise_with
from tests.patience import until

from .spec_code import block_with
from .test_sentences import written

NOTE = (
    "We keep the retry queue in src/queue/retry.py because Redis lost messages at 3 a.m. on Friday. Nice work everyone! It should be fine. "
    "Postgres 15 is used for billing, and `make migrate` has to be run before the tests. Maybe we could look into it later? Thanks for all "
    "the help with this, it was great to work with you. Docker Compose needs the profile `full` so that the worker starts. "
)
long_texts = st.builds(lambda parts, times: " ".join(parts) * times, st.lists(written, max_size=6), st.integers(1, 20)) | st.text(
    max_size=2000
)


@pytest.mark.parametrize(
    ("level", "age_hours", "score", "accesses", "answer"),
    [
        ("full", 24, 0.6, 3, (True, "summary")),
        ("full", 23.9, 0.0, 0, (False, "full")),
        ("full", 1000, 0.61, 0, (False, "full")),
        ("full", 1000, 0.0, 4, (False, "full")),
        ("summary", 168, 0.4, 1, (True, "keywords")),
        ("summary", 167, 0.0, 0, (False, "summary")),
        ("summary", 168, 0.41, 0, (False, "summary")),
        ("summary", 168, 0.0, 2, (False, "summary")),
        ("keywords", 720, 0.2, 0, (True, "embedding")),
        ("keywords", 719, 0.0, 0, (False, "keywords")),
        ("keywords", 720, 0.21, 0, (False, "keywords")),
        ("keywords", 720, 0.0, 1, (False, "keywords")),
        ("embedding", 1e6, 0.0, 0, (False, "embedding")),
        ("nonsense", 1e6, 0.0, 0, (False, "nonsense")),
    ],
)
def test_an_item_is_compressed_once_it_is_old_worth_little_and_not_asked_for(level, age_hours, score, accesses, answer):
    assert POLICY.should_compress(level, age_hours, score, accesses) == answer


@given(st.sampled_from([*LEVELS, "x"]), st.floats(0, 2000), st.floats(0, 1), st.integers(0, 6))
def test_the_policy_is_the_specifications(level: str, age_hours: float, score: float, accesses: int):
    theirs = block_with("CompressionPolicy")["CompressionPolicy"]
    assert theirs.COMPRESSION_TRIGGERS == CompressionPolicy.COMPRESSION_TRIGGERS
    assert theirs().should_compress(level, age_hours, score, accesses) == POLICY.should_compress(level, age_hours, score, accesses)


@given(long_texts)
def test_no_level_is_longer_than_the_one_before(text: str):
    full, short, words, nothing = (at_level(text, level) for level in LEVELS)
    assert full == text
    assert most_tokens(full) >= most_tokens(short) >= most_tokens(words) >= most_tokens(nothing) == 0
    assert fits(short, TOKENS["summary"])
    assert fits(words, TOKENS["keywords"])


LOG = "2026-11-22T10:03:07.481Z [worker-3] GET /api/v2/orders/81f0c9?page=17&size=250 -> 503 (1,482 ms; retry=4/5)\n"


def test_what_is_dense_with_digits_and_signs_holds_the_target_too():
    """A tokenizer makes a token of nearly every digit and sign: 435 characters of this log are 240 tokens."""
    short = summary(LOG * 40)
    assert most_tokens(LOG) > 1.5 * estimate_tokens(LOG)
    assert 100 <= most_tokens(short) <= TOKENS["summary"]
    assert len(re.findall(r"[^\W\d_]+|\d|[^\w\s]|_", short)) <= TOKENS["summary"]


@given(long_texts, long_texts)
def test_the_most_tokens_parts_are_no_fewer_than_those_of_the_whole(one: str, other: str):
    assert most_tokens(one) + most_tokens(" " + other) >= most_tokens(one + " " + other) - 1e-6


@given(long_texts)
def test_a_level_of_a_level_is_itself(text: str):
    assert summary(summary(text)) == summary(text)
    assert keywords(keywords(text)) == keywords(text)


@given(st.text(min_size=1).filter(str.strip), st.integers(1, 200))
def test_something_is_left_of_every_text_as_summary_and_keywords(text: str, times: int):
    assert summary(text * times)
    assert keywords(text * times)


def test_a_summary_has_the_sentences_that_tell_most_in_their_order():
    short = summary(NOTE, 60)
    assert short == (
        "We keep the retry queue in src/queue/retry.py because Redis lost messages at 3 a.m. on Friday. "
        "Docker Compose needs the profile `full` so that the worker starts."
    )


def test_a_summary_keeps_lines_apart_that_were_apart():
    assert summary("- Alice sold the boat on Friday\n- Tom bought a zeppelin in 2019\n- ok, then so be it all the same", 25) == (
        "- Alice sold the boat on Friday\n- Tom bought a zeppelin in 2019"
    )


def test_where_every_sentence_is_too_long_the_best_one_is_cut():
    short = summary("the harbour " * 100 + ". " + "Alice met Bob in Hamburg on Friday, " * 20, 30)
    assert short.startswith("Alice met Bob in Hamburg on Friday, Alice")
    assert short.endswith(" …")
    assert 15 <= most_tokens(short) <= 30


@given(st.text(max_size=300), st.integers(0, 60))
def test_what_is_cut_is_a_beginning_within_the_tokens(text: str, tokens: int):
    shown = cut(text, tokens)
    assert fits(shown, tokens) or not shown.strip()
    assert shown == text or text.startswith(shown.removesuffix(" …"))


def test_keywords_are_names_and_rare_words_as_they_were_written():
    assert keywords(NOTE) == "src/queue/retry.py Redis messages Friday Compose"
    corpus = Corpus([NOTE, *["Redis and Postgres run on Friday"] * 20])
    assert "Friday" not in keywords(NOTE, corpus=corpus)


def test_an_embedding_is_what_the_embedder_makes_and_checked():
    assert embedding_of("abc", lambda texts: [[float(len(text))] * DIMENSIONS for text in texts]) == [3.0] * DIMENSIONS
    with pytest.raises(BadItem, match="383"):
        embedding_of("abc", lambda texts: [[0.5] * 383])


# --- a summariser of the user's own: a command that reads from stdin ----------------------------------------------------------------------

LONG = "Alice sold the boat to Bob in Hamburg last Friday. " * 3 + " ".join(f"The {at}th buoy was painted green." for at in range(40))


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_the_text_is_read_from_stdin_and_the_summary_from_stdout():
    command = python("import sys; text = sys.stdin.read(); print(f' {len(text)} characters, é ')")
    assert summarise_with(command, "grün") == "4 characters, é"
    assert summarise_with(shlex.join(command), "grün") == "4 characters, é"


def test_no_shell_reads_the_command(tmp_path: Path):
    forbidden = tmp_path / "made"
    echo = shlex.join(python("import sys; print(sys.argv[1:])"))
    assert summarise_with(f"{echo} '$HOME' ; touch {forbidden} && `id`", "x") == str(["$HOME", ";", "touch", str(forbidden), "&&", "`id`"])
    assert not forbidden.exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "command is empty"),
        ("say 'so", "is not a command: No closing quotation"),
        ("/nowhere/summarise", "/nowhere/summarise cannot be started: .*No such file"),
        (["a\0b"], "cannot be started"),
        (python("pass"), "printed nothing"),
        (python("import sys; print('x'); sys.exit('the model is asleep')"), "failed with exit status 1: the model is asleep"),
    ],
)
def test_a_summariser_that_fails_says_why(command: str | list[str], message: str):
    with pytest.raises(SummariserFailed, match=message):
        summarise_with(command, "x")


def test_one_that_never_stops_printing_is_ended():
    flood = python("import sys\nwhile True: sys.stdout.write('y' * 65536)")
    with pytest.raises(SummariserFailed, match="printed more than 1,000,000 bytes"):
        summarise_with(flood, "x" * 300_000)


def test_errors_without_end_do_no_harm():
    command = python("import sys; [sys.stderr.write('e' * 65536) for _ in range(400)]; print('a summary')")
    assert summarise_with(command, "x") == "a summary"


def test_one_that_takes_too_long_is_ended_with_all_that_it_has_started(tmp_path: Path):
    child_pid = tmp_path / "child"
    child = f"import os, time; open({str(child_pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    command = python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")
    for seconds in (2, 8, 32, 128):  # until both have begun in that time
        with pytest.raises(SummariserFailed, match=f"took longer than {seconds} seconds"):
            summarise_with(command, "x", timeout_s=seconds)
        if child_pid.exists() and child_pid.read_text():
            break
    ended = Path(f"/proc/{child_pid.read_text()}/stat")
    until(lambda: not ended.exists() or ") Z " in ended.read_text(), "what the summariser had started to end")


def test_a_text_that_it_does_not_read_does_not_hold_it():
    assert summarise_with(python("print('short')"), "x" * 5_000_000) == "short"


def at_summary(text: str, command: str | list[str]) -> str:
    return at_level(text, SUMMARY, lambda text: summarise_with(command, text))


def test_it_is_asked_only_for_what_is_too_long():
    assert at_summary("short", python("print('other')")) == "short"
    assert at_summary(LONG, python("print('Bob has a boat.')")) == "Bob has a boat."
    assert at_level(LONG, SUMMARY) == summary(LONG)


def test_where_it_fails_nothing_stands_in_for_it():
    with pytest.raises(SummariserFailed, match=r"^/nowhere/summarise cannot be started"):
        at_summary(LONG, "/nowhere/summarise")


def test_what_it_says_at_length_is_shortened():
    wordy = python("print('Bob bought the boat of Alice in Hamburg. ' + ' '.join(f'{at} buoys are green.' for at in range(60)))")
    short = at_summary(LONG, wordy)
    assert "Bob bought the boat" in short
    assert len(short) <= TOKENS[SUMMARY] * 2.9
