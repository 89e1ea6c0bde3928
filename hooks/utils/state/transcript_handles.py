"""Find the handles of the placeholders in the host's transcripts. Slow: it reads all of them."""

from __future__ import annotations

from .. import archive
from ..hosts.claude_code import calls, entries, projects
from ..io import files, home
from ..policy.placeholder import HEAD, handle_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from sqlite3 import Connection

    from ..archive.records import Record

_MARK = HEAD.encode("ascii")


def handles(db: Connection, environ: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (transcript, the handles of the placeholders in it, in order): of every transcript of the host, and of those that the archive
    names."""
    for path in sorted(_transcripts(db, environ)):
        names = _handles_in(path)
        if names:
            yield path, sorted(names)


def records(db: Connection, environ: Mapping[str, str], wanted: Collection[str] | None = None) -> dict[str, list[Record]]:
    """Return transcript -> the archived Records whose placeholders stand in it; with `wanted` only those of these handles."""
    known = {path: [archive.record(db, each) for each in names if wanted is None or each in wanted] for path, names in handles(db, environ)}
    placed = {path: [record for record in records if record] for path, records in known.items()}
    return {path: records for path, records in placed.items() if records}


def ids(placed: dict[str, list[Record]]) -> dict[str, list[str]]:
    """Return transcript -> handles, for programs."""
    return {path: [record.id for record in records] for path, records in placed.items()}


def _transcripts(db: Connection, environ: Mapping[str, str]) -> set[str]:
    named = {path for (path,) in db.execute("SELECT DISTINCT transcript FROM chains") if path and isinstance(path, str)}
    try:
        return named.union(projects.every(environ))
    except home.NoHome:
        return named


def _handles_in(path: str) -> set[str]:
    """Return the handles in a conversation: the host's own lines repeat what was sent, and a quoted placeholder is none."""
    try:
        with files.open_regular(path) as file:
            return {handle for line in file if _MARK in line for handle in _of_line(line)}
    except (OSError, ValueError):
        return set()


def _of_line(line: bytes) -> Iterator[str]:
    entry = entries.entry_of(line)
    for block in entries.blocks_of(entry or {}):
        if block.get("type") == "tool_result":
            handle = handle_in(calls.text_of_blocks(block.get("content"))[0])
            if handle:
                yield handle
