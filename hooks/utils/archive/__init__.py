"""Archive the contents that left the context, in a SQLite file. Its records form a chain for each context; their zone says how they are
kept.

This module opens the archive: it brings its tables up to date, then takes in what waits in files beside it (`beside`).

It uses the I/O floor alone. Loading it loads neither `sqlite3` nor `json`: what needs them imports them.
"""

from __future__ import annotations

from ..io import files, sqlite_file
from ..io.sqlite_file import Schema, StoreDamaged, StoreError, StoreTooNew
from ..io.storage import Storage
from .beside import take_in
from .chains import Chain, chain
from .clears import clears_of, clears_of_records
from .content import (
    RetentionIntegrityError,
    compress_content,
    decompress_content,
    gunzip_content,
    gzip_content,
    hash_content,
    names_of,
    subjects_of,
)
from .deletion import PruneResult, prunable, prune, pruned_of
from .reading import media_of, text_of, value_of
from .records import (
    PREFIX_CHARS,
    NewRecord,
    Record,
    add_records,
    find_records,
    handle_of,
    handles_of,
    record,
    records_of_clear,
    records_of_tool_use,
    set_source,
)
from .recovery import is_kept, recover, source_of
from .retrieval import RETENTION_ZONES, RetrieveRecordInput, retrieve_record
from .sizes import stats, zone_sizes
from .zones import (
    HOT_MAX_POSITION,
    WARM_MAX_POSITION,
    ArchiveRecordInput,
    RecordNotFound,
    RetentionZone,
    archive_chain,
    archive_record,
    compute_zone,
    due_cold,
    get_record_position,
)

__all__ = [
    "HOT_MAX_POSITION",
    "PREFIX_CHARS",
    "RETENTION_ZONES",
    "WARM_MAX_POSITION",
    "ArchiveDamaged",
    "ArchiveError",
    "ArchiveRecordInput",
    "ArchiveTooNew",
    "Chain",
    "NewRecord",
    "PruneResult",
    "Record",
    "RecordNotFound",
    "RetentionIntegrityError",
    "RetentionZone",
    "RetrieveRecordInput",
    "add_records",
    "archive_chain",
    "archive_record",
    "chain",
    "clears_of",
    "clears_of_records",
    "compress_content",
    "compute_zone",
    "decompress_content",
    "due_cold",
    "find_records",
    "get_record_position",
    "gunzip_content",
    "gzip_content",
    "handle_of",
    "handles_of",
    "hash_content",
    "is_kept",
    "media_of",
    "migrate",
    "open_archive",
    "prunable",
    "prune",
    "pruned_of",
    "record",
    "records_of_clear",
    "records_of_tool_use",
    "recover",
    "retrieve_record",
    "set_source",
    "source_of",
    "stats",
    "text_of",
    "value_of",
    "zone_sizes",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection


# The errors of an archive that cannot be used: see `sqlite_file`.
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
# When a context was deleted, wholly or in part, and how many records that cost. Nothing of their contents.
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
# Marks: since when a record is to be deleted, and by whom.
_MARKS = """
CREATE TABLE marks (
  record_id TEXT PRIMARY KEY REFERENCES thought_records (id),
  at REAL NOT NULL,
  by TEXT NOT NULL
) WITHOUT ROWID
"""
# When a deleted content came back: its age counts from then.
_BROUGHT_BACK = "CREATE TABLE brought_back (record_id TEXT PRIMARY KEY REFERENCES thought_records (id), at REAL NOT NULL) WITHOUT ROWID"
# What is in the index of words (see index.py): the context of a record (the seq of its first), and a checksum of its words.
_INDEXED = "CREATE TABLE indexed (seq INTEGER PRIMARY KEY, context INTEGER NOT NULL, told INTEGER NOT NULL)"
_UNINDEXED = "CREATE TABLE unindexed (seq INTEGER PRIMARY KEY)"


def _name_all(db: Connection) -> None:
    """Enter the names of the existing records."""
    rows = db.execute("SELECT seq, subjects FROM thought_records")
    db.executemany("INSERT INTO named VALUES (?, ?)", ((name, seq) for seq, text in rows for name in names_of(subjects_of(text))))


# Contents are the last columns, so that reading the others does not walk through them.
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
            # All of them, whatever their zone: a hook may be waiting. The cold ones are skipped when they are indexed.
            "INSERT INTO unindexed SELECT seq FROM thought_records",
        ),
    ),
)
SCHEMA = Schema("archive", APPLICATION_ID, MIGRATIONS, remedy="the next clear makes a new one")


def open_archive(path: str, create: bool = True, busy_s: float = sqlite_file.BUSY_S, any_thread: bool = False) -> Connection:
    """Open the archive, its tables up to date, and take in what waits beside it, unless another process is at work in it: see
    `sqlite_file.open_store`."""
    db = sqlite_file.open_store(path, SCHEMA, create, busy_s, any_thread)
    waiting = files.spilled(path)
    if waiting:
        import sqlite3

        try:
            take_in(db, waiting)
        except sqlite3.OperationalError:
            pass  # they are taken in when it is opened next
    return db


def migrate(db: Connection) -> None:
    """Make the tables of the archive, or bring them up to date."""
    sqlite_file.migrate(db, SCHEMA)
