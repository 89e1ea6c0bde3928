"""Find the placeholders in the host's transcripts."""

from __future__ import annotations

from ..io import files, home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from sqlite3 import Connection

    from ..archive.records import Record


def placed_handles(db: Connection, environ: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (transcript, the handles of the placeholders in it, in order): of every transcript of the host, and of those that the archive
    names. Slow: it reads all of them."""
    for path in sorted(_transcripts(db, environ)):
        names = _handles_in(path)
        if names:
            yield path, sorted(names)


def placed_records(db: Connection, environ: Mapping[str, str], wanted: Collection[str] | None = None) -> dict[str, list[Record]]:
    """Return transcript -> the archived Records with a placeholder in it; with `wanted` only those of these handles."""
    from .. import archive

    placed = {}
    for path, names in placed_handles(db, environ):
        named = [archive.record(db, name) for name in names if wanted is None or name in wanted]
        records = [record for record in named if record]
        if records:
            placed[path] = records
    return placed


def handles_by_transcript(placed: dict[str, list[Record]]) -> dict[str, list[str]]:
    """Return transcript -> handles, for programs."""
    return {path: [record.id for record in records] for path, records in placed.items()}


def _transcripts(db: Connection, environ: Mapping[str, str]) -> set[str]:
    from ..hosts.transcripts import projects

    named = {path for (path,) in db.execute("SELECT DISTINCT transcript FROM chains") if path and isinstance(path, str)}
    try:
        return named.union(projects.every(environ))
    except home.NoHome:
        return named


def _handles_in(path: str) -> set[str]:
    """Return the handles in a conversation: the host's own lines repeat what was sent, and a quoted placeholder does not count."""
    from ..policy.placeholder import HEAD

    mark = HEAD.encode("ascii")
    try:
        with files.open_regular(path) as file:
            return {handle for line in file if mark in line for handle in _handles_of_line(line)}
    except (OSError, ValueError):
        return set()


def _handles_of_line(line: bytes) -> Iterator[str]:
    from ..hosts.transcripts import entries
    from ..hosts.transcripts.blocks import text_of_blocks
    from ..policy.placeholder import handle_in

    entry = entries.entry_of(line)
    for block in entries.blocks_of(entry or {}):
        if block.get("type") == "tool_result":
            handle = handle_in(text_of_blocks(block.get("content"))[0])
            if handle:
                yield handle
