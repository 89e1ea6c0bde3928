"""Which placeholders stand in the host's transcripts: what would stand for nothing if their contents were deleted."""

from __future__ import annotations

from hooks.utils import archive
from hooks.utils.state import transcript_handles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from sqlite3 import Connection

    from hooks.utils.archive.records import Record


def placeholders(db: Connection, environ: Mapping[str, str], wanted: Collection[str] | None = None) -> dict[str, list[Record]]:
    """transcript -> the archived Records whose placeholders stand in it: in every transcript of the host, and in those that the archive
    names. With `wanted` only those of these handles."""
    found: dict[str, list[Record]] = {}
    for path, handles in transcript_handles.handles(db, environ):
        known = [record for record in (archive.record(db, each) for each in handles if wanted is None or each in wanted) if record]
        if known:
            found[path] = known
    return found


def data(found: dict[str, list[Record]]) -> dict[str, list[str]]:
    """The same for programs: transcript -> handles."""
    return {path: [record.id for record in records] for path, records in found.items()}


def count(found: dict[str, list[Record]]) -> int:
    return sum(map(len, found.values()))
