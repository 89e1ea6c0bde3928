"""Transcripts to be rewritten: numbered lines, of which every third holds a content that goes."""

from __future__ import annotations

import hashlib
import os
import resource
from pathlib import Path

from hooks.utils.reclaim import appending, rewrite

PLACEHOLDER = b'"cleared"'


def line(number: int, chars: int = 400) -> bytes:
    return b'{"type":"user","n":%d,"content":"%s"}\n' % (number, b"%06d" % number * (chars // 6))


def lines(count: int, chars: int = 400) -> bytes:
    return b"".join(line(number, chars) for number in range(count))


def edit(data: bytes, start: int, end: int, new: bytes) -> rewrite.Edit:
    return rewrite.Edit(start, end, new, hashlib.sha256(data[start:end]).hexdigest())


def clearing(data: bytes) -> list[rewrite.Edit]:
    """The edits that clear every third content."""
    edits, at = [], 0
    for number, text in enumerate(data.splitlines(keepends=True)):
        if number % 3 == 0:
            edits.append(edit(data, at + text.index(b'"content":') + len(b'"content":'), at + len(text) - 2, PLACEHOLDER))
        at += len(text)
    return edits


def edited(data: bytes, edits: list[rewrite.Edit]) -> bytes:
    for one in reversed(edits):
        data = data[: one.start] + one.new + data[one.end :]
    return data


def names(folder: Path) -> list[str]:
    """What stands in a folder."""
    return sorted(path.name for path in folder.iterdir())


def seen(path: Path, size: int | None = None) -> rewrite.Seen:
    with path.open("rb") as file:
        return rewrite.seen_of(file, os.fstat(file.fileno()).st_size if size is None else size)


def clear(path: str | Path, keep: str | Path | None = None) -> rewrite.Rewritten:
    path = Path(path)
    return rewrite.rewrite(str(path), clearing(path.read_bytes()), seen(path), str(keep) if keep else None)


def carry_over(old: str, new: str) -> None:
    """Carries lines over that came late; prints what found no room."""
    fds = os.open(old, os.O_RDONLY), os.open(new, os.O_RDWR | os.O_APPEND)
    try:
        appending.carry_over(*fds, 8, new, old)
    except rewrite.CarryFailed as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)  # or what is printed would be cut, too
        print(error, error.lines)
