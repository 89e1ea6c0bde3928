"""The tables of the log of retention, which refuse every change of an entry."""

from __future__ import annotations

import hashlib

from popkit_retention.core.io.row_chain import FIRST_PREV_HASH
from popkit_retention.core.io.sqlite_file import Schema

APPLICATION_ID = 0x506F7047  # "PopG"
# The columns that an entry's hash covers, in this order: all but the hash itself.
HASHED = ("prev_hash", "number", "at", "by", "action", "domain", "ids", "details", "todo_hash")

_ENTRIES = """
CREATE TABLE entries (
  number INTEGER PRIMARY KEY, at REAL NOT NULL, by TEXT NOT NULL, action TEXT NOT NULL, domain TEXT NOT NULL, ids TEXT NOT NULL,
  details TEXT NOT NULL, todo_hash TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL
)
"""
# The length and the last hash of the log, apart from its entries, so that a tail that was cut off is noticed.
_HEAD = "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL)"
_NAMED = "CREATE TABLE named (id TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (id, number)) WITHOUT ROWID"
# Todos of entries; a row is deleted when it is done.
_TODO = "CREATE TABLE todo (number INTEGER PRIMARY KEY, todo TEXT NOT NULL)"
# `INSERT OR REPLACE` deletes without firing a trigger for deletes.
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

_TABLES = (
    _ENTRIES,
    "CREATE INDEX entries_of_domain ON entries (domain, number)",
    "CREATE INDEX entries_of_action ON entries (action, number)",
    _HEAD,
    f"INSERT INTO head VALUES (1, 0, '{FIRST_PREV_HASH}')",  # noqa: S608  a constant of ours
    _NAMED,
    _TODO,
    *_TRIGGERS,
)
MIGRATIONS = (("entries, and what is still to be done", _TABLES),)
SCHEMA = Schema("retention log", APPLICATION_ID, MIGRATIONS, remedy="a new log is started; policies, holds and marks are kept")


def hash_of_text(text: str) -> str:
    """Return the SHA-256 of an entry's todo; "" for none."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""
