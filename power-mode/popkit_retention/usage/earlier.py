"""What an earlier PopKit kept in `context.sqlite` is taken into the file that has its place, whole and in one transaction; then the old
file is removed. Where that fails it stays as it is, and nothing of it is taken."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import uuid
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from hooks.utils.edges import files
from hooks.utils.edges.sqlite_file import BUSY_S, Transaction

from .records import MOD, warmed_id
from .store import SNAPSHOTS, USAGE, DatabaseTooNew, DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILE = "context.sqlite"
VERSION = "0001"
_BESIDE = ("-journal", "-wal", "-shm")
_VERSION = "SELECT (SELECT count(*) FROM sqlite_master), (SELECT count(*) FROM sqlite_master WHERE name = 'popkit_context_version')"


def is_there(path: str) -> bool:
    """Return whether there is an earlier file beside the one that has its place."""
    return os.path.lexists(_beside(path))


def take_in(db: sqlite3.Connection, path: str) -> None:
    """Take in what an earlier file beside `path` holds, and remove it; `db` is a connection to the one that has its place.
    DatabaseUnavailable where that cannot be done."""
    old = _beside(path)
    if not os.path.lexists(old):
        return
    try:
        with Transaction(db):
            if os.path.lexists(old):  # another process may just have done it
                _copy(old, db)
    except (sqlite3.Error, OSError, ValueError, TypeError, OverflowError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DatabaseUnavailable(
            f"{old} cannot be taken into {os.path.basename(path)} ({said}), so nothing of it was. Try again, or move it away"
        ) from None
    for name in (old, *(old + beside for beside in _BESIDE)):
        with suppress(FileNotFoundError):
            os.unlink(name)


def _beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), FILE)


def _copy(old: str, db: sqlite3.Connection) -> None:
    for name in (old, *(old + beside for beside in _BESIDE)):
        if os.path.lexists(name):
            files.make_private_file(name, create=False)
    escaped = old.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    with closing(sqlite3.connect(f"file://{escaped}?mode=rw", timeout=BUSY_S, isolation_level=None, uri=True)) as source:
        source.execute("PRAGMA trusted_schema = OFF")
        source.execute("BEGIN")
        tables, is_ours = source.execute(_VERSION).fetchone()
        if not tables:
            return  # it was being made
        if not is_ours:
            raise ValueError("it is not PopKit's")
        ((version,),) = source.execute("SELECT version_num FROM popkit_context_version").fetchall() or ((None,),)
        if version != VERSION:
            raise DatabaseTooNew(f"{old} was written by another PopKit (version {version!r:.20}; this one knows {VERSION}). Update PopKit")
        db.executemany(_into("context_snapshots", SNAPSHOTS), map(_snapshot, _rows(source, "context_snapshots", SNAPSHOTS)))
        db.executemany(_into("context_usage", USAGE), map(_used, _rows(source, "context_usage", USAGE)))


def _rows(source: sqlite3.Connection, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for row in source.execute(f"SELECT {', '.join(columns)} FROM {table}"):
        yield dict(zip(columns, row))


def _into(table: str, columns: Sequence[str]) -> str:
    return f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join(':' + name for name in columns)})"


def _snapshot(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "id": str(uuid.UUID(hex=row["id"])), "created_at": _seconds(row["created_at"])}


def _used(row: dict[str, Any]) -> dict[str, Any]:
    at = _seconds(row["at"])
    # The journal tells of these, too: under one id they are booked once.
    id = warmed_id(row["session_id"], at) if row["source"] == MOD else row["request_id"]
    return {**row, "at": at, "request_id": id}


def _seconds(utc: str) -> float:
    """Return a time that was written as text, in UTC, in seconds since 1970."""
    return dt.datetime.fromisoformat(utc).replace(tzinfo=dt.timezone.utc).timestamp()
