"""Archives that hold records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from popkit_retention.core import archive
from popkit_retention.core.io.sqlite_file import Transaction

CHAIN = archive.Chain("session-1", "session-1", project="/home/dev/shop", transcript="/home/dev/session-1.jsonl")
COLUMNS = (
    "id", "type", "task_id", "agent_id", "timestamp", "prev_hash", "hash", "created_at", "place", "tool_use_id", "label", "subjects",
    "tokens", "size", "source", "zone", "content_hash", "content_compressed", "content",
)  # fmt: skip


def content(number: int) -> str:
    """The JSON text of a result; long enough to be worth compressing."""
    return json.dumps(f"{number}\tvalue = {number}\n" * 20)


def new(number: int, **fields) -> archive.NewRecord:
    given = {
        "tool_use_id": f"toolu_{number:04}",
        "type": "read",
        "label": f"Read src/{number}.py",
        "content": content(number),
        "timestamp": "2026-02-21T16:15:30.639Z",
        "subjects": [f"/home/dev/shop/src/{number}.py"],
        "tokens": 100 + number,
    }
    return archive.NewRecord(**{**given, **fields})


def fill(db: sqlite3.Connection, count: int, chain: archive.Chain = CHAIN, at: float = 1_790_000_000.0) -> list[str]:
    """Adds so many records to a chain; their handles, oldest first."""
    return archive.add_records(db, chain, [new(number) for number in range(count)], now=at)


def add_cleared(db: sqlite3.Connection, chain: archive.Chain, records: Iterable[archive.NewRecord], at: float) -> tuple[int, list[str]]:
    """Adds records as earlier versions did when they cleared: (the number of the clear, the handles)."""
    ids = archive.add_records(db, chain, records, at)
    with Transaction(db):
        number = db.execute("INSERT INTO clears (task_id, at) VALUES (?, ?)", (chain.task_id, at)).lastrowid
        db.executemany("INSERT OR IGNORE INTO cleared (clear_id, record_id) VALUES (?, ?)", [(number, id) for id in ids])
    return number, ids


def row(db: sqlite3.Connection, id: str) -> dict:
    """All columns of a record but its place in the file."""
    columns = ", ".join(COLUMNS[:-1])
    values = db.execute(f"SELECT {columns}, CAST(content AS BLOB) FROM thought_records WHERE id = ?", (id,)).fetchone()  # noqa: S608
    found = dict(zip(COLUMNS, values))
    if found["content"] is not None:
        found["content"] = found["content"].decode("utf-8", "replace" if b"\xff" in found["content"] else "surrogatepass")
    return found


def tamper(db: sqlite3.Connection, id: str, column: str, value: object) -> None:
    """Changes a column as somebody with an editor for databases would."""
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute(f"UPDATE thought_records SET {column} = ? WHERE id = ?", (value, id))  # noqa: S608
    db.execute("PRAGMA foreign_keys = ON")
