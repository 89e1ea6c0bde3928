"""Delete records from the archive for good, whether `prune` or a collection asks for it.

A chain that has no records left is removed with its names and clears. In any other chain, a deleted record stays as a cold stub without a
source, so that the chain can still be verified. Held records stay.
"""

from __future__ import annotations

import time

from ..io.sqlite_file import Transaction
from .content import names_of, plain, stamp, subjects_of
from .holds import held
from .sizes import STORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection

    from .holds import HeldRecords

_ROWS = f"""
SELECT id, seq, created_at, coalesce(zone, 'hot') <> 'cold', coalesce(zone, 'hot') = 'cold' AND source IS NULL, {STORED}
FROM thought_records WHERE task_id = ?
"""  # noqa: S608  a piece of our own
_NOTE = """
INSERT INTO pruned (task_id, records, at) VALUES (?, ?, ?)
ON CONFLICT (task_id) DO UPDATE SET at = excluded.at, records = records + excluded.records
"""
_STUB = "UPDATE thought_records SET zone = 'cold', content = NULL, content_compressed = NULL, source = NULL WHERE id = ?"
_AT_ONCE = 500  # question marks in a statement; every SQLite takes 999


class DeletableRecords:
    """Records that may be deleted: `ids` of records (`contents`: those of them that still have one), how many of each chain (`counts`), the
    `chains` that vanish wholly, the bytes that are stored for them, and how many that were wanted are `on_hold` and stay."""

    __slots__ = ("bytes", "chains", "contents", "counts", "ids", "on_hold", "seqs")

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.contents: list[str] = []
        self.seqs: list[int] = []
        self.counts: dict[str, int] = {}
        self.chains: list[str] = []
        self.bytes = 0
        self.on_hold = 0


def deletable(db: Connection, task_ids: Iterable[str], wanted: Callable[[str, str], bool], holds: HeldRecords) -> DeletableRecords:
    """Return what may be deleted of these chains, where `wanted(handle, when it was archived)` says what should."""
    result = DeletableRecords()
    for task_id in task_ids:
        rows = db.execute(_ROWS, (task_id,)).fetchall()
        meant = [row for row in rows if wanted(row[0], row[2])]
        if not meant:
            continue
        staying = {row[0] for row in rows if holds.keeps(row[0], task_id)}
        wanted_ids = {row[0] for row in meant}
        if not staying and all(row[0] in wanted_ids or row[4] for row in rows):
            result.chains.append(task_id)
            chosen = rows
        else:
            chosen = [row for row in meant if row[3] and row[0] not in staying]
        result.on_hold += sum(row[3] and row[0] in staying for row in meant)
        result.ids += [row[0] for row in chosen]
        result.seqs += [row[1] for row in chosen]
        result.contents += [row[0] for row in chosen if row[3] or not row[4]]
        result.bytes += sum(row[5] for row in chosen)
        if chosen:
            result.counts[task_id] = len(chosen)
    return result


def delete_records(db: Connection, ids: Iterable[str], now: float | None = None, only_marked: bool = False) -> list[str]:
    """Delete records (`only_marked`: those that are marked) for good, with all that the archive knows of them, in one transaction; what is
    held at `now` (seconds; by default the clock's) stays. Returns the handles of those that had a content and have none any more. Not to be
    called within a transaction."""
    now = time.time() if now is None else now
    wanted = {plain(id) for id in ids}
    overwrite_what_is_freed(db)
    with Transaction(db):
        if only_marked:
            from . import marks  # seldom

            wanted &= marks.unused(db)
        leaving = deletable(db, _chains_of(db, list(wanted)), lambda handle, _: handle in wanted, held(db, now))
        delete(db, leaving, now)
    return leaving.contents


def overwrite_what_is_freed(db: Connection) -> None:
    """Make SQLite overwrite what is deleted from now on, so that none of it can be read from the file."""
    db.execute("PRAGMA secure_delete = ON")


def delete(db: Connection, leaving: DeletableRecords, now: float) -> None:
    """Delete what was found within the same transaction. That it was done stays known of each chain, see `pruned_of`."""
    from . import index  # seldom

    index.remove_records(db, leaving.seqs)
    db.executemany(_NOTE, [(task_id, count, now) for task_id, count in leaving.counts.items()])
    for table in ("marks", "brought_back"):
        db.executemany(f"DELETE FROM {table} WHERE record_id = ?", [(id,) for id in leaving.ids])  # noqa: S608  two names of our own
    for task_id in leaving.chains:
        _vanish(db, task_id)
    db.executemany(_STUB, [(id,) for id in leaving.ids])  # those of the chains that have vanished are no more
    index.optimise(db)


def _chains_of(db: Connection, ids: list[str]) -> list[str]:
    chains: set[str] = set()
    for at in range(0, len(ids), _AT_ONCE):
        some = ids[at : at + _AT_ONCE]
        rows = db.execute(f"SELECT DISTINCT task_id FROM thought_records WHERE id IN ({', '.join('?' * len(some))})", some)  # noqa: S608
        chains.update(task_id for (task_id,) in rows)
    return sorted(chains)


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
    """Rewrite the file without its free pages, and without the words of what is gone; return whether that was done. Where there is no room
    or no time for it they stay, empty. Not to be called within a transaction."""
    import sqlite3

    from . import index

    overwrite_what_is_freed(db)
    try:
        with Transaction(db):
            index.optimise(db)
        db.execute("VACUUM")
    except sqlite3.OperationalError:
        return False
    return True


class PruneResult:
    """The result of a prune, or of its dry run: records whose content (or whole row) goes, chains that vanish wholly, the bytes stored for
    them, how many old records are `on_hold` and stay, and whether the file gave its space back."""

    __slots__ = ("bytes", "chains", "on_hold", "records", "shrunk")

    def __init__(self, leaving: DeletableRecords):
        self.records = len(leaving.ids)
        self.chains = len(leaving.chains)
        self.bytes = leaving.bytes
        self.on_hold = leaving.on_hold
        self.shrunk = False

    def to_json(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("records", "chains", "bytes", "on_hold", "shrunk")}


def prunable(db: Connection, older_than: float, now: float | None = None) -> list[str]:
    """Return the handles of the records that `prune` would take."""
    return _old(db, older_than, time.time() if now is None else now).ids


def prune(db: Connection, older_than: float, dry_run: bool = False, now: float | None = None) -> PruneResult:
    """Delete for good what was archived, or came back, before `older_than` (seconds), but for what is held at `now` (by default the
    clock's): a chain that has nothing newer vanishes with its clears; in another its old records lose their contents and stay as cold
    stubs, so that the chain can still be verified. That it was done stays known (`pruned_of`), with the time `now`. Not to be called within
    a transaction."""
    now = time.time() if now is None else now
    overwrite_what_is_freed(db)
    with Transaction(db):
        leaving = _old(db, older_than, now)
        if dry_run or not leaving.ids:
            return PruneResult(leaving)
        delete(db, leaving, now)
    report = PruneResult(leaving)
    report.shrunk = compact(db)
    return report


def _old(db: Connection, older_than: float, now: float) -> DeletableRecords:
    cutoff = stamp(older_than)
    chains = [
        task_id for (task_id,) in db.execute("SELECT DISTINCT task_id FROM thought_records WHERE created_at < ?", (cutoff,)).fetchall()
    ]
    back = {id for (id,) in db.execute("SELECT record_id FROM brought_back WHERE at >= ?", (older_than,)).fetchall()}
    return deletable(db, chains, lambda handle, created_at: created_at < cutoff and handle not in back, held(db, now))


def pruned_of(db: Connection, task_id: str) -> tuple[float, int] | None:
    """Return (when, in seconds, how many records) of a chain that was pruned, wholly or in part; None for any other."""
    return db.execute("SELECT at, records FROM pruned WHERE task_id = ?", (plain(task_id),)).fetchone()
