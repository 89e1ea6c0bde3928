"""The reading of a growing file, from where the last reading ended."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import BinaryIO, NamedTuple

from popkit_retention.core.io.files import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SEALED = 1_024  # bytes at the beginning, and before where it was read to


class Mark(NamedTuple):
    """The mark of a reader in a file: its size in bytes and modification time (ns since 1970) then, the offset of the next line, and a hash
    of what precedes it."""

    size: int
    changed_ns: int
    read: int
    seal: str


def mark_of(path: str) -> tuple[int, int] | None:
    """Return a file's size and modification time, as in its Mark; None where there is no file."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return stat.st_size, stat.st_mtime_ns


def read_on(path: str, mark: Mark | None, take: Callable[[bytes], object]) -> Mark:
    """Pass the lines that a file has gained since its Mark to `take`; return the new Mark. Read a file that has shrunk or was replaced, as
    by a clear, from its beginning. A last line without a line break is passed too, and again the next time. OSError, ValueError."""
    with open_regular(path) as file:
        stat = os.fstat(file.fileno())
        end = mark.read if mark and mark.read <= stat.st_size and _seal(file, mark.read) == mark.seal else 0
        file.seek(end)
        for line in file:
            take(line)
            end += len(line) if line.endswith(b"\n") else 0
        return Mark(stat.st_size, stat.st_mtime_ns, end, _seal(file, end))


def _seal(file: BinaryIO, end: int) -> str:
    file.seek(0)
    first = file.read(min(end, _SEALED))
    file.seek(max(0, end - _SEALED))
    return blake2b(first + file.read(min(end, _SEALED)), digest_size=16).hexdigest()
