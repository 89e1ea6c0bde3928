"""Which sessions there are, by what lies on the disk: transcripts in Claude Code's folder, and what we keep of sessions. Looks at names and
stats, and once at the end of each transcript that has changed; follows no link, so nothing outside of these folders is ever opened.

A session *runs* while the last entry of its transcript is no older than five minutes, and its end has not been noted since; in the middle
of a turn, where a tool may work for long without a word, for an hour while its helper is there. Who reads an answer for longer is no more
than away. When files were written tells nothing of that: a clear writes a transcript, and whoever asks about a session its state.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NamedTuple

from hooks.utils.edges import home
from hooks.utils.helper import sockets
from hooks.utils.hosts.claude_code import projects
from hooks.utils.state import store

from .ends import End, end_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

RUNS_S = 300.0
WORKS_S = 3_600.0
_ENDS = 20_000
# Events of a journal that need no client.
_BY_HAND = ("clear", "outside", "undo", "restore", "pin", "unpin", "profile")


class Known(NamedTuple):
    """A session: `transcript` ("" where there is none here), when something last happened (`changed_at`, seconds), whether it runs, and
    a `stamp` that changes whenever something of it does."""

    id: str
    transcript: str
    changed_at: float
    running: bool
    stamp: str


class _Seen(NamedTuple):
    path: str
    at: float
    mark: tuple[int, int, int]


class Catalog:
    """The sessions of one user. Threads may ask at once."""

    def __init__(self, environ: Mapping[str, str], popkit_home: str, now: Callable[[], float]) -> None:
        self._root = projects.folder_of(environ)
        self._home = popkit_home
        self._now = now
        self._lock = threading.Lock()
        self._ended: dict[str, tuple[object, bool]] = {}
        self._ends: dict[str, tuple[object, End | None]] = {}

    def sessions(self) -> dict[str, Known]:
        """id -> what is known of it, looked up now."""
        with self._lock:
            return {known.id: known for known in self._look()}

    def find(self, id: str) -> Known | None:
        """The session of exactly this id, among those that there are."""
        return self.sessions().get(id)

    def _look(self) -> Iterator[Known]:
        now, alive = self._now(), sockets.running(self._home)
        kept = self._kept()
        transcripts = self._transcripts()
        names = {home.safe_name(id): id for id in transcripts}
        for name in {**names, **kept}:
            id = names.get(name, name)
            seen, ours = transcripts.get(id), kept.get(name)
            end = self._end_of(seen) if seen else None
            at = end.at if end else max(each.at for each in (seen, ours) if each)
            runs = end is not None and _goes_on(end, now, id, alive) and not self._has_ended(id, ours)
            stamp = _stamp(seen, ours, runs)
            yield Known(id, seen.path if seen else "", at, runs, stamp)

    def _end_of(self, seen: _Seen) -> End | None:
        """Read once for as long as nothing of a transcript changes."""
        known = self._ends.get(seen.path)
        if known is None or known[0] != seen.mark:
            if len(self._ends) >= _ENDS:
                self._ends.clear()
            known = self._ends[seen.path] = (seen.mark, end_of(seen.path))
        return known[1]

    def _kept(self) -> dict[str, _Seen]:
        """name -> the folder of what we keep of a session."""
        folders = (entry for entry in _entries(os.path.join(self._home, "sessions")) if entry.is_dir(follow_symlinks=False))
        return {folder.name: seen for folder in folders if (seen := _seen(folder))}

    def _transcripts(self) -> dict[str, _Seen]:
        """id -> its transcript, the newest where it stands in two folders."""
        found: dict[str, _Seen] = {}
        for folder in _entries(self._root):
            if not folder.is_dir(follow_symlinks=False):
                continue
            for entry in _entries(folder.path):
                if entry.name.endswith(projects.SUFFIX) and not entry.name.startswith("agent-") and entry.is_file(follow_symlinks=False):
                    id, seen = entry.name[: -len(projects.SUFFIX)], _seen(entry)
                    if id and seen and (id not in found or found[id].at < seen.at):
                        found[id] = seen
        return found

    def _has_ended(self, id: str, ours: _Seen | None) -> bool:
        """Whether the last that was noted of a session is its end; what was done with it by hand since does not open it."""
        if ours is None:
            return False
        paths = store.ContextFiles(self._home, id)
        mark = _mark_of(paths.journal)
        known = self._ended.get(id)
        if known is None or known[0] != mark:
            noted = [entry.get("event") for entry in store.read_lines(paths.journal) if isinstance(entry, dict)] if mark else []
            last = next((event for event in reversed(noted) if event not in _BY_HAND), "")
            known = self._ended[id] = (mark, last == "end")
        return known[1]


def _goes_on(end: End, now: float, id: str, alive: Container[str]) -> bool:
    age = now - end.at
    return age < RUNS_S or (age < WORKS_S and end.in_turn and sockets.stem(id) in alive)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder, but for names that are no text: no address can have them, and the client gives none."""
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if _is_text(entry.name)]
    except OSError:
        return []


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _seen(entry: os.DirEntry[str]) -> _Seen | None:
    try:
        stat = entry.stat(follow_symlinks=False)
    except OSError:
        return None  # it has gone meanwhile
    return _Seen(entry.path, stat.st_mtime, (stat.st_mtime_ns, stat.st_size, stat.st_ino))


def _mark_of(path: str) -> tuple[int, int] | None:
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _stamp(transcript: _Seen | None, ours: _Seen | None, runs: bool) -> str:
    return "-".join(["{:x}.{:x}.{:x}".format(*seen.mark) if seen else "" for seen in (transcript, ours)] + ["r" if runs else ""])
