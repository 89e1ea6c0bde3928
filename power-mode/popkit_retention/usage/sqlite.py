"""Usage in a SQLite file of our folder. Each transaction has a connection of its own: threads and forked processes share nothing.

Times are seconds since 1970. Beside usage and snapshots, `files` holds how far each file was read, and `unsent` the requests that are yet
to be sent to a shared database.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import Any

from popkit_retention.core.io.sqlite_file import Schema, StoreError, StoreTooNew, Transaction, open_store

from .old_file import _import_old_file, has_old_file
from .usage_store import INDEXES, DatabaseSilent, DatabaseTooNew, DatabaseUnavailable, NotWritable, Statements, UsageStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILE = "usage.sqlite"  # in our folder
WORDS = "SQLite on this machine"
PATIENCE_S = 5.0  # for another process's transaction
APPLICATION_ID = 0x506B5573  # "PkUs"
# Errors of the rows, not of the database.
_WRONG = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError, OverflowError)
_TABLES = (
    """CREATE TABLE context_snapshots (
      id TEXT NOT NULL PRIMARY KEY, session_id TEXT NOT NULL, user_id TEXT NOT NULL, tier_breakdown TEXT NOT NULL,
      total_tokens INTEGER NOT NULL, budget_percent REAL NOT NULL, pruning_strategy TEXT NOT NULL, created_at REAL NOT NULL,
      budget_remaining_percent REAL NOT NULL, full_tokens INTEGER NOT NULL, model TEXT NOT NULL, project TEXT NOT NULL,
      agent TEXT NOT NULL, counted TEXT NOT NULL
    )""",
    """CREATE TABLE context_usage (
      source TEXT NOT NULL, request_id TEXT NOT NULL, session_id TEXT NOT NULL, user_id TEXT NOT NULL, project TEXT NOT NULL,
      model TEXT NOT NULL, at REAL NOT NULL, day TEXT NOT NULL, input_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
      cache_write_5m_tokens INTEGER NOT NULL, cache_write_1h_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, usd REAL,
      PRIMARY KEY (source, request_id)
    )""",
    """CREATE TABLE files (
      path TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL, read INTEGER NOT NULL, seal TEXT NOT NULL
    )""",
    # A number is never reused: a request that is recorded again while it is being sent gets another one.
    """CREATE TABLE unsent (
      number INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, request_id TEXT NOT NULL, UNIQUE (source, request_id)
    )""",
    "CREATE TABLE server (name TEXT NOT NULL, since TEXT NOT NULL)",
    *INDEXES,
)
SCHEMA = Schema("usage", APPLICATION_ID, (("usage and snapshots", _TABLES),), remedy="usage is read from your transcripts again")


class SqliteStore(UsageStore):
    """The store in a file. `create`: whether a missing file is created. DatabaseUnavailable; FileNotFoundError without `create`, where
    there is none."""

    words = WORDS
    shared = False
    time, seconds = ":{}", "{}"

    def __init__(self, path: str, create: bool = True) -> None:
        self.path = path
        with self._translated_errors(), closing(self._open(create or has_old_file(path))):
            pass  # its tables are up to date

    @contextmanager
    def writing(self) -> Iterator[_Statements]:
        with self._translated_errors(), closing(self._open()) as db, Transaction(db):
            yield _Statements(db)

    @contextmanager
    def reading(self) -> Iterator[_Statements]:
        with self._translated_errors(), closing(self._open()) as db:
            db.execute("BEGIN")
            yield _Statements(db)

    def _open(self, create: bool = True) -> sqlite3.Connection:
        db = open_store(self.path, SCHEMA, create, PATIENCE_S)
        try:
            _import_old_file(db, self.path)
        except BaseException:
            db.close()
            raise
        return db

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raise errors of SQLite as ours."""
        try:
            yield
        except FileNotFoundError:
            raise
        except _WRONG as error:
            raise NotWritable(f"{WORDS} does not accept these rows ({type(error).__name__})") from None
        except StoreError as error:
            raise (DatabaseTooNew if isinstance(error, StoreTooNew) else DatabaseUnavailable)(str(error)) from None
        except sqlite3.Error as error:
            kind = DatabaseSilent if _is_busy(str(error)) else DatabaseUnavailable
            raise kind(f"{self.path} cannot be used: {error}. {_advice_for(str(error))}") from None
        except OSError as error:
            raise DatabaseUnavailable(f"{self.path} cannot be used: {error.strerror or error}. Move it away, or set POPKIT_HOME") from None


def _advice_for(message: str) -> str:
    """Return what to do about an error of SQLite, by its message."""
    if _is_busy(message):
        return f"Another process has kept it busy for {PATIENCE_S:.0f} s. Try again when that is done"
    if "full" in message:
        return "Free some space, then try again"
    return "Check that it can be written to; if it is damaged, move it away, and usage is read from your transcripts again"


def _is_busy(message: str) -> bool:
    return "locked" in message or "busy" in message


class _Statements(Statements):
    """A transaction of SQLite."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def ask(self, statement: str, **values: object) -> list[Any]:
        return self._db.execute(statement, values).fetchall()

    def change(self, statement: str, **values: object) -> int:
        return self._db.execute(statement, values).rowcount

    def insert(self, head: str, row: str, tail: str, rows: Sequence[Mapping[str, object]]) -> None:
        self._db.executemany(f"{head} {row} {tail}", rows)
