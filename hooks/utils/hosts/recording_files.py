"""The files in which hosts record their sessions, the newest first. Read, never changed."""

from __future__ import annotations

import json  # noqa: TID253  no hook on a tool call reads other hosts' records
import os

from ..io import files
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_TAIL_BYTES = 128 * 1024


def newest_first(root: str, is_session: Callable[[str], object]) -> list[tuple[float, str]]:
    """Return (when it was last written in seconds, path) of the session files below a folder, the one that was written last first."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = join(folder, name)
            if is_session(path):
                try:
                    found.append((os.stat(path).st_mtime, path))
                except OSError:
                    continue
    return sorted(found, reverse=True)


def newest_records(path: str, marks: Sequence[bytes]) -> Iterator[dict[str, object]]:
    """Yield the objects at the end of a file of JSON lines, the newest first, of the lines that hold one of the marks; none where the file
    cannot be read."""
    try:
        with files.open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).split(b"\n")
    except (OSError, ValueError):
        return
    for line in reversed(lines):
        if any(mark in line for mark in marks):
            try:
                record = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record
