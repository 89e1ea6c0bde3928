"""A clear with thinking while Claude is at work: in mid-turn it is refused, at the end of a turn it waits until the answer is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from hooks.utils.reclaim import access, places, rewrite
from hooks.utils.reclaim.access import Refused
from tests.patience import HANG_S
from tests.reclaim import transcripts
from tests.reclaim.shops import Shop, Talk, Thinker, worked


def called(talk: Talk) -> None:
    talk.use("waits", "Bash", {"command": "npm test"})


def answered(talk: Talk) -> None:
    talk.bash("answered", "npm test", "ok")


def asked(talk: Talk) -> None:
    talk.prompt("and now?")


def thinking_still(talk: Talk) -> None:
    talk.prompt("and now?")
    talk.think("m-now")


def interrupted(talk: Talk) -> None:
    answered(talk)
    talk.prompt("[Request interrupted by user]")


def before_a_call(talk: Talk) -> None:
    talk.prompt("and now?")
    talk.add("assistant", message={"id": "m", "content": [{"type": "text", "text": "I look."}], "stop_reason": "tool_use"})


def failed(talk: Talk) -> None:
    answered(talk)
    talk.add("assistant", isApiErrorMessage=True, message={"id": "m", "content": [{"type": "text", "text": "API Error: 529"}]})


@pytest.mark.parametrize("moment", [called, answered, asked, thinking_still, interrupted, before_a_call, failed])
def test_in_mid_turn_a_clear_with_thinking_is_refused_and_says_what_to_do(shop: Shop, moment, monkeypatch):
    monkeypatch.setattr(access, "_ANSWER_S", 0.0)
    talk = worked(str(shop.project), Thinker)
    moment(talk)
    before = shop.write(talk)
    for change in (shop.clear, lambda **how: shop.clear(now=True, **how)):
        with pytest.raises(Refused, match=r"nothing was changed\. Try again once it has answered"):
            change(with_thinking=True)
    assert shop.transcript.read_bytes() == before
    assert shop.archive_report() == (0, 0)
    assert shop.clear(with_thinking=True, dry_run=True)[0].plan.going, "what it would do is told"
    assert shop.clear()[1], "without thinking a clear may come at any time"
    talk.say("That is it.")
    shop.write(talk)
    assert shop.clear(with_thinking=True)[1].thinking


@pytest.mark.parametrize("moment", [called, asked])
def test_an_undo_in_mid_turn_is_refused_too(shop: Shop, moment, monkeypatch):
    monkeypatch.setattr(access, "_ANSWER_S", 0.0)
    talk = worked(str(shop.project), Thinker)
    shop.write(talk)
    shop.clear(with_thinking=True)
    append(shop, since(talk, moment))
    standing = shop.transcript.read_bytes()
    with pytest.raises(Refused, match="once it has answered"):
        shop.undo()
    assert shop.transcript.read_bytes() == standing


def test_at_the_end_of_a_turn_clear_and_undo_wait_for_the_answer_to_be_written(shop: Shop, monkeypatch):
    """The host shows it, and takes the next command, a moment earlier."""
    monkeypatch.setattr(access, "_ANSWER_S", HANG_S)
    talk = worked(str(shop.project), Thinker)
    asked(talk)
    shop.write(talk)
    with appended_later(shop, said(talk, "That is it.")):
        assert shop.clear(with_thinking=True)[1].thinking
    append(shop, since(talk, asked))
    with appended_later(shop, said(talk, "Nothing more.")):
        assert shop.undo().records


def since(talk: Talk, moment: Callable[[Talk], object]) -> bytes:
    """The lines that the talk goes on by."""
    there = len(talk.entries)
    moment(talk)
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in talk.entries[there:])


def said(talk: Talk, answer: str) -> bytes:
    return since(talk, lambda talk: talk.say(answer))


def append(shop: Shop, lines: bytes) -> None:
    with shop.transcript.open("ab") as file:
        file.write(lines)


@contextmanager
def appended_later(shop: Shop, lines: bytes) -> Iterator[None]:
    """The host writes them while what is in here is at work."""
    writing = Timer(0.3, append, (shop, lines))
    writing.start()
    yield
    writing.join()


TURN = b'{"type":"user","uuid":"u-new","parentUuid":"u1","message":{"role":"user","content":"and now?"}}\n'
HOSTS_OWN = (
    b'{"type":"queue-operation","operation":"enqueue"}\n'
    b'{"type":"attachment","uuid":"a-new","parentUuid":"u1"}\n'
    b'{"type":"user","uuid":"u-exit","parentUuid":"a-new","message":{"role":"user","content":"<command-name>/exit</command-name>"}}\n'
)


def test_a_turn_that_begins_while_the_transcript_is_rewritten_ends_the_rewrite(tmp_path: Path):
    """The host's own lines do not: they are taken over as ever."""
    path = tmp_path / "t.jsonl"
    data = transcripts.lines(20)
    path.write_bytes(data)
    seen = transcripts.seen(path)
    with path.open("ab") as file:
        file.write(HOSTS_OWN)
    edits = transcripts.clearing(data)
    rewrite.rewrite(str(path), edits, seen, accept=places.check_no_words)
    assert path.read_bytes() == transcripts.edited(data, edits) + HOSTS_OWN
    path.write_bytes(data)
    seen = transcripts.seen(path)
    with path.open("ab") as file:
        file.write(HOSTS_OWN + TURN)
    with pytest.raises(rewrite.Changed, match="once it has answered"):
        rewrite.rewrite(str(path), edits, seen, accept=places.check_no_words)
    assert path.read_bytes() == data + HOSTS_OWN + TURN
    assert transcripts.names(tmp_path) == ["t.jsonl"]
