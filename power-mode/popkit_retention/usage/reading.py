"""Files that grow line by line, read on from where they were read to."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hooks.utils.edges.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable

_SEALED = 1_024  # bytes at the beginning, and before where it was read to


class Mark(NamedTuple):
    """How far a file was read: its size in bytes and when it was changed (ns since 1970) at that time, behind which byte the next line
    begins, and a seal over what stands before that."""

    size: int
    changed_ns: int
    read: int
    seal: str


def mark_of(path: str) -> tuple[int, int] | None:
    """Return a file's size and when it was changed, as in its Mark; None for none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


def read_on(path: str, mark: Mark | None, take: Callable[[bytes], object]) -> Mark:
    """Hand over the lines that a file has gained since its Mark, and return the new one. A file that has shrunk or become another, as by a
    clear, is read whole. A last line without an end is handed over as it is, and again the next time. OSError, ValueError."""
    with open_regular(path) as file:
        found = os.fstat(file.fileno())
        end = mark.read if mark and mark.read <= found.st_size and _seal(file, mark.read) == mark.seal else 0
        file.seek(end)
        for line in file:
            take(line)
            end += len(line) if line.endswith(b"\n") else 0
        return Mark(found.st_size, found.st_mtime_ns, end, _seal(file, end))


def _seal(file: BinaryIO, end: int) -> str:
    file.seek(0)
    first = file.read(min(end, _SEALED))
    file.seek(max(0, end - _SEALED))
    return blake2b(first + file.read(min(end, _SEALED)), digest_size=16).hexdigest()
