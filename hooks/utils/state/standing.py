"""Which placeholders stand in the host's transcripts. Slow: it reads all of them."""

from __future__ import annotations

from ..edges import files, home
from ..host import projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from re import Pattern
    from sqlite3 import Connection

# How a placeholder ends, as it stands in a transcript.
_MARK, _HANDLE = b"[PopKit cleared ", rb"popkit restore ([a-z2-7]{8,51})\]"


def handles(db: Connection, environ: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """(transcript, the handles of the placeholders in it, in order): of every transcript of the host, and of those that the archive
    names."""
    import re

    handle = re.compile(_HANDLE)
    for path in sorted(_transcripts(db, environ)):
        found = _handles_in(path, handle)
        if found:
            yield path, sorted(found)


def _transcripts(db: Connection, environ: Mapping[str, str]) -> set[str]:
    named = {path for (path,) in db.execute("SELECT DISTINCT transcript FROM chains") if path}
    try:
        return named.union(projects.every(environ))
    except home.NoHome:
        return named


def _handles_in(path: str, handle: Pattern[bytes]) -> set[str]:
    try:
        with files.open_regular(path) as file:
            return {found.decode() for line in file if _MARK in line for found in handle.findall(line)}
    except (OSError, ValueError):
        return set()
