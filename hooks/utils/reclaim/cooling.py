"""Let the records of a chain grow cold in the archive, where git keeps a content."""

from __future__ import annotations

import time

from .. import archive
from ..archive import holds
from ..io import repository
from ..policy import kinds
from ..state.archived import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from ..archive.records import Record

# At once git is asked about so many records, and for so long. The others keep their contents until later.
ASKED, PATIENCE_S = 25, 2.0
_NONE: dict[str, Any] = {}  # noted as the source of a record that has none, so that it is not looked for every time


def cool(db: Connection, task_id: str, now: float | None = None) -> dict[str, int]:
    """Move the records of a chain to their zones, and return how many went where (see `archive_chain`). The last copy of a content goes
    only when git has just given the same from a commit that a branch or tag leads to, and no hold keeps it at `now` (seconds; by default
    the clock's); a chain without a transcript is not gone, for it may be on another machine, or have moved."""
    holds.place_folders(db, lambda folder: repository.of(folder).key)
    counts = archive.archive_chain(db, task_id, lambda record: False, now=now)
    until = time.monotonic() + PATIENCE_S
    for id in archive.due_cold(db, task_id, ASKED, now=now):
        if time.monotonic() > until:
            break
        if _is_kept(db, id) and archive.archive_record(db, id, now=now)["to_zone"] == "cold":
            counts["warm_to_cold"] += 1
            counts["kept_warm"] -= 1
    return counts


def _is_kept(db: Connection, id: str) -> bool:
    """Return whether git keeps the content of a record; either way what was found is noted with it."""
    try:
        stored, record = archive.retrieve_record(db, id), archive.record(db, id)
        if not stored or not record:
            return False  # it was pruned meanwhile
        source = _source(record, stored["content"])
        return archive.set_source(db, id, source) and source is not _NONE
    except errors():
        return False  # what is damaged stays as it is


def _source(record: Record, content: str) -> dict[str, Any]:
    """Return the source by which git gives the content; _NONE where there is none."""
    for path in record.subjects if record.type == kinds.READ else ():
        source = archive.source_of(content, path) if path.startswith("/") else None
        if source and archive.is_kept(source, content):
            return source
    return _NONE
