"""A SQLite file of ours: opened privately, its tables made and brought up to date, its transactions.

A store is a `Schema`: what it is called, by what its file is known, and the ordered list of its migrations. `sqlite3` is loaded when a
file is opened.
"""

from __future__ import annotations

from . import files
from .system import absolute

BUSY_S = 5.0  # how long a process waits for another one's transaction
_APPLIED = "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"


class StoreError(Exception):
    """The store cannot be used; the message says why, and what to do."""


class StoreTooNew(StoreError):
    """A later version of PopKit has written it."""


class StoreDamaged(StoreError):
    """The file is no such store, or no longer."""


class Schema:
    """A kind of store. `name` as a message calls it ("archive"); `application_id` stands in the head of its file; `migrations` are
    (name, steps), each step a statement or a function of the connection, which lead from one version of the tables to the next: what has
    been released is never edited. `anew` says what makes a new one where the file is damaged."""

    __slots__ = ("anew", "application_id", "migrations", "name")

    def __init__(self, name: str, application_id: int, migrations: tuple, anew: str = "a new one is made"):
        self.name = name
        self.application_id = application_id
        self.migrations = migrations
        self.anew = anew


class Transaction:
    """All or nothing, with the write lock held from the first read on. Within a transaction that the caller has begun it is a part of
    that one."""

    __slots__ = ("db", "joined")

    def __init__(self, db):
        self.db = db
        self.joined = db.in_transaction

    def __enter__(self) -> None:
        if not self.joined:
            self.db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind, *_exc) -> None:
        if self.joined:
            return
        try:
            if kind is None:
                self.db.execute("COMMIT")
        finally:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")


def open_store(path: str, schema: Schema, create: bool = True, busy_s: float = BUSY_S):
    """A connection to a store, its tables up to date; it commits by itself outside of a `Transaction`, and waits `busy_s` seconds for
    that of another process.

    FileNotFoundError where there is none and none is to be made, OSError for what is no regular file, StoreTooNew, StoreDamaged;
    other errors of sqlite3 (a full disk, a lock that is never given up) as they are.
    """
    import sqlite3

    path = absolute(path)
    files.make_private_file(path, create)
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # `mode=rw`: a file that has just gone is not made again with the rights of the umask.
    db = sqlite3.connect("file://" + escaped + "?mode=rw", timeout=busy_s, isolation_level=None, uri=True)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        migrate(db, schema, path)
    except sqlite3.DatabaseError as error:
        db.close()
        # What is only busy, full or not to be written is an OperationalError.
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise StoreDamaged(f"{path}: {error}. Move it away, and {schema.anew}; sqlite3's .recover may save more") from None
    except BaseException:
        db.close()
        raise
    return db


def migrate(db, schema: Schema, where: str = "") -> None:
    """Brings the tables up to date, one transaction for each version; several processes may do so at once. Which migration was applied
    when stays in the table `migrations`."""
    import time

    where = where or "the " + schema.name
    if _version(db, schema, where) == len(schema.migrations):
        return
    for number, (name, steps) in enumerate(schema.migrations, 1):
        with Transaction(db):
            if _version(db, schema, where) >= number:
                continue
            for step in steps:
                if isinstance(step, str):
                    db.execute(step)
                else:
                    step(db)
            db.execute(_APPLIED)
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            db.execute("INSERT OR REPLACE INTO migrations VALUES (?, ?, ?)", (number, name, at))
            db.execute(f"PRAGMA application_id = {schema.application_id:d}")
            db.execute(f"PRAGMA user_version = {number:d}")


def applied(db) -> list:
    """[(version, name, when)] of the migrations that were applied since their names are kept, oldest first."""
    if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'migrations'").fetchone()[0]:
        return []
    return db.execute("SELECT version, name, applied_at FROM migrations ORDER BY version").fetchall()


def _version(db, schema: Schema, where: str) -> int:
    """The version of the tables, 0 for an empty file."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    ours = db.execute("PRAGMA application_id").fetchone()[0] == schema.application_id
    if not ours and (version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]):
        raise StoreDamaged(f"{where}: is a database of another program. Move it away, and {schema.anew}")
    if version > len(schema.migrations):
        raise StoreTooNew(
            f"{where}: was written by a later PopKit (tables of version {version}; this one knows {len(schema.migrations)}). Update PopKit"
        )
    return version
