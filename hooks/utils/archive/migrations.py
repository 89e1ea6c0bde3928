"""The archive's file: opened privately, its tables made and brought up to date, its transactions."""

from __future__ import annotations

import os
import stat

BUSY_S = 5.0  # how long a process waits for another one's transaction
APPLICATION_ID = 0x506F704B  # "PopK", in the head of the file

_RECORDS = """
CREATE TABLE thought_records (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  task_id TEXT NOT NULL REFERENCES chains (task_id),
  agent_id TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  prev_hash TEXT NOT NULL,
  hash TEXT NOT NULL,
  created_at TEXT NOT NULL,
  place INTEGER NOT NULL,
  tool_use_id TEXT NOT NULL,
  label TEXT NOT NULL,
  subjects TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  size INTEGER NOT NULL,
  source TEXT,
  zone TEXT,
  content_hash TEXT NOT NULL,
  content_compressed BLOB,
  content TEXT,
  UNIQUE (task_id, place)
)
"""
_CHAINS = """
CREATE TABLE chains (
  task_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  project TEXT NOT NULL,
  transcript TEXT NOT NULL,
  length INTEGER NOT NULL DEFAULT 0,
  head TEXT NOT NULL
)
"""
_CLEARS = """
CREATE TABLE clears (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id TEXT NOT NULL REFERENCES chains (task_id),
  at REAL NOT NULL,
  undone_at REAL
)
"""
_CLEARED = """
CREATE TABLE cleared (
  clear_id INTEGER NOT NULL REFERENCES clears (id),
  record_id TEXT NOT NULL REFERENCES thought_records (id),
  PRIMARY KEY (clear_id, record_id)
) WITHOUT ROWID
"""
# Statements that lead from one version of the tables to the next; what has been released is never edited. Contents stand last in a
# row, so that reading the rest of it does not walk through them.
MIGRATIONS = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        _CHAINS,
        "CREATE INDEX chains_of_session ON chains (session_id)",
        _RECORDS,
        "CREATE INDEX records_of_tool_use ON thought_records (tool_use_id)",
    ),
    (
        _CLEARS,
        "CREATE INDEX clears_of_chain ON clears (task_id)",
        _CLEARED,
        "CREATE INDEX clears_of_record ON cleared (record_id)",
    ),
)


class ArchiveError(Exception):
    """The archive cannot be used; the message says why, and what to do."""


class ArchiveTooNew(ArchiveError):
    """A later version of PopKit has written it."""


class ArchiveDamaged(ArchiveError):
    """The file is no archive, or no longer."""


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


def open_archive(path: str, create: bool = True, busy_s: float = BUSY_S):
    """A connection to the archive, its tables up to date; it commits by itself outside of a `Transaction`, and waits `busy_s` for another
    process's.

    FileNotFoundError where there is none and none is to be made, OSError for what is no regular file, ArchiveTooNew, ArchiveDamaged;
    other errors of sqlite3 (a full disk, a lock that is never given up) as they are.
    """
    import sqlite3

    path = os.path.abspath(path)
    _make_private(path, create)
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # `mode=rw`: a file that has just gone is not made again with the rights of the umask.
    db = sqlite3.connect("file://" + escaped + "?mode=rw", timeout=busy_s, isolation_level=None, uri=True)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        migrate(db, path)
    except sqlite3.DatabaseError as error:
        db.close()
        # What is only busy, full or not to be written is an OperationalError.
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise ArchiveDamaged(
            f"{path}: {error}. Move it away, and the next clear makes a new one; sqlite3's .recover may save more"
        ) from None
    except BaseException:
        db.close()
        raise
    return db


def _make_private(path: str, create: bool) -> None:
    """Sees to it that a regular file of ours alone stands there before SQLite writes to it.

    A file that is there is not opened: closing it would give up the locks that this process holds on it through SQLite.
    """
    if create:
        _make_folder(os.path.dirname(path))
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        except FileExistsError:
            pass
    mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        raise OSError(22, "the archive must be a regular file, not a link or anything else", path)
    if mode & 0o077:
        os.chmod(path, 0o600)


def _make_folder(folder: str) -> None:
    """The folder and its missing parents, 0700."""
    if not os.path.isdir(folder):
        _make_folder(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass


def migrate(db, name: str = "the archive") -> None:
    """Brings the tables up to date, one transaction for each version; several processes may do so at once."""
    if _version(db, name) == len(MIGRATIONS):
        return
    for number, statements in enumerate(MIGRATIONS, 1):
        with Transaction(db):
            if _version(db, name) >= number:
                continue
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number:d}")


def _version(db, name: str) -> int:
    """The version of the tables, 0 for an empty file."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    if not ours and (version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]):
        raise ArchiveDamaged(f"{name}: is a database of another program. Move it away, and the next clear makes a new archive")
    if version > len(MIGRATIONS):
        raise ArchiveTooNew(
            f"{name}: was written by a later PopKit (tables of version {version}; this one knows {len(MIGRATIONS)}). Update PopKit"
        )
    return version
