"""A client that goes on appending while results are cleared and come back: no line is lost, none doubled, the chain stays whole. In
mid-turn no thinking is cleared."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from hooks.utils.reclaim import access, places, rewrite
from hooks.utils.reclaim.access import Refused
from hooks.utils.reclaim.rewrite import RewriteFailed
from tests.kit.forks import Forks
from tests.patience import HANG_S
from tests.reclaim import transcripts
from tests.reclaim.shops import Shop, Talk, Thinker, code, contents_of, worked

pytestmark = pytest.mark.usefixtures("patience")
CLIENT = Path(__file__).with_name("client.py")


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that has the transcript open is waited for as long as it takes: the machine may be busy."""
    *others, _ = rewrite.rewrite.__defaults__
    monkeypatch.setattr(rewrite.rewrite, "__defaults__", (*others, HANG_S))


class Client:
    """A process that appends entries, each below the one before, until it is told to stop."""

    def __init__(self, path: Path, parent: str, pause_ms: float, kind: str = "assistant"):
        argv = [sys.executable, "-S", str(CLIENT), str(path), parent, str(pause_ms), kind]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def stop(self) -> int:
        """How many entries it has written."""
        return int(self.process.communicate()[0])


def _assert_chain(data: bytes, written: int, before: bytes) -> None:
    entries = [json.loads(line) for line in data.splitlines()]
    assert data.endswith(b"\n")
    uuids = collections.Counter(entry["uuid"] for entry in entries)
    assert set(uuids.values()) == {1}, "no line is doubled"
    assert len(entries) == len(before.splitlines()) + written, "and none lost"
    assert {entry["parentUuid"] for entry in entries} - {None} <= uuids.keys(), "every parent is there"
    numbers = [entry["n"] for entry in entries if "n" in entry]
    assert sorted(numbers) == list(range(written))


@pytest.fixture
def sessions(tmp_path: Path, forks: Forks, count) -> Iterator[Shop]:
    """Each with a client of its own. What is appended meanwhile makes the next change slower: in one long session the slower machine would
    have the more to do, without an end."""
    return (Shop(tmp_path / str(number), forks) for number in range(count(1, 13)))


@pytest.mark.parametrize("with_thinking", [False, True])
def test_many_clears_and_undos_lose_no_line_of_the_client(sessions: Iterator[Shop], with_thinking: bool):
    """With thinking they wait for the end of a turn: then the client writes what is neither said nor answered."""
    for shop in sessions:
        _clears_and_undos_lose_no_line(shop, with_thinking)


def _clears_and_undos_lose_no_line(shop: Shop, with_thinking: bool) -> None:
    talk = worked(str(shop.project), Thinker)
    before = shop.write(talk)
    client = Client(shop.transcript, talk.last, 2, "attachment" if with_thinking else "assistant")
    wanted, done, refused = 40, 0, []
    began = time.monotonic()
    try:
        while done < wanted:
            shop.at += 1
            try:
                changed = shop.clear(with_thinking=with_thinking)[1] if done % 2 == 0 else shop.undo()
            except (Refused, RewriteFailed) as reason:
                refused.append(str(reason))
                if time.monotonic() - began > HANG_S:
                    raise
                continue
            assert changed is not None
            assert changed.trouble == ""
            done += 1
    finally:
        written = client.stop()
    data = shop.transcript.read_bytes()
    assert data.startswith(before), "the contents are back where they were"
    assert written > done
    assert all("nothing was changed" in reason for reason in refused)
    _assert_chain(data, written, before)
    assert list(shop.folder.rglob("*.popkit-*")) == []
    shop.assert_state_follows()
    print(f"{done} clears and undos, {len(refused)} refused, {written} lines written meanwhile")


def test_while_claude_answers_a_clear_with_thinking_changes_nothing(shop: Shop, count, monkeypatch):
    monkeypatch.setattr(access, "_ANSWER_S", 0.0)
    talk = worked(str(shop.project), Thinker)
    talk.bash("goes-on", "npm test", "ok")
    before = shop.write(talk)
    client = Client(shop.transcript, talk.last, 1)
    try:
        reasons = [_refusal(shop) for _ in range(count(10, 100))]
    finally:
        written = client.stop()
    assert any(reasons)
    assert all("nothing was changed" in reason for reason in reasons if reason)
    _assert_chain(shop.transcript.read_bytes(), written, before)


def _refusal(shop: Shop) -> str:
    """Why a clear with thinking was refused; "" where it was not."""
    shop.at += 1
    try:
        shop.clear(with_thinking=True)
    except (Refused, RewriteFailed) as reason:
        return str(reason)
    return ""


def test_restores_in_place_lose_no_line_of_the_client(sessions: Iterator[Shop]):
    for shop in sessions:
        _restores_lose_no_line(shop)


def _restores_lose_no_line(shop: Shop) -> None:
    rounds = 6
    talk = worked(str(shop.project))
    for number in range(3 * rounds):
        talk.read(f"more-{number}", f"{talk.cwd}/more{number}.ts", code(40, f"m{number}"))
    before = shop.write(talk)
    texts = contents_of(before)
    client = Client(shop.transcript, talk.last, 2)
    try:
        for first in range(0, 3 * rounds, 3):
            shop.at += 1
            ids = [f"more-{number}" for number in range(first, first + 3)]  # what was restored is held: each time others
            _patiently(lambda ids=ids: shop.clear(ids=tuple(ids)))
            assert set(shop.cleared()) == set(ids)
            for restored in ids:
                _patiently(lambda restored=restored: shop.restore_in_place(restored))
    finally:
        written = client.stop()
    data = shop.transcript.read_bytes()
    assert contents_of(data) == texts
    _assert_chain(data, written, before)


def _patiently(change) -> None:
    """Tries again what was refused because the client was just writing."""
    began = time.monotonic()
    while time.monotonic() - began < HANG_S:
        try:
            change()
            return
        except RewriteFailed:  # noqa: PERF203  tries of its own
            continue
        except Refused as reason:
            if "incomplete" not in str(reason):
                raise
    raise AssertionError("the client never paused")


# --- in mid-turn -------------------------------------------------------------------------------------------------------------------------


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
    with appended_later(shop, lines_of_answer(talk, "That is it.")):
        assert shop.clear(with_thinking=True)[1].thinking
    append(shop, since(talk, asked))
    with appended_later(shop, lines_of_answer(talk, "Nothing more.")):
        assert shop.undo().records


def since(talk: Talk, moment: Callable[[Talk], object]) -> bytes:
    """The lines that the talk goes on by."""
    there = len(talk.entries)
    moment(talk)
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in talk.entries[there:])


def lines_of_answer(talk: Talk, answer: str) -> bytes:
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
