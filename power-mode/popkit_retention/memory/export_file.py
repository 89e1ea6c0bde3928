"""The lines of an export of memory: write them, read them."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from popkit_retention.core.io import files

from .items import BadItem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO


LINE_BYTES = 16 << 20  # an item of a million characters, each escaped, and its embedding
STDIN = "-"


def write_lines(path: str, lines: Iterable[str]) -> int:
    """Write lines into a private file, replacing an existing one; return how many. OSError where the file cannot be written, and for
    anything but a regular file: a device would be replaced."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(22, "not a regular file. Name another, or none for standard output", path)
    count = 0

    def write(fd: int) -> None:
        nonlocal count
        with open(fd, "w", encoding="utf-8", newline="\n", closefd=False) as file:
            for line in lines:
                file.write(line.rstrip("\n") + "\n")
                count += 1

    files.replace(path, write)
    return count


@contextmanager
def read_lines(path: str) -> Iterator[Iterator[str]]:
    """Yield the lines of a file, or of standard input for `-`; BadItem for a line that is too long or not UTF-8, OSError for no such
    file."""
    if path == STDIN:
        yield _decoded(sys.stdin.buffer) if sys.stdin else iter(())
        return
    with files.open_regular(path) as file:
        yield _decoded(file)


def _decoded(file: BinaryIO) -> Iterator[str]:
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            raise BadItem(f"line {number:,} is longer than {LINE_BYTES >> 20} MB")
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise BadItem(f"line {number:,} is not UTF-8") from None
