"""Leave contents beside the archive without waiting for the disk, until it is opened next. Their handle is known at once."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, loads
from ..io.sqlite_file import Transaction
from .chains import Chain
from .records import NewRecord, add_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection
    from typing import Any


def leave_beside(path: str, chain: Chain, *records: NewRecord) -> None:
    """Write contents beside the archive at `path`, each as a line of its chain and record and a line of JSON. OSError where they cannot be
    written; then none is."""
    of_chain = [chain.task_id, chain.session_id, chain.agent_id, chain.project, chain.transcript]
    lines = []
    for record in records:
        of_record = [record.tool_use_id, record.type, record.label, record.timestamp, list(record.subjects), record.tokens]
        lines += [dumps([of_chain, of_record]), record.content]
    files.spill(path, "\n".join(lines))


def take_in(db: Connection, waiting: Sequence[str]) -> None:
    """Take in what waits in these files, in one transaction; what the archive has already keeps its record."""
    from .index import Indexer

    indexer = Indexer(db)
    with Transaction(db):
        for path in waiting:
            lines = (files.read_text(path) or "").split("\n")
            for head, content in zip(lines[::2], lines[1::2]):
                parsed = _waiting_record(head, content)
                if parsed is not None:
                    add_records(db, parsed[0], [parsed[1]], indexer=indexer)
    for path in waiting:
        files.remove(path)


def _waiting_record(head: str, content: str) -> tuple[Chain, NewRecord] | None:
    """Return the chain and the record of two lines; None for one that is not ours, or that another process has taken in meanwhile."""
    try:
        read: Any = loads(head)
        of_chain, (id, kind, label, timestamp, subjects, tokens) = read
        return Chain(*of_chain), NewRecord(id, kind, label, content, timestamp, subjects, tokens)
    except (ValueError, TypeError, AttributeError):
        return None
