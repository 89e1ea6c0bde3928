"""The database in which OpenCode keeps its sessions, from 1.2 on: `session`, `message` and `part`, the latter two with JSON in `data`.

It is read while OpenCode may be running: no lock is held for longer than a message takes, and neither the file nor what SQLite keeps
beside it is written. What cannot be read so is an OSError that says why.
"""

from __future__ import annotations

import errno
import json  # noqa: TID253  no hook on a tool call reads other hosts' records
import os
from contextlib import contextmanager

from ...io import files
from ...io.codec import as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

_MAGIC, _HEAD_BYTES = b"SQLite format 3\0", 20
_WRITES_AHEAD = 2  # in byte 18 of the head: changes go to a file beside it first
_BUSY_S = 2.0
LARGEST_ROW = 64 << 20  # bytes
_LOOKED_INTO = 4  # messages, for the newest answer
# What is read of each table; a database that lacks any of it is of a version that we do not know.
_COLUMNS = {
    "session": ("id", "parent_id", "directory", "time_updated"),
    "message": ("id", "session_id", "time_created", "data"),
    "part": ("id", "message_id", "session_id", "data"),
}
_OF_LATER = "session_message"  # a table that later versions are about to keep messages in
_modes: dict[tuple[str, int], bool] = {}  # (path, inode) -> whether it writes ahead


def is_database(path: str) -> bool:
    """Return whether a file is one of SQLite's."""
    try:
        return (files.read_bytes(path, _HEAD_BYTES) or b"").startswith(_MAGIC)
    except OSError:
        return False


def sessions(path: str) -> list[tuple[str, str, str, float]]:
    """Return (id, folder, id of the parent or "", when it last changed in seconds) of each session, the one that changed last first."""
    with _opened(path) as db:
        rows = db.execute("SELECT id, directory, parent_id, time_updated FROM session ORDER BY time_updated DESC, id DESC").fetchall()
    return [(_text(id), _text(folder), _text(parent), seconds_of(at)) for id, folder, parent, at in rows]


def sizes(path: str, only: str = "") -> dict[str, int]:
    """Return how many characters the messages and parts of each session have, or of this one alone: id -> sum."""
    sums: dict[str, int] = {}
    which, ids = (" WHERE session_id = ?", (only,)) if only else ("", ())
    with _opened(path) as db:
        for table in ("message", "part"):
            summed = f"SELECT session_id, SUM(LENGTH(data)) FROM {table}{which} GROUP BY session_id"  # noqa: S608  our names
            for id, size in db.execute(summed, ids):
                sums[_text(id)] = sums.get(_text(id), 0) + (size if isinstance(size, int) else 0)
    return sums


def session(path: str, id: str) -> dict[str, object]:
    """Return what is known of a session, in the form of its `info`; OSError where it is not there."""
    with _opened(path) as db:
        row = db.execute("SELECT parent_id, directory, time_updated FROM session WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise OSError(errno.ENOENT, f"this database has no session {id}", path)
    return {"id": id, "parentID": _text(row[0]), "directory": _text(row[1]), "time": {"updated": row[2]}}


def messages(path: str, id: str) -> Iterator[dict[str, object] | None]:
    """Yield the messages of a session, {info, parts}, in their order; None for each row that is not understood or far too large."""
    with _opened(path) as db:
        rows = db.execute("SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id", (id,)).fetchall()
        ids = [_text(row[0]) for row in rows]
        if not ids:
            _refuse_later(db, path, id)
        for message in ids:
            ((_, info),) = _rows(db, "message", "id", message) or ((None, None),)
            parts = _rows(db, "part", "message_id", message)
            yield from (None for _, known in parts if known is None)
            of_it = [{**known, "id": part, "messageID": message} for part, known in parts if known is not None]
            yield info and {"info": {**info, "id": message, "sessionID": id}, "parts": of_it}


def newest_answers(path: str, id: str) -> list[dict[str, object]]:
    """Return the `info` of the answers among the last messages of a session, the newest first."""
    with _opened(path) as db:
        newest = "SELECT data FROM message WHERE session_id = ? AND LENGTH(data) <= ? ORDER BY time_created DESC, id DESC LIMIT ?"
        rows = db.execute(newest, (id, LARGEST_ROW, _LOOKED_INTO)).fetchall()
    return [info for info in (_object(row[0]) for row in rows) if info and info.get("role") == "assistant"]


def _rows(db: Connection, table: str, column: str, id: object) -> list[tuple[str, dict[str, object] | None]]:
    """Return (id, the JSON object in `data`) of rows, in the order of their ids; None for what is none."""
    cursor = db.execute(
        f"SELECT id, CASE WHEN LENGTH(data) <= ? THEN data END FROM {table} WHERE {column} = ? ORDER BY id",  # noqa: S608  our names
        (LARGEST_ROW, id),
    )
    return [(_text(row), _object(data)) for row, data in cursor.fetchall()]


def _object(data: object) -> dict[str, object] | None:
    try:
        value = json.loads(data.decode("utf-8", "replace")) if isinstance(data, bytes) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse_later(db: Connection, path: str, id: str) -> None:
    """Raise OSError where a session's messages are in a table that is not read."""
    if not _columns(db, _OF_LATER):
        return
    if db.execute(f"SELECT 1 FROM {_OF_LATER} WHERE session_id = ? LIMIT 1", (id,)).fetchone():  # noqa: S608  our name
        why = f"OpenCode keeps this session in a form that PopKit does not read ({_OF_LATER}). Export it: opencode export {id}"
        raise OSError(errno.ENOTSUP, why, path)


@contextmanager
def _opened(path: str) -> Iterator[Connection]:
    """Give a connection that writes nothing; every error of SQLite's is an OSError."""
    import sqlite3

    db = None
    try:
        db = sqlite3.connect(_address(path), timeout=_BUSY_S, isolation_level=None, uri=True, check_same_thread=False)
        db.text_factory = bytes  # bytes that are not UTF-8 break only their own row
        db.execute("PRAGMA trusted_schema = OFF")
        for table, needed in _COLUMNS.items():
            missing = [name for name in needed if name not in _columns(db, table)]
            if missing:
                why = f"not a database of OpenCode as PopKit knows it: {table} has no {', '.join(missing)}"
                raise OSError(errno.ENOTSUP, why, path)
        yield db
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a quotation from a corrupt file may not be text
        raise OSError(errno.EIO, f"SQLite says: {error}", path) from None
    finally:
        if db is not None:
            db.close()


def _columns(db: Connection, table: str) -> set[str]:
    return {_text(row[1]) for row in db.execute(f"PRAGMA table_info({table})")}


def _address(path: str) -> str:
    """Return how SQLite is to open a database so that nothing is written: beside changes that are still in their own file it only looks at
    what others share, and where there are none it takes the database as it is."""
    ahead = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
    if ahead and not os.path.exists(path + "-shm"):
        why = "its newest changes are in a -wal file that only OpenCode can merge. Start OpenCode once, or copy the -shm file as well"
        raise OSError(errno.ENOTSUP, why, path)
    how = "mode=ro&readonly_shm=1" if ahead else "immutable=1" if _writes_ahead(path) else "mode=ro"
    escaped = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file://{escaped}?{how}"


def _writes_ahead(path: str) -> bool:
    """Return whether a database keeps its changes in a file beside it. Looked up once: to close a file gives up this process's locks."""
    key = path, os.stat(path).st_ino
    if key not in _modes:
        head = files.read_bytes(path, _HEAD_BYTES) or b""
        if not head.startswith(_MAGIC) or len(head) < _HEAD_BYTES:
            raise OSError(errno.EINVAL, "not a database", path)
        _modes[key] = head[18] == _WRITES_AHEAD
    return _modes[key]


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return as_text(value)


def seconds_of(value: object) -> float:
    """Return a time in milliseconds as seconds; 0 for what is none."""
    return value / 1_000 if isinstance(value, (int, float)) and 0 < value < 1e14 else 0.0
