"""Archives to search, with the ids that a query finds."""

from __future__ import annotations

import json
import sqlite3

from popkit_retention.core import archive
from popkit_retention.core.archive import NewRecord, index
from popkit_retention.core.archive.searching import search
from popkit_retention.core.policy.masking import mask
from tests.archive.written import new

NOW = 1_800_000_000.0


def text_record(number: int, text: str, **fields) -> NewRecord:
    return new(number, content=json.dumps(text, ensure_ascii=False), label=f"call {number}", subjects=[], **fields)


def found(db: sqlite3.Connection, question: str, **where) -> list[str]:
    return [match.record.id for match in search(db, question, mask, **where)]


def retrieve(db: sqlite3.Connection, id: str) -> bool:
    kept = archive.retrieve_record(db, id)
    return bool(kept and kept["content_available"])


def with_all_queued(db: sqlite3.Connection) -> None:
    db.execute("BEGIN")
    index.requeue_all(db)
    db.execute("COMMIT")
