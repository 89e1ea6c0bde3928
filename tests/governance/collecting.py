"""What a process does that the tests of collections and archives kill: over a domain of some kind, in a home that a test has filled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.governance.collectors import Desk
from tests.governance.stocks import STOCKS


@contextmanager
def at_work(home: str | Path, kind: str, now: float) -> Iterator[Desk]:
    """A desk over the domain of this kind, at a time (seconds)."""
    stock = STOCKS[kind](Path(home), lambda: now)
    with closing(stock):
        desk = Desk(Path(home), stock.domain)
        with closing(desk.log):
            yield desk


def gc(home: str, kind: str, batch: int, now: float) -> None:
    with at_work(home, kind, now) as desk:
        desk.gc(now, batch=batch)


def archive(home: str, kind: str, _batch: int, ids: list[str], now: float) -> None:
    with at_work(home, kind, now) as desk:
        desk.archive(*ids, now=now)


def restore(home: str, kind: str, batch: int, archive_id: str, now: float) -> None:
    with at_work(home, kind, now) as desk:
        desk.restore(archive_id, now, most=batch)
