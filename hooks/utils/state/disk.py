"""Which files that live results show have changed on disk since they were read."""

from __future__ import annotations

from ..edges.codec import dumps, loads
from ..edges.system import os

# So many files a tool call looks at, those first that were looked at longest ago; the user's prompt looks at all.
LOOKED_AT = 32


class Watched:
    """The files that live results show, with the stamp that each was seen with. It stays text, so that what a call costs does not grow with
    how many they are: "\\n" + path + ":" + stamp for each, as in an object of JSON, "," between them."""

    __slots__ = ("text",)

    def __init__(self, text: str = ""):
        self.text = text

    def __contains__(self, path: str) -> bool:
        return _beginning(path) in self.text

    def see(self, path: str, seen: object) -> None:
        """Notes how a file was seen last."""
        self.drop(path)
        entry = _beginning(path) + dumps(seen)
        self.text = self.text + "," + entry if self.text else entry

    def drop(self, path: str) -> None:
        begin = self.text.find(_beginning(path))
        if begin >= 0:
            end = self.text.find("\n", begin + 1)
            rest = self.text[end:] if end >= 0 else ""
            self.text = self.text[:begin] + rest if rest else self.text[: max(0, begin - 1)]

    def first(self, most: int = 0) -> dict:
        """path -> stamp of so many files (0 for all), which are then the last ones."""
        at = self.text.find("\n", 1) if most else -1
        for _ in range(most - 1):
            at = self.text.find("\n", at + 1) if at >= 0 else at
        if at < 0:
            return _table(self.text)
        begin, rest = self.text[: at - 1], self.text[at:]
        self.text = rest + "," + begin
        return _table(begin)


def watched_of(files: object) -> Watched:
    """The watched files of path -> stamp."""
    return Watched(",".join([_beginning(path) + dumps(seen) for path, seen in files.items()]) if isinstance(files, dict) else "")


def _beginning(path: str) -> str:
    return "\n" + dumps(path) + ":"


def stamp(path: str) -> list | None:
    """[mtime in ns, size] of a file; None where there is none."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size]


def changes(watched: Watched, most: int) -> dict:
    """path -> "modified" or "deleted" for the files, of so many (0 for all), whose stamp differs."""
    found = {}
    for path, seen in watched.first(most).items():
        now = stamp(path)
        if now != seen:
            found[path] = "deleted" if now is None else "modified"
    return found


def _table(text: str) -> dict:
    known = loads("{" + text + "}")
    return known if isinstance(known, dict) else {}
