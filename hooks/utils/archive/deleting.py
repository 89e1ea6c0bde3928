"""The one way out of the archive for good, for `prune` and for a collection alike.

A chain of which nothing is left vanishes with its names and clears. In another one a deleted record stays as a cold stub without a source,
so that the chain can still be verified. What is held stays.
"""

from __future__ import annotations

import time

from ..io.sqlite_file import Transaction
from .content import names_of, plain, subjects_of
from .holds import held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection

    from .holds import Held

STORED = "CASE coalesce(zone, 'hot') WHEN 'hot' THEN size WHEN 'warm' THEN length(content_compressed) ELSE 0 END"
_ROWS = f"""
SELECT id, seq, created_at, coalesce(zone, 'hot') <> 'cold', coalesce(zone, 'hot') = 'cold' AND source IS NULL, {STORED}
FROM thought_records WHERE task_id = ?
"""  # noqa: S608  a piece of our own
_NOTE = """
INSERT INTO pruned (task_id, records, at) VALUES (?, ?, ?)
ON CONFLICT (task_id) DO UPDATE SET at = excluded.at, records = records + excluded.records
"""
_STUB = "UPDATE thought_records SET zone = 'cold', content = NULL, content_compressed = NULL, source = NULL WHERE id = ?"
# What has come to the archive again since it was marked begins its day anew: a placeholder may just be on its way into a transcript.
_MARKED = """
SELECT m.record_id FROM marks AS m LEFT JOIN brought_back AS b ON b.record_id = m.record_id WHERE b.at IS NULL OR b.at <= m.at
"""
_AT_ONCE = 500  # question marks in a statement; every SQLite takes 999


class Going:
    """What goes: `ids` of records (`contents`: those of them that still have one), how many of each chain (`counts`), the `chains` that
    vanish wholly, the bytes that are stored for them, and how many that were wanted are `on_hold` and stay."""

    __slots__ = ("bytes", "chains", "contents", "counts", "ids", "on_hold", "seqs")

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.contents: list[str] = []
        self.seqs: list[int] = []
        self.counts: dict[str, int] = {}
        self.chains: list[str] = []
        self.bytes = 0
        self.on_hold = 0


def going(db: Connection, task_ids: Iterable[str], wanted: Callable[[str, str], bool], kept: Held) -> Going:
    """What would go of these chains, where `wanted(handle, when it was archived)` tells what should."""
    found = Going()
    for task_id in task_ids:
        rows = db.execute(_ROWS, (task_id,)).fetchall()
        meant = [row for row in rows if wanted(row[0], row[2])]
        if not meant:
            continue
        staying = {row[0] for row in rows if kept.keeps(row[0], task_id)}
        chosen = {row[0] for row in meant}
        if not staying and all(row[0] in chosen or row[4] for row in rows):
            found.chains.append(task_id)
            taken = rows
        else:
            taken = [row for row in meant if row[3] and row[0] not in staying]
        found.on_hold += sum(row[3] and row[0] in staying for row in meant)
        found.ids += [row[0] for row in taken]
        found.seqs += [row[1] for row in taken]
        found.contents += [row[0] for row in taken if row[3] or not row[4]]
        found.bytes += sum(row[5] for row in taken)
        if taken:
            found.counts[task_id] = len(taken)
    return found


def delete_records(db: Connection, ids: Iterable[str], now: float | None = None, only_marked: bool = False) -> list[str]:
    """Deletes records (`only_marked`: those that are marked) for good, with all that the archive knows of them, in one transaction; what is
    held at `now` (seconds; by default the clock's) stays. Returns the handles of those that had a content and have none any more. Not to be
    called within a transaction."""
    now = time.time() if now is None else now
    wanted = {plain(id) for id in ids}
    overwrite_what_is_freed(db)
    with Transaction(db):
        if only_marked:
            wanted.intersection_update(id for (id,) in db.execute(_MARKED).fetchall())
        gone = going(db, _chains_of(db, list(wanted)), lambda handle, _: handle in wanted, held(db, now))
        delete(db, gone, now)
    return gone.contents


def overwrite_what_is_freed(db: Connection) -> None:
    """Nothing of what is deleted from now on can be read from the file."""
    db.execute("PRAGMA secure_delete = ON")


def delete(db: Connection, gone: Going, now: float) -> None:
    """Deletes what was found within the same transaction. That it was done stays known of each chain, see `pruned_of`."""
    from . import index

    index.leave(db, gone.seqs)
    db.executemany(_NOTE, [(task_id, count, now) for task_id, count in gone.counts.items()])
    for table in ("marks", "brought_back"):
        db.executemany(f"DELETE FROM {table} WHERE record_id = ?", [(id,) for id in gone.ids])  # noqa: S608  two names of our own
    for task_id in gone.chains:
        _vanish(db, task_id)
    db.executemany(_STUB, [(id,) for id in gone.ids])  # those of the chains that have vanished are no more
    index.tidy(db)


def _chains_of(db: Connection, ids: list[str]) -> list[str]:
    found: set[str] = set()
    for at in range(0, len(ids), _AT_ONCE):
        some = ids[at : at + _AT_ONCE]
        rows = db.execute(f"SELECT DISTINCT task_id FROM thought_records WHERE id IN ({', '.join('?' * len(some))})", some)  # noqa: S608
        found.update(task_id for (task_id,) in rows)
    return sorted(found)


def _vanish(db: Connection, task_id: str) -> None:
    rows = db.execute("SELECT seq, subjects FROM thought_records WHERE task_id = ?", (task_id,)).fetchall()
    named = [(name, seq) for seq, subjects in rows for name in names_of(subjects_of(subjects))]
    db.executemany("DELETE FROM named WHERE name = ? AND seq = ?", named)
    db.execute("DELETE FROM cleared WHERE clear_id IN (SELECT id FROM clears WHERE task_id = ?)", (task_id,))
    # A clear of a fork may have taken a record of another chain.
    db.execute("DELETE FROM cleared WHERE record_id IN (SELECT id FROM thought_records WHERE task_id = ?)", (task_id,))
    for table in ("clears", "thought_records", "chains"):
        db.execute(f"DELETE FROM {table} WHERE task_id = ?", (task_id,))  # noqa: S608


def compact(db: Connection) -> bool:
    """Whether the file was written anew without its free pages, and without the words of what is gone; where there is no room or no time
    for that, they stay, empty. Not to be called within a transaction."""
    import sqlite3

    from . import index

    overwrite_what_is_freed(db)
    try:
        with Transaction(db):
            index.tidy(db)
        db.execute("VACUUM")
    except sqlite3.OperationalError:
        return False
    return True
