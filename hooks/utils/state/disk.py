"""Which files that live results show have changed on disk since they were read."""

from __future__ import annotations

from ..io.codec import dumps, loads
from ..io.files import encoded, text_of
from ..io.system import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# So many files a tool call looks at, those first that were looked at longest ago; the user's prompt looks at all.
LOOKED_AT = 32


class Watched:
    """The files that live results show, with the stamp that each was seen with. They stay as they stand in the state, so that what a call
    costs does not grow with how many they are: "\\n" + path + ":" + stamp for each, as in an object of JSON, "," between them."""

    __slots__ = ("data",)

    def __init__(self, data: bytes = b""):
        self.data = data

    def __contains__(self, path: str) -> bool:
        return _beginning(path) in self.data

    def see(self, path: str, seen: object) -> None:
        """Notes how a file was seen last."""
        self.drop(path)
        self.add(path, seen)

    def add(self, path: str, seen: object) -> None:
        """Notes how a file was seen that is not among them yet."""
        entry = _entry(path, seen)
        self.data = b",".join((self.data, entry)) if self.data else entry

    def drop(self, path: str) -> None:
        begin = self.data.find(_beginning(path))
        if begin >= 0:
            end = self.data.find(b"\n", begin + 1)
            self.data = self.data[:begin] + self.data[end:] if end >= 0 else self.data[: max(0, begin - 1)]

    def first(self, most: int = 0) -> dict[str, Any]:
        """path -> stamp of so many files (0 for all), which are then the last ones."""
        at = self.data.find(b"\n", 1) if most else -1
        for _ in range(most - 1):
            at = self.data.find(b"\n", at + 1) if at >= 0 else at
        if at < 0:
            return _table(self.data)
        begin = self.data[: at - 1]
        self.data = b",".join((memoryview(self.data)[at:], begin))
        return _table(begin)


def watched_of(files: object) -> Watched:
    """The watched files of path -> stamp."""
    return Watched(b",".join([_entry(path, seen) for path, seen in files.items()]) if isinstance(files, dict) else b"")


def _beginning(path: str) -> bytes:
    return encoded("\n" + dumps(path) + ":")


def _entry(path: str, seen: object) -> bytes:
    return _beginning(path) + encoded(dumps(seen))


def stamp(path: str) -> list[int] | None:
    """[mtime in ns, size] of a file; None where there is none."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size]


def changes(watched: Watched, most: int) -> dict[str, str]:
    """path -> "modified" or "deleted" for the files, of so many (0 for all), whose stamp differs."""
    found = {}
    for path, seen in watched.first(most).items():
        now = stamp(path)
        if now != seen:
            found[path] = "deleted" if now is None else "modified"
    return found


def _table(data: bytes) -> dict[str, Any]:
    known = loads("{" + text_of(data) + "}")
    return known if isinstance(known, dict) else {}
