"""The import, once, of the `context.sqlite` in which an earlier PopKit kept usage."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import uuid
from contextlib import closing, suppress
from typing import Any

from popkit_retention.core.io import files
from popkit_retention.core.io.sqlite_file import BUSY_S, Transaction

from .usage_store import SNAPSHOTS, USAGE, DatabaseTooNew, DatabaseUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_OLD_FILE = "context.sqlite"
_OLD_VERSION = "0001"
_SUFFIXES = ("-journal", "-wal", "-shm")
_OLD_TABLES = "SELECT (SELECT count(*) FROM sqlite_master), (SELECT count(*) FROM sqlite_master WHERE name = 'popkit_context_version')"


def has_old_file(path: str) -> bool:
    """Return whether a file of an earlier PopKit is beside this one."""
    return os.path.lexists(_old_path(path))


def _import_old_file(db: sqlite3.Connection, path: str) -> None:
    """Import the file of an earlier PopKit beside `path`, whole and in one transaction, and delete it; `db`: a connection to `path`.
    DatabaseUnavailable where that fails; then the old file stays and nothing of it is imported."""
    old = _old_path(path)
    if not os.path.lexists(old):
        return
    try:
        with Transaction(db):
            if os.path.lexists(old):  # another process may just have done it
                _copy(old, db)
    except (sqlite3.Error, OSError, ValueError, TypeError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DatabaseUnavailable(
            f"{old} cannot be imported into {os.path.basename(path)} ({reason}), so none of it was. Try again, or move it away"
        ) from None
    for name in (old, *(old + suffix for suffix in _SUFFIXES)):
        with suppress(FileNotFoundError):
            os.unlink(name)


def _old_path(path: str) -> str:
    return os.path.join(os.path.dirname(path), _OLD_FILE)


def _copy(old: str, db: sqlite3.Connection) -> None:
    for name in (old, *(old + suffix for suffix in _SUFFIXES)):
        if os.path.lexists(name):
            files.make_private_file(name, create=False)
    escaped = old.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    with closing(sqlite3.connect(f"file://{escaped}?mode=rw", timeout=BUSY_S, isolation_level=None, uri=True)) as source:
        source.execute("PRAGMA trusted_schema = OFF")
        source.execute("BEGIN")
        tables, is_ours = source.execute(_OLD_TABLES).fetchone()
        if not tables:
            return  # it was being created
        if not is_ours:
            raise ValueError("it is not PopKit's")
        ((version,),) = source.execute("SELECT version_num FROM popkit_context_version").fetchall() or ((None,),)
        if version != _OLD_VERSION:
            raise DatabaseTooNew(
                f"{old} was written by another PopKit (version {version!r:.20}; this one knows {_OLD_VERSION}). Update PopKit"
            )
        db.executemany(_into("context_snapshots", SNAPSHOTS), map(_snapshot, _rows(source, "context_snapshots", SNAPSHOTS)))
        db.executemany(_into("context_usage", USAGE), map(_usage, _rows(source, "context_usage", USAGE)))


def _rows(source: sqlite3.Connection, table: str, columns: Sequence[str]) -> Iterator[dict[str, object]]:
    for row in source.execute(f"SELECT {', '.join(columns)} FROM {table}"):
        yield dict(zip(columns, row))


def _into(table: str, columns: Sequence[str]) -> str:
    return f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join(':' + name for name in columns)})"


def _snapshot(row: dict[str, Any]) -> dict[str, object]:
    return {**row, "id": str(uuid.UUID(hex=row["id"])), "created_at": _seconds(row["created_at"])}


def _usage(row: dict[str, Any]) -> dict[str, object]:
    return {**row, "at": _seconds(row["at"])}


def _seconds(utc: str) -> float:
    """Return a time in seconds since 1970, from ISO 8601 text in UTC."""
    return dt.datetime.fromisoformat(utc).replace(tzinfo=dt.timezone.utc).timestamp()
