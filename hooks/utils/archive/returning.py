"""Bring deleted contents back from a copy, under the handles that they had."""

from __future__ import annotations

import time

from ..io.sqlite_file import Transaction
from .chains import chain, ensure_chain
from .content import RetentionIntegrityError, compress_content, hash_content, plain, stamp
from .index import Indexer
from .records import HANDLE_CHARS, LONGEST_HANDLE, NOTE_BACK, digest, handle, insert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

    from .chains import Chain
    from .records import NewRecord

# Transactions of so many records: each waits for the disk, and each keeps others waiting.
_AT_ONCE = 200
_KNOWN = """
SELECT task_id, zone, content_hash, seq, label, zone = 'cold' AND source IS NOT NULL FROM thought_records WHERE id = ?
"""


class ReturningContent:
    """A content on its way back: its old handle, the chain that it was of, and the record as it came."""

    __slots__ = ("chain", "id", "record")

    def __init__(self, id: str, chain: Chain, record: NewRecord):
        self.id = id
        self.chain = chain
        self.record = record


def bring_back(db: Connection, returning: Iterable[ReturningContent], now: float | None = None) -> list[str]:
    """Bring contents back: a cold stub is filled again, a record that has vanished joins the end of its chain. Their age counts from `now`
    (seconds; by default the clock's). What has its content is left alone. Return the handles of those that were missing.

    RetentionIntegrityError for a content that does not belong to its handle; what came before it is back then. Done again, it goes on."""
    now = time.time() if now is None else now
    done: list[str] = []
    batch: list[ReturningContent] = []
    for returned in returning:
        batch.append(returned)
        if len(batch) == _AT_ONCE:
            done += _bring_back(db, batch, now)
            batch = []
    return done + _bring_back(db, batch, now)


def _bring_back(db: Connection, batch: list[ReturningContent], now: float) -> list[str]:
    with Transaction(db):
        indexer = Indexer(db)
        return [returned.id for returned in batch if _is_back(db, returned, now, indexer)]


def _is_back(db: Connection, returned: ReturningContent, now: float, indexer: Indexer) -> bool:
    """Return whether a content was missing; then it is there now."""
    content_hash = hash_content(returned.record.content)
    was_deleted = True
    row = db.execute(_KNOWN, (plain(returned.id),)).fetchone()
    if row is None:
        _check_handle(returned, content_hash)
        task_id, label = returned.chain.task_id, plain(returned.record.label)
        known = chain(db, returned.chain.task_id) or returned.chain  # the archive knows better where its transcript is now
        length, head = ensure_chain(db, known)
        hash, seq = insert(db, known, returned.record, (returned.id, length + 1, content_hash, stamp(now)), head)
        db.execute("UPDATE chains SET length = ?, head = ? WHERE task_id = ?", (length + 1, hash, known.task_id))
    elif row[2] != content_hash:
        raise RetentionIntegrityError(f"{returned.id}: the content to be restored does not match its content_hash")
    elif row[1] != "cold":
        return False
    else:
        db.execute(
            "UPDATE thought_records SET zone = 'warm', content_compressed = ?, source = NULL WHERE id = ?",
            (compress_content(returned.record.content), returned.id),
        )
        task_id, seq, label = row[0], row[3], row[4]
        was_deleted = not row[5]  # a content that git still has was never deleted
    indexer.take(seq, label, returned.record.content)
    db.execute(NOTE_BACK, (returned.id, now))
    if was_deleted:
        db.execute("UPDATE pruned SET records = records - 1 WHERE task_id = ?", (task_id,))
        db.execute("DELETE FROM pruned WHERE task_id = ? AND records < 1", (task_id,))
    return True


def _check_handle(returned: ReturningContent, content_hash: str) -> None:
    number = digest(returned.chain.task_id, plain(returned.record.tool_use_id), content_hash)
    if not HANDLE_CHARS <= len(returned.id) <= LONGEST_HANDLE or returned.id != handle(number, len(returned.id)):
        raise RetentionIntegrityError(f"{returned.id!r:.60}: is not the handle of the content to be restored under it")
