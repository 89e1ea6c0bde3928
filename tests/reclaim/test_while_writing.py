"""A client that goes on appending while results are cleared and come back: no line is lost, none doubled, the chain stays whole."""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import time
from pathlib import Path

from hooks.utils.reclaim.access import Refused
from hooks.utils.reclaim.rewrite import RewriteFailed
from tests.patience import HANG_S
from tests.reclaim.shops import Shop, code, contents_of, worked

CLIENT = Path(__file__).with_name("client.py")


class Client:
    """A process that appends entries, each below the one before, until it is told to stop."""

    def __init__(self, path: Path, parent: str, pause_ms: float):
        argv = [sys.executable, "-S", str(CLIENT), str(path), parent, str(pause_ms)]
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


def test_many_clears_and_undos_lose_no_line_of_the_client(shop: Shop, count):
    talk = worked(str(shop.project))
    before = shop.write(talk)
    client = Client(shop.transcript, talk.last, 2)
    wanted, done, refused = count(40, 500), 0, []
    began = time.monotonic()
    try:
        while done < wanted:
            shop.at += 1
            try:
                changed = shop.clear()[1] if done % 2 == 0 else shop.undo()
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
