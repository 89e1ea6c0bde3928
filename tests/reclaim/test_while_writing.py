"""A client that goes on appending while results are cleared and come back: no line is lost, none doubled, the chain stays whole."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hooks.utils.reclaim import access, rewrite
from hooks.utils.reclaim.access import Refused
from hooks.utils.reclaim.rewrite import RewriteFailed
from tests.patience import HANG_S
from tests.reclaim.shops import Shop, Thinker, code, contents_of, worked

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


@pytest.mark.parametrize("with_thinking", [False, True])
def test_many_clears_and_undos_lose_no_line_of_the_client(shop: Shop, count, with_thinking: bool):
    """With thinking they wait for the end of a turn: then the client writes what is neither said nor answered."""
    talk = worked(str(shop.project), Thinker)
    before = shop.write(talk)
    client = Client(shop.transcript, talk.last, 2, "attachment" if with_thinking else "assistant")
    wanted, done, refused = count(40, 500), 0, []
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


def test_restores_in_place_lose_no_line_of_the_client(shop: Shop, count):
    rounds = count(6, 60)
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
