"""Note which records left the context together, in a clear, so that it can be undone."""

from __future__ import annotations

from ..io.sqlite_file import Transaction
from .content import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

_SELECT = "SELECT id, task_id, at, undone_at, (SELECT count(*) FROM cleared WHERE clear_id = clears.id) FROM clears "


class Clear:
    """One clear of a chain. Times in seconds; `undone_at` is None for one that was not undone; `records` is how many it took."""

    __slots__ = ("at", "id", "records", "task_id", "undone_at")

    def __init__(self, id: int, task_id: str, at: float, undone_at: float | None, records: int):
        self.id = id
        self.task_id = task_id
        self.at = at
        self.undone_at = undone_at
        self.records = records


def clears_of(db: Connection, task_id: str) -> list[Clear]:
    """Return the clears of a chain, newest first."""
    rows = db.execute(_SELECT + "WHERE task_id = ? ORDER BY id DESC", (plain(task_id),)).fetchall()
    return [Clear(*row) for row in rows]


def clears_of_records(db: Connection, ids: Iterable[str]) -> list[Clear]:
    """Return the clears, of any chain, that took one of these records, newest first."""
    query = "SELECT clear_id FROM cleared WHERE record_id = ?"
    clear_ids = {clear_id for id in ids for (clear_id,) in db.execute(query, (plain(id),)).fetchall()}
    return [Clear(*db.execute(_SELECT + "WHERE id = ?", (clear_id,)).fetchone()) for clear_id in sorted(clear_ids, reverse=True)]


def mark_undone(db: Connection, clear_id: int | None, at: float) -> bool:
    """Note that a clear was undone; return False for one that is unknown or undone already."""
    with Transaction(db):
        done = db.execute("UPDATE clears SET undone_at = ? WHERE id = ? AND undone_at IS NULL", (at, clear_id))
        return done.rowcount == 1
