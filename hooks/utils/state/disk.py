"""Which files that live results show have changed on disk since they were read."""

from __future__ import annotations

from ..edges.system import os


def stamp(path: str) -> list | None:
    """[mtime in ns, size] of a file; None where there is none."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size]


def changes(watched: dict, but: str = "") -> dict:
    """path -> "modified" or "deleted" for every watched file whose stamp differs, but for the one that the agent itself edits."""
    found = {}
    for path, seen in watched.items():
        if path == but:
            continue
        now = stamp(path)
        if now != seen:
            found[path] = "deleted" if now is None else "modified"
    return found
