"""The tables of the log, what binds an entry to the one before it, and whether it is still what was written."""

from __future__ import annotations

import hashlib
import json
from heapq import merge
from itertools import groupby, islice
from typing import TYPE_CHECKING

from hooks.utils.io.sqlite_file import FIRST_PREV_HASH, AsWritten, Schema, link_hash

from .errors import one_line

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

APPLICATION_ID = 0x506F7047  # "PopG"
# What an entry's hash is of, in this order: all of its columns but the hash itself.
HASHED = ("prev_hash", "number", "at", "by", "action", "domain", "ids", "details", "todo_hash")

_ENTRIES = """
CREATE TABLE entries (
  number INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  by TEXT NOT NULL,
  action TEXT NOT NULL,
  domain TEXT NOT NULL,
  ids TEXT NOT NULL,
  details TEXT NOT NULL,
  todo_hash TEXT NOT NULL,
  prev_hash TEXT NOT NULL,
  hash TEXT NOT NULL
)
"""
# How long the log is and how it ends, apart from its entries: so that a tail that was cut off is missed.
_HEAD = "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL)"
_NAMED = "CREATE TABLE named (id TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (id, number)) WITHOUT ROWID"
# What is still to be done; a row goes when it is.
_TODO = "CREATE TABLE todo (number INTEGER PRIMARY KEY, todo TEXT NOT NULL)"
# `INSERT OR REPLACE` deletes without asking a trigger for deletes.
_NO_INSERT = """
CREATE TRIGGER {table}_grow_at_the_end BEFORE INSERT ON {table} WHEN NEW.number <= (SELECT number FROM head)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END
"""
_NO_CHANGE = "CREATE TRIGGER {table}_no_{word} BEFORE {word} ON {table} BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
_TRIGGERS = tuple(
    statement.format(table=table, word=word)
    for table in ("entries", "named")
    for statement, word in ((_NO_INSERT, ""), (_NO_CHANGE, "update"), (_NO_CHANGE, "delete"))
)

MIGRATIONS = (
    (
        "entries, and what is still to be done",
        (
            _ENTRIES,
            "CREATE INDEX entries_of_domain ON entries (domain, number)",
            "CREATE INDEX entries_of_action ON entries (action, number)",
            _HEAD,
            f"INSERT INTO head VALUES (1, 0, '{FIRST_PREV_HASH}')",  # noqa: S608  a constant of ours
            _NAMED,
            _TODO,
            *_TRIGGERS,
        ),
    ),
)
SCHEMA = Schema("retention log", APPLICATION_ID, MIGRATIONS, remedy="a new log begins; policies, holds and marks stay as they are")


def hash_of_text(text: str) -> str:
    """Return the SHA-256 of what is to be done; "" where nothing is."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""


# --- is the log what was written? ----------------------------------------------------------------------------------------------------

# More would only say the same again.
_MOST = 20
_ROWS = f"SELECT {', '.join(HASHED)}, hash FROM entries ORDER BY number"  # noqa: S608  names of our own columns
_PREV_HASH, _NUMBER, _HASH = HASHED.index("prev_hash"), HASHED.index("number"), len(HASHED)
_TO_CHECK = "SELECT t.number, t.todo, e.todo_hash FROM todo t LEFT JOIN entries e ON e.number = t.number ORDER BY t.number"
_GUARDS = {step.split()[2] for _, steps in SCHEMA.migrations for step in steps if isinstance(step, str) and "TRIGGER" in step}


def problems(db: Connection) -> list[str]:
    """Return what is wrong with the log, the first broken entry first, at most twenty things."""
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
            return f"it is in the wrong place: it was written after what is now entry {other}, so entries were reordered"
        return f"it is not bound to entry {number - 1}: one of the two was replaced"
    if link_hash(row[:_HASH]) != row[_HASH]:
        return "it does not match its hash: one of its columns was changed"
    return ""


def _number_of(db: Connection, hash: object) -> int:
    """Return the number of the entry with this hash, 0 where there is none."""
    if not isinstance(hash, str) or not hash.isascii():
        return 0
    found = db.execute("SELECT number FROM entries WHERE hash = ?", (hash,)).fetchone()
    return found[0] if found else 0


def _misnamed(db: Connection) -> list[str]:
    """Return which entries are not found by the ids that they hold, or by others."""
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
        for number, todo, todo_hash in db.execute(_TO_CHECK)
        if not isinstance(todo, str) or hash_of_text(todo) != todo_hash
    ]


def _guarded(db: Connection) -> list[str]:
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    return [f"entries can be changed: the trigger {name} is missing" for name in sorted(_GUARDS - there)]


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"
