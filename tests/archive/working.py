"""Work for processes that share one archive or are killed."""

from __future__ import annotations

import sqlite3

from popkit_retention.core import archive
from popkit_retention.core.archive import index
from popkit_retention.core.archive.deletion import compact, delete_records
from popkit_retention.core.archive.searching import search

BUSY_S = 300.0


def add(path: str, name: str, count: int) -> None:
    """Add records to one chain that all share; a line is printed once each is there."""
    db = archive.open_archive(path, busy_s=BUSY_S)
    for number in range(count):
        record = archive.NewRecord(f"{name}{number}", "read", "label", f'"content {name}"')
        archive.add_records(db, archive.Chain("shared", "shared"), [record], now=1.0)
        print(flush=True)
    db.close()


def _index(db: sqlite3.Connection, _number: int) -> None:
    index.index_queued(db)


def _delete(db: sqlite3.Connection, number: int) -> None:
    ids = [id for (id,) in db.execute("SELECT id FROM thought_records ORDER BY random() LIMIT 2").fetchall()]
    delete_records(db, ids)
    if number % 4 == 3:
        compact(db)


def _search(db: sqlite3.Connection, _number: int) -> None:
    search(db, "content", str)


WORKS = {"index": _index, "delete": _delete, "search": _search}


def work(path: str, what: str, count: int) -> None:
    """Do one of WORKS so often, or add records to a chain of that name, of which some enter the index at once."""
    db = archive.open_archive(path, busy_s=BUSY_S)
    for number in range(count):
        if what in WORKS:
            WORKS[what](db, number)
        else:
            record = archive.NewRecord(f"{what}{number}", "read", "label", f'"content {what} {number}"')
            left = index.AT_ONCE if number % 3 else 0
            archive.add_records(db, archive.Chain(what, what), [record], indexer=index.Indexer(db, left))
    db.close()


def delete(path: str, ids: list[str]) -> None:
    """Delete these records."""
    db = archive.open_archive(path)
    delete_records(db, ids, 5.0)
    db.close()
