"""The catalog of sessions on disk: transcripts, our own folders of sessions, recordings of other hosts.

It reads names and stats, besides the end of each transcript that has changed. It follows no link, so nothing outside these folders is ever
opened.

A session *runs* while the last entry of its transcript is at most five minutes old and its end has not been recorded since; in the middle
of a turn, where a tool may work for long without output, for an hour while its helper exists. A user who reads an answer for longer counts
as away. The times of files do not show that: a clear writes a transcript, and a question about a session writes its state."""

from __future__ import annotations

import os
import stat
import threading
from typing import NamedTuple

from popkit_retention.core.config.cached import effective
from popkit_retention.core.hosts import CLAUDE_CODE, name_of
from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.io import files, home
from popkit_retention.core.state import data_rules, journal, sockets, store

from .transcript_ends import end_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from .other_hosts import OtherHosts

RUNS_S = 300.0
_ENDS = 20_000
# Events in a journal that need no client; "over" is noted by the next session of the project.
_WITHOUT_CLIENT = ("over", "clear", "outside", "undo", "restore", "pin", "unpin", "profile")


class Known(NamedTuple):
    """A session: `transcript` ("" where there is none here), when something last happened (`changed_at`, seconds), whether it runs, and a
    `stamp` that changes with everything of the session. `host`: its name; `recorded`: whether the transcript is that host's own recording,
    and nothing of the session is ours; `project`: where it began, as that host's list says, "" for unknown."""

    id: str
    transcript: str
    changed_at: float
    running: bool
    stamp: str
    host: str = CLAUDE_CODE
    recorded: bool = False
    project: str = ""


class _FileState(NamedTuple):
    path: str
    at: float
    mark: tuple[int, int, int]


class Catalog:
    """The sessions of one user. Thread-safe."""

    def __init__(self, environ: Mapping[str, str], popkit_home: str, now: Callable[[], float], other_hosts: OtherHosts) -> None:
        self._roots = projects.roots(environ)
        self._other_hosts = other_hosts
        self._home = popkit_home
        self._now = now
        self._lock = threading.Lock()
        self._ended: dict[str, tuple[object, bool]] = {}
        self._ends: dict[str, tuple[object, float | None]] = {}

    def sessions(self) -> dict[str, Known]:
        """Return id -> the session, looked up now."""
        with self._lock:
            return {known.id: known for known in self._look()}

    def find(self, id: str) -> Known | None:
        """Return the session of exactly this id; None for none."""
        return self.sessions().get(id)

    def _look(self) -> Iterator[Known]:
        now, alive = self._now(), sockets.running(self._home)
        stored, configured = self._stored(), effective(home.plugin_root(), self._home, "").get("data_rules")
        transcripts = self._transcripts()
        names = {home.safe_name(id): id for id in transcripts}
        for name in {**names, **stored}:
            id = names.get(name, name)
            seen, ours = transcripts.get(id), stored.get(name)
            end = self._end_of(seen) if seen else None
            at = end or max(each.at for each in (seen, ours) if each)
            runs = end is not None and self._stands_open(end, now, id, alive) and not self._has_ended(id, ours)
            stamp = _stamp(seen, ours, runs)
            if not data_rules.held({}, self._home, id if ours else "", configured):  # of one under a rule the page knows nothing
                yield Known(id, seen.path if seen else "", at, runs, stamp, name_of(id))
        yield from self._recorded(transcripts, now)

    def _recorded(self, transcripts: Mapping[str, _FileState], now: float) -> Iterator[Known]:
        """Yield recordings of other hosts of which we have no transcript."""
        for each in self._other_hosts.sessions(seen.path for seen in transcripts.values()):
            if each.id not in transcripts:
                runs = 0 <= now - each.changed_at < RUNS_S
                stamp = f"{each.changed_at:.3f}-{'r' if runs else ''}"
                yield Known(each.id, each.path, each.changed_at, runs, stamp, each.host, True, each.project)

    def _stands_open(self, end: float, now: float, id: str, alive: Container[str]) -> bool:
        """Return whether a session was at work just now, or its client stands open, however long nothing has been said."""
        return now - end < RUNS_S or (sockets.stem(id) in alive and sockets.listens(self._home, id))

    def _end_of(self, seen: _FileState) -> float | None:
        """Return the end of a transcript, which is read again only after the file has changed."""
        known = self._ends.get(seen.path)
        if known is None or known[0] != seen.mark:
            if len(self._ends) >= _ENDS:
                self._ends.clear()
            known = self._ends[seen.path] = (seen.mark, end_of(seen.path))
        return known[1]

    def _stored(self) -> dict[str, _FileState]:
        """Return name -> our folder of a session."""
        return {os.path.basename(seen.path): seen for seen in _folders(os.path.join(self._home, "sessions"))}

    def _transcripts(self) -> dict[str, _FileState]:
        """Return id -> its transcript, the newest where two folders have one."""
        newest: dict[str, _FileState] = {}
        for path in projects.transcripts(folder.path for root in self._roots for folder in _folders(root)):
            id, seen = projects.session_id_of(path), _seen(path, stat.S_ISREG)
            if id and seen and (id not in newest or newest[id].at < seen.at):
                newest[id] = seen
        return newest

    def _has_ended(self, id: str, ours: _FileState | None) -> bool:
        """Return whether the last event of a session's client is its end; what happened since without a client does not count."""
        if ours is None:
            return False
        paths = store.ContextFiles(self._home, id)
        mark = _mark_of(paths.journal)
        known = self._ended.get(id)
        if known is None or known[0] != mark:
            noted = [entry["event"] for entry in journal.read(paths)] if mark else []
            last = next((event for event in reversed(noted) if event not in _WITHOUT_CLIENT), "")
            known = self._ended[id] = (mark, last == "end")
        return known[1]


def _folders(folder: str) -> list[_FileState]:
    """Return the folders in a folder."""
    return [seen for name in files.names(folder) if (seen := _seen(os.path.join(folder, name), stat.S_ISDIR))]


def _seen(path: str, is_kind: Callable[[int], bool]) -> _FileState | None:
    """Return the state of a file of this kind; None for anything else, for a link, for a file that is gone meanwhile, or for a name that is
    not text: no address can have that, and the client never writes one."""
    try:
        os.path.basename(path).encode()
        status = os.lstat(path)
    except (OSError, UnicodeEncodeError):
        return None
    return _FileState(path, status.st_mtime, (status.st_mtime_ns, status.st_size, status.st_ino)) if is_kind(status.st_mode) else None


def _mark_of(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _stamp(transcript: _FileState | None, ours: _FileState | None, runs: bool) -> str:
    return "-".join(["{:x}.{:x}.{:x}".format(*seen.mark) if seen else "" for seen in (transcript, ours)] + ["r" if runs else ""])
