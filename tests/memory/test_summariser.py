"""A summariser of the user's own: a command that reads from stdin."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from popkit_retention.memory.compression import TOKENS, SummariserFailed, at_level, summarise_with, summary
from popkit_retention.memory.items import SUMMARY
from tests.patience import until

LONG = "Alice sold the boat to Bob in Hamburg last Friday. " * 3 + " ".join(f"The {at}th buoy was painted green." for at in range(40))


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_the_text_is_read_from_stdin_and_the_summary_from_stdout():
    command = python("import sys; text = sys.stdin.read(); print(f' {len(text)} characters, é ')")
    assert summarise_with(command, "grün") == "4 characters, é"
    assert summarise_with(shlex.join(command), "grün") == "4 characters, é"


def test_no_shell_reads_the_command(tmp_path: Path):
    made = tmp_path / "made"
    echo = shlex.join(python("import sys; print(sys.argv[1:])"))
    assert summarise_with(f"{echo} '$HOME' ; touch {made} && `id`", "x") == str(["$HOME", ";", "touch", str(made), "&&", "`id`"])
    assert not made.exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "command is empty"),
        ("say 'so", "is not a command: No closing quotation"),
        ("/nowhere/summarise", "/nowhere/summarise cannot be started: .*No such file"),
        (["a\0b"], "cannot be started"),
        (python("pass"), "printed nothing"),
        (python("import sys; print('x'); sys.exit('the model is asleep')"), "failed with exit status 1: the model is asleep"),
    ],
)
def test_a_summariser_that_fails_says_why(command: str | list[str], said: str):
    with pytest.raises(SummariserFailed, match=said):
        summarise_with(command, "x")


def test_one_that_never_stops_printing_is_ended():
    flood = python("import sys\nwhile True: sys.stdout.write('y' * 65536)")
    with pytest.raises(SummariserFailed, match="printed more than 1,000,000 bytes"):
        summarise_with(flood, "x" * 300_000)


def test_errors_without_end_do_no_harm():
    command = python("import sys; [sys.stderr.write('e' * 65536) for _ in range(400)]; print('a summary')")
    assert summarise_with(command, "x") == "a summary"


def test_one_that_takes_too_long_is_ended_with_all_that_it_has_started(tmp_path: Path):
    told = tmp_path / "child"
    child = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    command = python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")
    for seconds in (2, 8, 32, 128):  # until both have begun in that time
        with pytest.raises(SummariserFailed, match=f"took longer than {seconds} seconds"):
            summarise_with(command, "x", timeout_s=seconds)
        if told.exists() and told.read_text():
            break
    ended = Path(f"/proc/{told.read_text()}/stat")
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
