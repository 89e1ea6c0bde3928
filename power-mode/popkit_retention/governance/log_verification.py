"""The verification of the log against its own chain."""

from __future__ import annotations

import json
import sqlite3
from heapq import merge
from itertools import groupby, islice

from popkit_retention.core.io import row_chain
from popkit_retention.core.io.codec import texts
from popkit_retention.core.io.row_chain import FIRST_PREV_HASH, link_hash

from .log_schema import HASHED, SCHEMA, hash_of_text
from .quoting import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_MOST = 20  # problems: more would only say the same again
_PREV_HASH, _NUMBER, _HASH = HASHED.index("prev_hash"), HASHED.index("number"), len(HASHED)
_ROWS = f"SELECT {', '.join(HASHED)}, hash FROM entries ORDER BY number"  # noqa: S608  names of our own columns
_TO_CHECK = "SELECT t.number, t.todo, e.todo_hash FROM todo t LEFT JOIN entries e ON e.number = t.number ORDER BY t.number"
_GUARDS = {step.split()[2] for _, steps in SCHEMA.migrations for step in steps if isinstance(step, str) and "TRIGGER" in step}


def problems(db: sqlite3.Connection) -> list[str]:
    """Return at most twenty problems of the log, the first broken entry first."""
    with row_chain.RowSnapshot(db):
        lines = ["the file is damaged: " + line.rpartition("\n")[2] for (line,) in db.execute("PRAGMA quick_check(1)") if line != "ok"]
        for what in (_walked, _misnamed, _undone, _guarded):
            lines += what(db)
    return [one_line(line) for line in lines[:_MOST]]


def _walked(db: sqlite3.Connection) -> list[str]:
    problems: list[str] = []
    number, prev_hash = 0, FIRST_PREV_HASH
    for row in db.execute(_ROWS):
        if len(problems) == _MOST:
            return problems
        if row[_NUMBER] != number + 1:
            problems.append(_missing(number + 1, row[_NUMBER] - 1))
        elif what := _wrong(db, row, prev_hash):
            problems.append(f"entry {row[_NUMBER]}: {what}")
        number, prev_hash = row[_NUMBER], row[_HASH]
    head = db.execute("SELECT number, hash FROM head").fetchone()
    if head is None:
        return [*problems, "the record of where the log ends is missing"]
    if head[0] != number:
        cut = isinstance(head[0], int) and head[0] > number
        problems.append(
            f"{_missing(number + 1, head[0])}: the end was cut off" if cut else f"entry {number}: it was added after the log's end"
        )
    elif head[1] != prev_hash:
        problems.append(f"entry {number}: it is not the one that the log ended with")
    return problems


def _wrong(db: sqlite3.Connection, row: tuple[Any, ...], prev_hash: str) -> str:
    number = row[_NUMBER]
    if row[_PREV_HASH] != prev_hash:
        other = _number_of(db, row[_PREV_HASH])
        if other:
            return f"it is in the wrong place: it was written after what is now entry {other}, so entries were reordered"
        return f"it is not bound to entry {number - 1}: one of the two was replaced"
    if link_hash(row[:_HASH]) != row[_HASH]:
        return "it does not match its hash: one of its columns was changed"
    return ""


def _number_of(db: sqlite3.Connection, hash: object) -> int:
    """Return the number of the entry with this hash, 0 where there is none."""
    if not isinstance(hash, str) or not hash.isascii():
        return 0
    row = db.execute("SELECT number FROM entries WHERE hash = ?", (hash,)).fetchone()
    return row[0] if row else 0


def _misnamed(db: sqlite3.Connection) -> list[str]:
    """Return the entries whose ids the index of ids lists wrongly."""
    held = ((number, id) for number, ids in db.execute("SELECT number, ids FROM entries ORDER BY number") for id in sorted(set(_ids(ids))))
    named = db.execute("SELECT number, id FROM named ORDER BY number, id")
    wrong = (number for (number, _), both in groupby(merge(held, named)) if len(list(both)) != 2)
    return [f"entry {number}: the index of ids does not agree with it" for number, _ in islice(groupby(wrong), _MOST)]


def _ids(text: Any) -> list[str]:
    try:
        return texts(json.loads(text))
    except (TypeError, ValueError, RecursionError):
        return []


def _undone(db: sqlite3.Connection) -> list[str]:
    return [
        f"entry {number}: what is to be done for it was changed"
        for number, todo, todo_hash in db.execute(_TO_CHECK)
        if not isinstance(todo, str) or hash_of_text(todo) != todo_hash
    ]


def _guarded(db: sqlite3.Connection) -> list[str]:
    triggers = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    return [f"entries can be changed: the trigger {name} is missing" for name in sorted(_GUARDS - triggers)]


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"
