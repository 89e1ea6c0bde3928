"""Holds on records of the archive, which keep them whatever asks for their deletion.

A hold is on a record (`item`, by its handle), all records of a session, or all of a project (by its key). The archive knows the folder that
a context worked in; `place_folders` gives it the project of each folder. While a project is held, a folder that is not placed yet counts as
held too. A held record never goes cold.
"""

from __future__ import annotations

import time

from ..io.sqlite_file import Transaction
from ..retention_kit.holds import FIELDS, SCOPES, ActiveHolds, Hold, find_in_force
from .content import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

_COLUMNS = ", ".join(FIELDS)
_OF_SESSION = "SELECT task_id FROM chains WHERE session_id = ?"
_OF_PROJECT = "SELECT task_id FROM chains WHERE project IN (SELECT folder FROM folders WHERE project = ?)"
_UNPLACED = "SELECT DISTINCT project FROM chains WHERE project NOT IN (SELECT folder FROM folders)"


class HeldRecords:
    """The records that are held at a time: their handles, and chains that are held as a whole."""

    __slots__ = ("chains", "items")

    def __init__(self, items: frozenset[str], chains: frozenset[str]):
        self.items = items
        self.chains = chains

    def keeps(self, id: str, task_id: str) -> bool:
        """Return whether a record of a chain has to stay."""
        return id in self.items or task_id in self.chains


NOTHING = HeldRecords(frozenset(), frozenset())


def all_holds(db: Connection) -> list[Hold]:
    """Return all holds that ever were, oldest first."""
    return [Hold(*row) for row in db.execute(f"SELECT {_COLUMNS} FROM holds ORDER BY created_at, id").fetchall()]  # noqa: S608


def add_hold(db: Connection, hold: Hold) -> None:
    """Keep a hold; one of the same id is left as it is. ValueError for a scope that there is not, or a target that names nothing."""
    if not hold.names_something():
        raise ValueError(f"a hold names one of these: {', '.join(SCOPES)}")
    values = [plain(value) if isinstance(value, str) else value for value in (getattr(hold, name) for name in FIELDS)]
    with Transaction(db):
        db.execute(f"INSERT OR IGNORE INTO holds ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)  # noqa: S608


def release_hold(db: Connection, id: str, at: float) -> bool:
    """End a hold at a time (seconds); whether it was in force."""
    with Transaction(db):
        if find_in_force(all_holds(db), plain(id), at) is None:
            return False
        db.execute("UPDATE holds SET released_at = ? WHERE id = ?", (at, plain(id)))
        return True


def held(db: Connection, now: float | None = None) -> HeldRecords:
    """Return what is held at `now` (seconds; by default the clock's). A deletion asks within its own transaction."""
    found = ActiveHolds(all_holds(db), time.time() if now is None else now)
    if not found:
        return NOTHING
    chains: list[tuple[str]] = []
    for query, targets in ((_OF_SESSION, found.sessions), (_OF_PROJECT, found.projects)):
        for target in targets:
            chains += db.execute(query, (target,)).fetchall()
    if found.projects:
        chains += db.execute(f"SELECT task_id FROM chains WHERE project IN ({_UNPLACED})").fetchall()  # noqa: S608  a piece of our own
    return HeldRecords(frozenset(found.items), frozenset(task_id for (task_id,) in chains))


def place_folders(db: Connection, key_of: Callable[[str], str]) -> None:
    """Note which project each new folder of the archive belongs to, while a project is held at all; `key_of(folder)` tells. It stays with
    that one wherever it moves, so that no hold ends that way. A context that names no folder is never placed."""
    if db.execute("SELECT 1 FROM holds WHERE scope = 'project' AND released_at IS NULL LIMIT 1").fetchone() is None:
        return
    new = [(folder, plain(key_of(folder))) for (folder,) in db.execute(_UNPLACED).fetchall() if folder and isinstance(folder, str)]
    if new:
        with Transaction(db):
            db.executemany("INSERT OR IGNORE INTO folders VALUES (?, ?)", new)


def problems(db: Connection) -> list[str]:
    """Return what is wrong with the holds, in sentences."""
    return [problem for hold in all_holds(db) if (problem := hold.problem())]
