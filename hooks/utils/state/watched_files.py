"""Watch the files that live results show, by their stamps."""

from __future__ import annotations

from ..io import files
from ..io.codec import as_object, dumps, loads


class WatchedFiles:
    """The files that live results show, with the stamp that each had. They stay as text, as in the state file, so that the cost of a call
    does not grow with their number: "\n" + path + ":" + stamp for each, as in a JSON object, "," between them."""

    __slots__ = ("data",)

    def __init__(self, data: bytes = b""):
        self.data = data

    def __contains__(self, path: str) -> bool:
        return _watched_beginning(path) in self.data

    def see(self, path: str, seen: object) -> None:
        """Set the stamp of a file."""
        self.drop(path)
        self.add(path, seen)

    def add(self, path: str, seen: object) -> None:
        """Add a file that is not among them yet."""
        entry = _watched_entry(path, seen)
        self.data = b",".join((self.data, entry)) if self.data else entry

    def drop(self, path: str) -> None:
        begin = self.data.find(_watched_beginning(path))
        if begin >= 0:
            end = self.data.find(b"\n", begin + 1)
            self.data = self.data[:begin] + self.data[end:] if end != -1 else self.data[: max(0, begin - 1)]

    def first(self, most: int = 0) -> dict[str, object]:
        """Return path -> stamp of the first `most` files (0 for all), which are then the last ones."""
        at = self.data.find(b"\n", 1) if most else -1
        for _ in range(most - 1):
            at = self.data.find(b"\n", at + 1) if at != -1 else at
        if at == -1:
            return _watched_table(self.data)
        begin = self.data[: at - 1]
        self.data = b",".join((memoryview(self.data)[at:], begin))
        return _watched_table(begin)


def watched_of(stamps: object) -> WatchedFiles:
    """Return the watched files of path -> stamp."""
    return WatchedFiles(b",".join([_watched_entry(path, seen) for path, seen in stamps.items()]) if isinstance(stamps, dict) else b"")


def _watched_beginning(path: str) -> bytes:
    return files.encoded("\n" + dumps(path) + ":")


def _watched_entry(path: str, seen: object) -> bytes:
    return _watched_beginning(path) + files.encoded(dumps(seen))


def file_stamp(path: str) -> list[int] | None:
    """Return [mtime in ns, size] of a file; None where there is none."""
    stamp = files.stamp_of(path)
    return stamp and stamp[:2]


def changed_files(watched: WatchedFiles, most: int) -> dict[str, str]:
    """Return path -> "modified" or "deleted" for those of the first `most` files (0 for all) whose stamp differs."""
    changes = {}
    for path, seen in watched.first(most).items():
        now = file_stamp(path)
        if now != seen:
            changes[path] = "deleted" if now is None else "modified"
    return changes


def _watched_table(data: bytes) -> dict[str, object]:
    known = loads("{" + files.text_of(data) + "}")
    return as_object(known)
