"""What a shell or the page asks of a session that runs goes through its helper, and its transcript stays as the client writes it."""

from __future__ import annotations

import json

import pytest

from .asking import Helper, lines
from .running import Running


@pytest.fixture
def busy(helper: Helper) -> Helper:
    made = helper.has_read("app.py", lines(400))
    for number in range(6):
        made.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    made.answered(30_000)
    return helper


def shell(helper: Helper, *words: str) -> str:
    return helper.run("context", *words, "--transcript", str(helper.transcript))


def placeholders(client: Running) -> list[str]:
    shown = {each["tool_use_id"]: each["text"] for row in client.rows() for each in row["toolResults"]}
    return [id for id, text in shown.items() if text.startswith("[PopKit cleared ")]


def test_the_mod_hears_of_a_clear_in_a_shell_and_the_transcript_is_left_to_the_client(busy: Helper):
    before = busy.transcript.read_bytes()
    told = shell(busy, "clear", "--id", "T1", "--now")
    assert busy.process.stdout.readline() == b"compact\n"
    assert busy.transcript.read_bytes() == before
    assert "/resume" not in told
    client = Running(busy)
    client.compacts(own=True)
    assert placeholders(client) == ["toolu_00"]


def test_an_undo_in_a_shell_puts_it_back_in_place(busy: Helper):
    client = Running(busy)
    shell(busy, "clear", "--id", "T1", "--now")
    client.compacts(own=True)
    shell(busy, "undo")
    client.compacts(own=True)
    assert placeholders(client) == []


def test_an_undo_of_what_is_not_done_yet_takes_it_back(busy: Helper):
    shell(busy, "clear", "--id", "T1", "--now")
    assert "not done now" in shell(busy, "undo")
    assert "skip" in Running(busy).compacts(own=True)


def test_a_dry_run_asks_nobody(busy: Helper):
    shell(busy, "clear", "--id", "T1", "--dry-run")
    assert "skip" in Running(busy).compacts(own=True)


def test_a_session_that_runs_no_more_is_cleared_in_its_transcript(busy: Helper):
    busy.ask("/end")
    busy.process.wait()
    told = json.loads(shell(busy, "clear", "--id", "T1", "--now", "--json"))
    assert (told["cleared"], told["in_place"]) == (True, False)
    assert "[PopKit cleared " in busy.transcript.read_text()
