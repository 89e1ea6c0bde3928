"""The records that left the context together, in a clear of an older version."""

from __future__ import annotations

from .content import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection


def clears_of(db: Connection, task_id: str) -> list[tuple[int, float]]:
    """Return (number, seconds) of the clears of a chain, newest first."""
    return db.execute("SELECT id, at FROM clears WHERE task_id = ? ORDER BY id DESC", (plain(task_id),)).fetchall()


def clears_of_records(db: Connection, ids: Iterable[str]) -> list[int]:
    """Return the numbers of the clears, of any chain, that took one of these records, newest first."""
    query = "SELECT clear_id FROM cleared WHERE record_id = ?"
    return sorted({number for id in ids for (number,) in db.execute(query, (plain(id),)).fetchall()}, reverse=True)
