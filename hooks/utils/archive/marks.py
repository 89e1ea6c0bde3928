"""Mark records of the archive for deletion. A mark deletes nothing by itself."""

from __future__ import annotations

import time

from ..io.sqlite_file import Transaction
from ..retention_kit import sweep
from ..retention_kit.marks import Mark
from .content import plain
from .holds import held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

# A record counts as used when it came back: its placeholder may be about to enter a transcript.
_MARKED = "SELECT m.record_id, m.at, m.by, b.at FROM marks AS m LEFT JOIN brought_back AS b ON b.record_id = m.record_id"


def marked(db: Connection) -> dict[str, Mark]:
    """Return handle -> Mark of all that is to be deleted."""
    return {id: Mark(id, at, by) for id, at, by in db.execute("SELECT record_id, at, by FROM marks ORDER BY at, record_id").fetchall()}


def unused(db: Connection) -> set[str]:
    """Return the handles of what is marked and was not used since."""
    return {id for id, at, by, back_at in db.execute(_MARKED).fetchall() if not Mark(id, at, by).precedes(back_at)}


def mark(db: Connection, ids: Iterable[str], at: float, by: str, now: float | None = None) -> list[str]:
    """Mark records that have a content; those that are held at `now` (seconds; by default the clock's) or marked already are passed over.
    Returns the handles that it marked."""
    done = []
    now = time.time() if now is None else now
    with Transaction(db):
        holds = held(db, now)
        for id in map(plain, ids):
            row = db.execute("SELECT task_id, zone FROM thought_records WHERE id = ?", (id,)).fetchone()
            if row is None or sweep.next_step(None, now, row[1] != "cold", holds.keeps(id, row[0])) != sweep.MARK:
                continue
            if db.execute("INSERT OR IGNORE INTO marks VALUES (?, ?, ?)", (id, at, plain(by))).rowcount == 1:
                done.append(id)
    return done


def unmark(db: Connection, ids: Iterable[str]) -> list[str]:
    """Take marks back; return the handles that had one."""
    with Transaction(db):
        return [id for id in map(plain, ids) if db.execute("DELETE FROM marks WHERE record_id = ?", (id,)).rowcount == 1]


def problems(db: Connection) -> list[str]:
    """Return what is wrong with the marks, in sentences."""
    senseless = """
    SELECT m.record_id, r.id IS NULL FROM marks AS m LEFT JOIN thought_records AS r ON r.id = m.record_id
    WHERE r.id IS NULL OR r.zone = 'cold' OR typeof(m.at) <> 'real' ORDER BY 1
    """
    rows = db.execute(senseless).fetchall()
    return [
        f"{id} is marked for deletion but {'is not in the archive' if missing else 'has no content, or an invalid time'}"
        for id, missing in rows
    ]
