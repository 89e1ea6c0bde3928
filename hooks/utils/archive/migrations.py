"""Make the tables of the archive, version by version, and open it."""

from __future__ import annotations

from ..io import files, sqlite_file
from ..io.sqlite_file import Schema, StoreDamaged, StoreError, StoreTooNew, Transaction
from ..io.storage import Storage
from .content import names_of, subjects_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

# What an archive that cannot be used raises: see `sqlite_file`.
ArchiveError, ArchiveTooNew, ArchiveDamaged = StoreError, StoreTooNew, StoreDamaged
APPLICATION_ID = 0x506F704B  # "PopK"
STORAGE = (Storage("archive", {"": r"archive\.sqlite"}),)

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
# Every record by the names that a person may know it by, see `content.names_of`.
_NAMED = "CREATE TABLE named (name TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (name, seq)) WITHOUT ROWID"
# Of a context that was deleted, wholly or in part: when that was, and how many records it cost. Nothing of what was in it.
_PRUNED = "CREATE TABLE pruned (task_id TEXT PRIMARY KEY, at REAL NOT NULL, records INTEGER NOT NULL) WITHOUT ROWID"
_HOLDS = """
CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL,
  target TEXT NOT NULL,
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  created_at REAL NOT NULL,
  until REAL,
  released_at REAL
) WITHOUT ROWID
"""
# The projects that a folder (`chains.project`) has ever been seen to belong to, for holds of projects.
_FOLDERS = "CREATE TABLE folders (folder TEXT NOT NULL, project TEXT NOT NULL, PRIMARY KEY (folder, project)) WITHOUT ROWID"
# What is to be deleted: since when, and who said so.
_MARKS = """
CREATE TABLE marks (
  record_id TEXT PRIMARY KEY REFERENCES thought_records (id),
  at REAL NOT NULL,
  by TEXT NOT NULL
) WITHOUT ROWID
"""
# When a content that had gone came back: its age counts from then.
_BROUGHT_BACK = "CREATE TABLE brought_back (record_id TEXT PRIMARY KEY REFERENCES thought_records (id), at REAL NOT NULL) WITHOUT ROWID"
# What the index of words was told (see index.py): of which context (the seq of its first record), and a checksum of the words.
_INDEXED = "CREATE TABLE indexed (seq INTEGER PRIMARY KEY, context INTEGER NOT NULL, told INTEGER NOT NULL)"
_UNINDEXED = "CREATE TABLE unindexed (seq INTEGER PRIMARY KEY)"


def _name_all(db: Connection) -> None:
    """Enter the records that are there already."""
    rows = db.execute("SELECT seq, subjects FROM thought_records")
    db.executemany("INSERT INTO named VALUES (?, ?)", ((name, seq) for seq, text in rows for name in names_of(subjects_of(text))))


# Contents stand last in a row, so that reading the rest of it does not walk through them.
MIGRATIONS = (
    (
        "chains and their records",
        (
            _CHAINS,
            "CREATE INDEX chains_of_session ON chains (session_id)",
            _RECORDS,
            "CREATE INDEX records_of_tool_use ON thought_records (tool_use_id)",
        ),
    ),
    (
        "clears",
        (
            _CLEARS,
            "CREATE INDEX clears_of_chain ON clears (task_id)",
            _CLEARED,
            "CREATE INDEX clears_of_record ON cleared (record_id)",
        ),
    ),
    ("names, and what was pruned", (_NAMED, _name_all, _PRUNED)),
    (
        "holds, marks, and the words of contents",
        (
            _HOLDS,
            _FOLDERS,
            _MARKS,
            _BROUGHT_BACK,
            _INDEXED,
            _UNINDEXED,
            # All of them, without a look at the zone: a hook may be waiting. Who indexes them passes over the cold ones.
            "INSERT INTO unindexed SELECT seq FROM thought_records",
        ),
    ),
)
SCHEMA = Schema("archive", APPLICATION_ID, MIGRATIONS, anew="the next clear makes a new one")


def open_archive(path: str, create: bool = True, busy_s: float = sqlite_file.BUSY_S) -> Connection:
    """Return a connection to the archive, its tables up to date, and what waits beside it taken in, unless somebody else is at work in it:
    see `sqlite_file.open_store`."""
    db = sqlite_file.open_store(path, SCHEMA, create, busy_s)
    waiting = files.spilled(path)
    if waiting:
        import sqlite3

        from .spill import take_in

        try:
            take_in(db, waiting)
        except sqlite3.OperationalError:
            pass  # who opens it next takes them in
    return db


def migrate(db: Connection) -> None:
    """Make the tables of the archive, or bring them up to date."""
    sqlite_file.migrate(db, SCHEMA)


__all__ = ["ArchiveDamaged", "ArchiveError", "ArchiveTooNew", "Transaction", "migrate", "open_archive"]
