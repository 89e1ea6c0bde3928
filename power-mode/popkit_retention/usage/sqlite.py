"""Usage in a SQLite file of our folder, which is ours alone. A connection for each transaction: threads and forked processes share nothing.

Times are seconds since 1970. Beside usage and snapshots, `files` tells how far each file was read, and `unsent` which requests a shared
database has yet to be told of.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from hooks.utils.edges.sqlite_file import Schema, StoreError, StoreTooNew, Transaction, open_store

from . import earlier
from .store import DatabaseTooNew, DatabaseUnavailable, NotWritable, Statements, UsageStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILE = "usage.sqlite"  # in our folder
WORDS = "SQLite on this machine"
PATIENCE_S = 5.0  # for another process's transaction
APPLICATION_ID = 0x506B5573  # "PkUs"
# What was to be written is wrong, whatever becomes of the database.
_WRONG = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError, OverflowError)
_TABLES = (
    """CREATE TABLE context_snapshots (
      id TEXT NOT NULL PRIMARY KEY, session_id TEXT NOT NULL, user_id TEXT NOT NULL, tier_breakdown TEXT NOT NULL,
      total_tokens INTEGER NOT NULL, budget_percent REAL NOT NULL, pruning_strategy TEXT NOT NULL, created_at REAL NOT NULL,
      budget_remaining_percent REAL NOT NULL, full_tokens INTEGER NOT NULL, model TEXT NOT NULL, project TEXT NOT NULL,
      agent TEXT NOT NULL, counted TEXT NOT NULL
    )""",
    "CREATE INDEX idx_context_snapshots_session ON context_snapshots (session_id)",
    "CREATE INDEX idx_context_snapshots_user ON context_snapshots (user_id)",
    "CREATE INDEX idx_context_snapshots_created ON context_snapshots (created_at DESC)",
    "CREATE INDEX idx_context_snapshots_newest ON context_snapshots (session_id, created_at DESC)",
    """CREATE TABLE context_usage (
      source TEXT NOT NULL, request_id TEXT NOT NULL, session_id TEXT NOT NULL, user_id TEXT NOT NULL, project TEXT NOT NULL,
      model TEXT NOT NULL, at REAL NOT NULL, day TEXT NOT NULL, input_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
      cache_write_5m_tokens INTEGER NOT NULL, cache_write_1h_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, usd REAL,
      PRIMARY KEY (source, request_id)
    )""",
    "CREATE INDEX idx_context_usage_session ON context_usage (session_id)",
    "CREATE INDEX idx_context_usage_user ON context_usage (user_id, day)",
    "CREATE INDEX idx_context_usage_day ON context_usage (day)",
    """CREATE TABLE files (
      path TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL, read INTEGER NOT NULL, seal TEXT NOT NULL
    )""",
    # A number is never given twice: a request that was booked anew while it was being sent has another one afterwards.
    """CREATE TABLE unsent (
      number INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, request_id TEXT NOT NULL, UNIQUE (source, request_id)
    )""",
    "CREATE TABLE server (name TEXT NOT NULL, since TEXT NOT NULL)",
)
SCHEMA = Schema("usage", APPLICATION_ID, (("usage and snapshots", _TABLES),), anew="usage is read from your transcripts anew")


class SqliteStore(UsageStore):
    """The store in a file. `create`: whether it is made where there is none. DatabaseUnavailable; FileNotFoundError without `create`, where
    there is none. A `context.sqlite` of an earlier PopKit beside it is taken in first, whenever there is one."""

    words = WORDS
    shared = False
    time, seconds = ":{}", "{}"

    def __init__(self, path: str, create: bool = True) -> None:
        self.path = path
        with self._speaking(), closing(self._open(create or earlier.is_there(path))):
            pass  # its tables are up to date

    @contextmanager
    def writing(self) -> Iterator[_Statements]:
        with self._speaking(), closing(self._open()) as db, Transaction(db):
            yield _Statements(db)

    @contextmanager
    def reading(self) -> Iterator[_Statements]:
        with self._speaking(), closing(self._open()) as db:
            db.execute("BEGIN")
            yield _Statements(db)

    def _open(self, create: bool = True) -> sqlite3.Connection:
        db = open_store(self.path, SCHEMA, create, PATIENCE_S)
        try:
            earlier.take_in(db, self.path)
        except BaseException:
            db.close()
            raise
        return db

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Say what SQLite raises."""
        try:
            yield
        except FileNotFoundError:
            raise
        except _WRONG as error:
            raise NotWritable(f"{WORDS} does not take what was to be written ({type(error).__name__})") from None
        except StoreError as error:
            kind = DatabaseTooNew if isinstance(error, StoreTooNew) else DatabaseUnavailable
            raise kind(str(error)) from None
        except sqlite3.Error as error:
            raise DatabaseUnavailable(f"{self.path} cannot be used: {error}. {_advice_for(str(error))}") from None
        except OSError as error:
            raise DatabaseUnavailable(f"{self.path} cannot be used: {error.strerror or error}. Move it away, or set POPKIT_HOME") from None


def _advice_for(said: str) -> str:
    """Return what to do about an error of SQLite, by its words."""
    if "locked" in said or "busy" in said:
        return f"Another process has kept it busy for {PATIENCE_S:.0f} s. Try again when that is done"
    if "full" in said:
        return "Free some space, then try again"
    return "Check that it can be written to; if it is damaged, move it away, and usage is read from your transcripts anew"


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
