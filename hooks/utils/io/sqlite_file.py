"""A SQLite file of ours, opened privately, with its tables brought up to date.

A store is a `Schema`: its name, the id of its file, and the ordered list of its migrations. `sqlite3` is loaded when a file is opened.
"""

from __future__ import annotations

import time

from ..errors import PopkitError
from . import files, volatile
from .system import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Union

    Migration = tuple[str, tuple[Union[str, Callable[[Connection], None]], ...]]

BUSY_S = 5.0  # how long a process waits for another one's transaction
MEMORY = ":memory:"  # SQLite's name for a database without a file
_DAMAGE_CODES = (11, 26)  # SQLITE_CORRUPT, SQLITE_NOTADB
_DAMAGE_SIGNS = ("malformed", "not a database", "Could not decode")  # the last is a text that is none
_BESIDE = ("-journal", "-wal", "-shm")  # what SQLite keeps beside a database
_APPLIED = "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"


class StoreError(PopkitError):
    """The store cannot be used; the message says why, and what to do about it."""


class StoreTooNew(StoreError):
    """A later version of PopKit has written it."""


class StoreDamaged(StoreError):
    """The file is not such a store, or no longer one."""


class Schema:
    """A kind of store. `name` as a message calls it ("archive"); `application_id` is in the head of its file; `migrations` are
    (name, steps), each step a statement or a function of the connection, which lead from one version of the tables to the next: what has
    been released is never edited. `remedy` says what replaces a damaged file. `triggers`: the statements of those that
    the migrations make, beside which a file may hold none."""

    __slots__ = ("application_id", "migrations", "name", "remedy", "triggers")

    def __init__(self, name: str, application_id: int, migrations: tuple[Migration, ...], remedy: str = "a new one is made"):
        self.name = name
        self.application_id = application_id
        self.migrations = migrations
        self.remedy = remedy
        steps = [_words(step) for _, steps in migrations for step in steps if isinstance(step, str)]
        self.triggers = {step for step in steps if step.startswith("CREATE TRIGGER ")}


class Transaction:
    """All or nothing, with the write lock held from the first read on. Within a transaction that the caller has begun it is a part of
    that one. A hook waits for those of others as long as it has patience left (`files.patience`), whatever the store was opened for."""

    __slots__ = ("db", "joined")

    def __init__(self, db: Connection):
        self.db = db
        self.joined = db.in_transaction

    def __enter__(self) -> None:
        if not self.joined:
            _patiently(self.db, "BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        if self.joined:
            return
        try:
            if kind is None:
                _patiently(self.db, "COMMIT")
        finally:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")


def _patiently(db: Connection, statement: str) -> None:
    """Execute a statement that may have to wait for another process."""
    if files.patience.left_s == float("inf"):
        db.execute(statement)
        return
    db.execute(f"PRAGMA busy_timeout = {round(files.patience.next_s() * 1000):d}")
    began = time.monotonic()
    try:
        db.execute(statement)
    finally:
        files.patience.spend_since(began)


def open_store(path: str, schema: Schema, create: bool = True, busy_s: float = BUSY_S, any_thread: bool = False) -> Connection:
    """Open a store, its tables up to date; it commits by itself outside of a `Transaction`, and waits `busy_s` seconds for that of another
    process. `any_thread`: other threads than this one use it, too, one at a time.

    FileNotFoundError where there is none and none is to be made; OSError for anything else than a regular file in its place, or where
    SQLite keeps its own beside it; StoreTooNew, StoreDamaged; other errors of sqlite3 (a full disk, a lock that is never released) as they
    are."""
    import sqlite3

    path = absolute(path)
    files.make_private_file(path, create)
    for beside in _BESIDE:
        _check_file(path + beside)
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # `mode=rw`: a file that was just deleted is not made again with the rights of the umask.
    uri = "file://" + escaped + "?mode=rw"
    db = sqlite3.connect(uri, timeout=busy_s, isolation_level=None, uri=True, check_same_thread=not any_thread)
    try:
        if volatile.is_below(path):
            db.execute("PRAGMA temp_store = MEMORY")  # not in files of the system's temporary folder
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA trusted_schema = OFF")  # the schema of the file may not call functions with effects
        migrate(db, schema, path)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a corrupt schema is quoted in a message that is not text
        db.close()
        # A busy or full store, or one that cannot be written, is an OperationalError.
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise StoreDamaged(f"{path}: {error}. Move it away, and {schema.remedy}; sqlite3's .recover may save more") from None
    except BaseException:
        db.close()
        raise
    return db


def open_in_memory(schema: Schema) -> Connection:
    """Open a store that ends with its connection, for any thread, one at a time."""
    import sqlite3

    db = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA foreign_keys = ON")
    migrate(db, schema)
    return db


def is_damage(error: Exception) -> bool:
    """Return whether an error of SQLite says that a file is corrupt, or no database."""
    code = getattr(error, "sqlite_errorcode", None)  # since Python 3.11
    if code is not None:
        return code & 0xFF in _DAMAGE_CODES
    return any(sign in str(error) for sign in _DAMAGE_SIGNS)


def _check_file(path: str) -> None:
    """Raise OSError for anything else than a file: SQLite opens what it finds, and a pipe would block for ever."""
    try:
        files.make_private_file(path, create=False)
    except FileNotFoundError:
        return


def migrate(db: Connection, schema: Schema, where: str = "") -> None:
    """Bring the tables up to date, one transaction for each version; several processes may do so at once. Which migration was applied when
    stays in the table `migrations`."""
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


def _words(statement: str) -> str:
    """Return a statement with its words one space apart."""
    return " ".join(statement.split())


def _version(db: Connection, schema: Schema, where: str) -> int:
    """Return the version of the tables, 0 for an empty file."""
    alone = not db.in_transaction
    if alone:
        db.execute("BEGIN")  # another process may be making the tables: all three have to be of one moment
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        ours = db.execute("PRAGMA application_id").fetchone()[0] == schema.application_id
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        objects = db.execute("SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')")
        programs = [name for name, statement in objects if _words(str(statement)) not in schema.triggers]
    finally:
        if alone:
            db.execute("ROLLBACK")
    if not ours and (version or tables):
        raise StoreDamaged(f"{where}: belongs to another program. Move it away, and {schema.remedy}")
    if programs and version <= len(schema.migrations):
        strange = min(programs, key=str)
        raise StoreDamaged(
            f"{where}: holds {strange!r:.40}, a trigger or view that PopKit did not make, which could change what is kept. Move it away, "
            f"and {schema.remedy}"
        )
    if version > len(schema.migrations):
        raise StoreTooNew(
            f"{where}: was written by a later PopKit (tables of version {version}; this one knows {len(schema.migrations)}). Update PopKit"
        )
    return version
