"""Is the log what was written? Walks it from its first entry, one in memory at a time."""

from __future__ import annotations

import json
from heapq import merge
from itertools import groupby, islice
from typing import TYPE_CHECKING

from hooks.utils.edges.hash_chain import FIRST_PREV_HASH, AsWritten, link_hash

from .errors import one_line
from .log_tables import HASHED, SCHEMA, hash_of_text

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

# More would only say the same again.
_MOST = 20
_ROWS = f"SELECT {', '.join(HASHED)}, hash FROM entries ORDER BY number"  # noqa: S608  names of our own columns
_PREV_HASH, _NUMBER, _HASH = HASHED.index("prev_hash"), HASHED.index("number"), len(HASHED)
_TODO = "SELECT t.number, t.todo, e.todo_hash FROM todo t LEFT JOIN entries e ON e.number = t.number ORDER BY t.number"
_TRIGGERS = {step.split()[2] for _, steps in SCHEMA.migrations for step in steps if isinstance(step, str) and "TRIGGER" in step}


def problems(db: Connection) -> list[str]:
    """What is wrong with the log, the first broken entry first, at most twenty things."""
    with AsWritten(db):
        found = ["the file is damaged: " + line.rpartition("\n")[2] for (line,) in db.execute("PRAGMA quick_check(1)") if line != "ok"]
        for what in (_walked, _misnamed, _undone, _guarded):
            found += what(db)
    return [one_line(each) for each in found[:_MOST]]


def _walked(db: Connection) -> list[str]:
    found: list[str] = []
    number, prev_hash = 0, FIRST_PREV_HASH
    for row in db.execute(_ROWS):
        if len(found) == _MOST:
            return found
        if row[_NUMBER] != number + 1:
            found.append(_missing(number + 1, row[_NUMBER] - 1))
        elif what := _wrong(db, row, prev_hash):
            found.append(f"entry {row[_NUMBER]}: {what}")
        number, prev_hash = row[_NUMBER], row[_HASH]
    head = db.execute("SELECT number, hash FROM head").fetchone()
    if head is None:
        return [*found, "the note of how the log ends is missing"]
    if head[0] != number:
        cut = isinstance(head[0], int) and head[0] > number
        found.append(
            f"{_missing(number + 1, head[0])}: the end was cut off" if cut else f"entry {number}: it was added behind the log's end"
        )
    elif head[1] != prev_hash:
        found.append(f"entry {number}: it is not the one that the log ended with")
    return found


def _wrong(db: Connection, row: tuple[Any, ...], prev_hash: str) -> str:
    number = row[_NUMBER]
    if row[_PREV_HASH] != prev_hash:
        other = _number_of(db, row[_PREV_HASH])
        if other:
            return f"it stands in the wrong place: it was written after what stands as entry {other}, so entries were reordered"
        return f"it is not bound to entry {number - 1}: one of the two was replaced"
    if link_hash(row[:_HASH]) != row[_HASH]:
        return "it does not match its hash: one of its columns was changed"
    return ""


def _number_of(db: Connection, hash: object) -> int:
    """The number of the entry with this hash, 0 where there is none."""
    if not isinstance(hash, str) or not hash.isascii():
        return 0
    found = db.execute("SELECT number FROM entries WHERE hash = ?", (hash,)).fetchone()
    return found[0] if found else 0


def _misnamed(db: Connection) -> list[str]:
    """Which entries are not found by the ids that they hold, or by others."""
    held = ((number, id) for number, ids in db.execute("SELECT number, ids FROM entries ORDER BY number") for id in sorted(set(_ids(ids))))
    named = db.execute("SELECT number, id FROM named ORDER BY number, id")
    wrong = (number for (number, _), both in groupby(merge(held, named)) if len(list(both)) != 2)
    return [f"entry {number}: the index of ids does not agree with it" for number, _ in islice(groupby(wrong), _MOST)]


def _ids(text: Any) -> list[str]:
    try:
        ids = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return []
    return [id for id in ids if isinstance(id, str)] if isinstance(ids, list) else []


def _undone(db: Connection) -> list[str]:
    return [
        f"entry {number}: what is to be done for it was changed"
        for number, todo, todo_hash in db.execute(_TODO)
        if not isinstance(todo, str) or hash_of_text(todo) != todo_hash
    ]


def _guarded(db: Connection) -> list[str]:
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    return [f"entries can be changed: the trigger {name} is missing" for name in sorted(_TRIGGERS - there)]


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"
