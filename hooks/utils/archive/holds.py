"""Keep holds: which records must stay, whatever asks for their deletion.

A hold is on a record (`item`, by its handle), all records of a session, or all of a project (by its key). The archive knows the folder that
a context worked in; `place_folders` gives it the project of each folder. While a project is held, a folder that is not placed yet counts as
held too. A held record never goes cold.
"""

from __future__ import annotations

import time

from ..io.sqlite_file import Transaction
from .content import Row, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from sqlite3 import Connection
    from typing import Any

ITEM, SESSION, PROJECT = SCOPES = ("item", "session", "project")
_FIELDS = ("id", "scope", "target", "who", "why", "created_at", "until", "released_at")
_IN_FORCE = "released_at IS NULL AND (until IS NULL OR until > ?)"
_HELD_CHAINS = f"""
SELECT task_id FROM chains WHERE session_id IN (SELECT target FROM holds WHERE scope = 'session' AND {_IN_FORCE}) OR project IN (
  SELECT folder FROM folders WHERE project IN (SELECT target FROM holds WHERE scope = 'project' AND {_IN_FORCE})
)
"""  # noqa: S608  a piece of our own
_UNPLACED = "SELECT DISTINCT project FROM chains WHERE project NOT IN (SELECT folder FROM folders)"


class Hold(Row):
    """Keeps what `target` names, by `scope`, also what comes to a held session or project later: from `created_at` until `until` (seconds;
    None: until it is released). `who` wanted it, and `why`."""

    __slots__ = _FIELDS

    def __init__(self, id: str, scope: str, target: str, who: str, why: str, created_at: float, until: float | None = None,
                 released_at: float | None = None):  # fmt: skip
        self.id = id
        self.scope = scope
        self.target = target
        self.who = who
        self.why = why
        self.created_at = created_at
        self.until = until
        self.released_at = released_at

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Hold:
        """Return the hold of a JSON object, as `to_json` made it; what it lacks is None."""
        values: list[Any] = [value.get(name) for name in _FIELDS]
        return cls(*values)

    def in_force(self, now: float) -> bool:
        """Return whether it holds at a time (seconds). One whose end cannot be read does."""
        return self.released_at is None and not (isinstance(self.until, (int, float)) and now >= self.until)

    def released(self, at: float) -> Hold:
        """Return the same hold, ended at a time (seconds)."""
        return Hold(**{**self.to_json(), "released_at": at})


class Held:
    """The holds at a time: handles of records, and chains that are held as a whole."""

    __slots__ = ("chains", "items")

    def __init__(self, items: frozenset[str], chains: frozenset[str]):
        self.items = items
        self.chains = chains

    def keeps(self, id: str, task_id: str) -> bool:
        """Return whether a record of a chain has to stay."""
        return id in self.items or task_id in self.chains


NOTHING = Held(frozenset(), frozenset())


def all_holds(db: Connection) -> list[Hold]:
    """Return all holds that ever were, oldest first."""
    return [Hold(*row) for row in db.execute(f"SELECT {', '.join(_FIELDS)} FROM holds ORDER BY created_at, id").fetchall()]  # noqa: S608


def add_hold(db: Connection, hold: Hold) -> None:
    """Keep a hold; one of the same id is left as it is. ValueError for a scope that there is not, or a target that names nothing."""
    if hold.scope not in SCOPES or not hold.target:
        raise ValueError(f"a hold names one of these: {', '.join(SCOPES)}")
    values = [plain(value) if isinstance(value, str) else value for value in (getattr(hold, name) for name in _FIELDS)]
    with Transaction(db):
        db.execute(f"INSERT OR IGNORE INTO holds ({', '.join(_FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)  # noqa: S608


def release_hold(db: Connection, id: str, at: float) -> bool:
    """End a hold at a time (seconds); whether it was in force."""
    with Transaction(db):
        return db.execute(f"UPDATE holds SET released_at = ? WHERE id = ? AND {_IN_FORCE}", (at, plain(id), at)).rowcount == 1  # noqa: S608


def held(db: Connection, now: float | None = None) -> Held:
    """Return the holds at `now` (seconds; by default the clock's). A deletion asks within its own transaction."""
    now = time.time() if now is None else now
    scopes = {scope for (scope,) in db.execute(f"SELECT DISTINCT scope FROM holds WHERE {_IN_FORCE}", (now,))}  # noqa: S608
    if not scopes:
        return NOTHING
    items = db.execute(f"SELECT target FROM holds WHERE scope = 'item' AND {_IN_FORCE}", (now,)).fetchall()  # noqa: S608
    chains = db.execute(_HELD_CHAINS, (now, now)).fetchall()
    if PROJECT in scopes:
        chains += db.execute(f"SELECT task_id FROM chains WHERE project IN ({_UNPLACED})").fetchall()  # noqa: S608
    return Held(frozenset(id for (id,) in items), frozenset(task_id for (task_id,) in chains))


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
    sentences = []
    for hold in all_holds(db):
        if hold.scope not in SCOPES or not hold.target:
            sentences.append(f"hold {hold.id} names nothing: {hold.scope!r} {hold.target!r}")
        elif not all(isinstance(at, (int, float)) for at in (hold.created_at, hold.until or 0.0, hold.released_at or 0.0)):
            sentences.append(f"hold {hold.id} has an invalid time")
        elif hold.until is not None and hold.until <= hold.created_at:
            sentences.append(f"hold {hold.id} ends before it begins")
    return sentences
