"""The tables of the memory in SQLite, version by version, and items as their rows."""

from __future__ import annotations

import json
import sqlite3
import struct
from typing import TYPE_CHECKING, Any

from hooks.utils.edges.sqlite_file import Schema
from hooks.utils.policy.estimate import estimate_tokens

from ..items import ACCESSES_KEPT, DIMENSIONS, Item
from .checks import FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

APPLICATION_ID = 0x506F704D  # "PopM"

# In the order of ids, in which they are walked through and changed; `seq` is the item's number in the index of words.
_ITEMS = """
CREATE TABLE items (
  id TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  profile TEXT NOT NULL,
  source TEXT NOT NULL,
  confidence REAL NOT NULL,
  episode TEXT NOT NULL,
  place INTEGER NOT NULL,
  speaker TEXT NOT NULL,
  created_at REAL NOT NULL,
  writes INTEGER NOT NULL,
  sessions INTEGER NOT NULL,
  access_count INTEGER NOT NULL,
  last_accessed REAL NOT NULL,
  accesses TEXT NOT NULL,
  reinforcements INTEGER NOT NULL,
  session INTEGER NOT NULL,
  tier TEXT NOT NULL,
  previous_tier TEXT NOT NULL,
  tier_since REAL NOT NULL,
  tier_score REAL NOT NULL,
  level TEXT NOT NULL,
  original INTEGER NOT NULL DEFAULT 0,
  uniqueness REAL NOT NULL,
  score REAL NOT NULL,
  retention REAL NOT NULL,
  held INTEGER NOT NULL,
  was_held INTEGER NOT NULL,
  key INTEGER NOT NULL,
  marked_at REAL,
  marked_by TEXT NOT NULL,
  details TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  seq INTEGER NOT NULL UNIQUE
) WITHOUT ROWID
"""
# Beside the items, so that reading those does not walk through them.
_EMBEDDINGS = "CREATE TABLE embeddings (id TEXT PRIMARY KEY REFERENCES items ON DELETE CASCADE, numbers BLOB NOT NULL)"
_ORIGINALS = """
CREATE TABLE originals (
  id TEXT PRIMARY KEY REFERENCES items ON DELETE CASCADE,
  hash TEXT NOT NULL,
  content BLOB NOT NULL
)
"""
# A term of a project has a number, which stands for it in the index: what the tokenizer of SQLite takes for a word is then no matter.
_WORDS = """
CREATE TABLE words (
  number INTEGER PRIMARY KEY,
  term TEXT NOT NULL,
  project TEXT NOT NULL,
  items INTEGER NOT NULL,
  UNIQUE (term, project)
)
"""
_EXTENTS = "CREATE TABLE extents (project TEXT PRIMARY KEY, items INTEGER NOT NULL, length INTEGER NOT NULL) WITHOUT ROWID"
_FOUND = "CREATE VIRTUAL TABLE found USING fts5 (words, length UNINDEXED, detail = none, columnsize = 0, tokenize = ascii)"

MIGRATIONS = (
    (
        "items, and what is kept with them",
        (
            _ITEMS,
            "CREATE INDEX items_of_project ON items (project, id)",
            "CREATE INDEX items_at_place ON items (episode, place, id) WHERE episode <> ''",
            _EMBEDDINGS,
            _ORIGINALS,
            "CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            "CREATE TABLE log (seq INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL, entry TEXT NOT NULL)",
            "CREATE INDEX log_of_item ON log (item, seq)",
        ),
    ),
    ("what they are found by", (_WORDS, _EXTENTS, _FOUND)),
)
SCHEMA = Schema("memory", APPLICATION_ID, MIGRATIONS, anew="memory begins anew; popkit memory import takes in what was exported before")

COLUMNS = tuple(name for name in FIELDS if name != "embedding")
_READ = ", ".join("e.numbers" if name == "embedding" else "i." + name for name in FIELDS)
ITEMS = f"SELECT {_READ} FROM items i LEFT JOIN embeddings e ON e.id = i.id "  # noqa: S608  names of our own columns
BARE_ITEMS = f"SELECT {', '.join('NULL' if name == 'embedding' else 'i.' + name for name in FIELDS)} FROM items i "  # noqa: S608
ADD = f"INSERT INTO items ({', '.join(COLUMNS)}, tokens, seq) VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"  # noqa: S608
_AT = {name: at for at, name in enumerate(FIELDS)}
_ACCESSES, _DETAILS, _EMBEDDING = _AT["accesses"], _AT["details"], _AT["embedding"]
_ORIGINAL = _AT["original"]
_BOOLS = [_AT[name] for name in ("original", "held", "was_held", "key")]
_SINGLE, _DOUBLE = f"<{DIMENSIONS}f", f"<{DIMENSIONS}d"


def item_of(row: Sequence[object]) -> Item:
    """An item from a row of `ITEMS`; sqlite3.DatabaseError for one that somebody has spoilt."""
    values: list = list(row)
    try:
        values[_ACCESSES] = json.loads(values[_ACCESSES]) if values[_ACCESSES] != "[]" else []
        values[_DETAILS] = json.loads(values[_DETAILS]) if values[_DETAILS] != "{}" else {}
        if values[_EMBEDDING] is not None:
            values[_EMBEDDING] = numbers_of(values[_EMBEDDING])
    except (TypeError, ValueError, struct.error) as error:
        raise sqlite3.DatabaseError(f"the item {values[0]!r:.40} is malformed: {error}") from None
    for at in _BOOLS:
        values[at] = bool(values[at])
    return Item(*values)


def json_of(written: str, name: str) -> Any:
    """A JSON value that was kept; sqlite3.DatabaseError for one that somebody has spoilt."""
    try:
        return json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"what is kept as {name!r:.40} is malformed: {error}") from None


def row_of(item: Item, seq: int) -> list[object]:
    """What `ADD` binds. A new item has no original yet."""
    values = [getattr(item, name) for name in COLUMNS]
    values[_ACCESSES] = json.dumps(sorted(item.accesses)[-ACCESSES_KEPT:]) if item.accesses else "[]"
    values[_DETAILS - 1] = json.dumps(item.details) if item.details else "{}"
    values[_ORIGINAL] = False
    return [*values, estimate_tokens(item.text), seq]


def blob_of(numbers: Sequence[float]) -> bytes:
    """An embedding as bytes: in single precision where nothing is lost by it."""
    try:
        single = struct.pack(_SINGLE, *numbers)
    except OverflowError:  # larger than a single can be
        return struct.pack(_DOUBLE, *numbers)
    return single if struct.unpack(_SINGLE, single) == tuple(numbers) else struct.pack(_DOUBLE, *numbers)


def numbers_of(blob: bytes) -> list[float]:
    """The embedding of such bytes."""
    return list(struct.unpack(_SINGLE if len(blob) == struct.calcsize(_SINGLE) else _DOUBLE, blob))
