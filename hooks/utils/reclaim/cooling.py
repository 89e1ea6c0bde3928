"""What of the archive may go cold: a record whose content can be made again, or whose placeholder nobody can see any more."""

from __future__ import annotations

from .. import archive
from ..edges.system import os
from ..state.archived import errors


def cool(db, task_id: str) -> dict:
    """Moves the records of a chain to their zones, and returns how many went where (`archive_chain`). A content goes only when a file
    on disk or an object of git provably has its bytes, or when no transcript is left that could hold its placeholder."""
    chain = archive.chain(db, task_id)
    gone = chain is None or not _exists(chain.transcript)
    return archive.archive_chain(db, task_id, lambda record: gone or _can_be_made_again(db, record))


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # who knows
    return True


def _can_be_made_again(db, record) -> bool:
    if record.type != "read":
        return False
    try:
        found = archive.retrieve_record(db, record.id)
        if not found or not found["content_available"]:
            return True  # it is cold already
        source = next(filter(None, (archive.source_of(found["content"], path) for path in record.subjects if path.startswith("/"))), None)
        return source is not None and archive.set_source(db, record.id, source)
    except errors():
        return False
