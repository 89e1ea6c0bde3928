"""Which placeholders stand in the host's transcripts: what would stand for nothing if their contents were deleted."""

from __future__ import annotations

import re

from .. import archive
from ..answers import text
from ..edges import files, home
from . import sessions

# How a placeholder ends, as it stands in a transcript.
_MARK, _HANDLE = b"[PopKit cleared ", re.compile(rb"popkit restore ([a-z2-7]{8,51})\]")
_SHOWN = 5  # placeholders of one transcript


def placeholders(db, environ, wanted=None) -> dict:
    """transcript -> the archived Records whose placeholders stand in it: in every transcript of the host, and in those that the archive
    names. With `wanted` only those of these handles."""
    found: dict = {}
    for path in sorted(_transcripts(db, environ)):
        known = [archive.record(db, handle) for handle in sorted(_handles_in(path)) if wanted is None or handle in wanted]
        if any(known):
            found[path] = list(filter(None, known))
    return found


def _transcripts(db, environ) -> set:
    named = {path for (path,) in db.execute("SELECT DISTINCT transcript FROM chains") if path}
    try:
        return named.union(sessions.every(environ))
    except home.NoHome:
        return named


def _handles_in(path: str) -> set:
    try:
        with files.open_regular(path) as file:
            return {handle.decode() for line in file if _MARK in line for handle in _HANDLE.findall(line)}
    except (OSError, ValueError):
        return set()


def lines(found: dict) -> list:
    """The placeholders, below their sessions, as a person reads them."""
    shown: list = []
    for path, records in found.items():
        shown.append("  session " + text.cut(text.clean(sessions.session_id_of(path)), text.WIDTH - 10))
        shown += [_line(record) for record in records[:_SHOWN]]
        shown += [f"    … {len(records) - _SHOWN} more"] if len(records) > _SHOWN else []
    return shown


def _line(record) -> str:
    head = f"    {record.id}  "
    return head + text.cut(text.clean(record.label), text.WIDTH - len(head))


def data(found: dict) -> dict:
    """The same for programs: transcript -> handles."""
    return {path: [record.id for record in records] for path, records in found.items()}


def count(found: dict) -> int:
    return sum(map(len, found.values()))
