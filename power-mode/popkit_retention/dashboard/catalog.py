"""The catalog of sessions on disk: transcripts in Claude Code's folder and in ours, our own folders of sessions, and recordings of other
hosts of the same projects. It reads names and stats, and the end of each transcript that has changed; it follows no link, so nothing
outside these folders is ever opened.

A session *runs* while the last entry of its transcript is at most five minutes old and its end has not been recorded since; in the middle
of a turn, where a tool may work for long without output, for an hour while its helper exists. A user who reads an answer for longer counts
as away. The times of files do not show that: a clear writes a transcript, and a question about a session writes its state.

Sessions of a team, which only a database knows, are queried in a thread. Where the database hangs, its last rows are used meanwhile, and no
request waits for it."""

from __future__ import annotations

import os
import stat
import threading
import time
from typing import NamedTuple

from popkit_retention.core.config.cached import effective
from popkit_retention.core.hosts import CLAUDE_CODE, name_of, recorded_sessions
from popkit_retention.core.hosts.transcripts import projects
from popkit_retention.core.io import files, home
from popkit_retention.core.state import data_rules, journal, sockets, store

from .shapes import StoreUnusable
from .transcripts import end_of, head_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from popkit_retention.core.hosts.recorded_sessions import Recorded

    from ..usage.records import SessionUsed

RUNS_S = 300.0
_ENDS = 20_000
FRESH_S = 5.0  # how long other hosts' sessions are not looked up again
# Events in a journal that need no client.
_MANUAL = ("clear", "outside", "undo", "restore", "pin", "unpin", "profile")


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
        """Return whether the last event of a session is its end; operations of the user since then do not count."""
        if ours is None:
            return False
        paths = store.ContextFiles(self._home, id)
        mark = _mark_of(paths.journal)
        known = self._ended.get(id)
        if known is None or known[0] != mark:
            noted = [entry["event"] for entry in journal.read(paths)] if mark else []
            last = next((event for event in reversed(noted) if event not in _MANUAL), "")
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


# --- other hosts ---


class OtherHosts:
    """The sessions that other hosts have recorded for projects in the list. A thread of its own looks them
    up, so that no answer waits for thousands of recordings: until it has ended once, there are none. Thread-safe."""

    def __init__(self, environ: Mapping[str, str], failed: Callable[[str, Exception], object] = lambda *_: None) -> None:
        """`failed(host, error)` is called once for each reason why the sessions of a host cannot be read."""
        self._environ = environ
        self._failed = failed
        self._reported: set[str] = set()
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._read_at = float("-inf")
        self._known: list[Recorded] = []

    def sessions(self, transcripts: Iterable[str]) -> list[Recorded]:
        """Return the known sessions of the projects of these transcripts, and start another look-up where the last was long ago."""
        with self._lock:
            known = self._known
            is_idle = self._reader is None or not self._reader.is_alive()
            if is_idle and time.monotonic() - self._read_at >= FRESH_S:
                self._reader = threading.Thread(target=self._look, args=(list(transcripts),), daemon=True, name="popkit-hosts")
                self._reader.start()
            return known

    def wait(self) -> None:
        """Wait until the running look-up has ended."""
        reader = self._reader
        if reader is not None:
            reader.join()

    def _look(self, transcripts: list[str]) -> None:
        projects = {head_of(path).project for path in transcripts} - {""}
        found = (each for host in recorded_sessions.LISTS for each in self._of(host) if each.id)
        known = [each for each in found if not is_linked(each.path) and is_of(projects, project_of(each))]
        for each in known:
            head_of(each.path)  # cached, so that the list does not wait for it
        self._known = known
        self._read_at = time.monotonic()

    def _of(self, host: str) -> list[Recorded]:
        try:
            return recorded_sessions.LISTS[host](self._environ)
        except home.NoHome:
            return []
        except OSError as error:
            if str(error) not in self._reported:
                self._reported.add(str(error))
                self._failed("dashboard-hosts", error)
            return []


def project_of(recorded: Recorded) -> str:
    """Return the folder in which a session began; "" where that is unknown."""
    return recorded.project or head_of(recorded.path).project


def is_linked(path: str) -> bool:
    """Return whether a recording, or the database that it is in, is a link: it could lead anywhere."""
    return os.path.islink(path) or os.path.islink(os.path.dirname(path))


def is_of(projects: set[str], folder: str) -> bool:
    """Return whether a folder is one of these projects, or below one."""
    while folder:
        if folder in projects:
            return True
        above = os.path.dirname(folder)
        folder = above if above != folder else ""
    return False


# --- sessions that only a database knows ---


AGAIN_S = 5.0  # delay before a failed query is repeated


class TeamSessions:
    """The cached sessions. `ask` returns the newest ones, or raises Unusable; `failed` is called with any other error that it raises."""

    def __init__(
        self,
        ask: Callable[[], list[SessionUsed]],
        failed: Callable[[BaseException], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._failed = failed
        self._lock = threading.Lock()
        self._mark: object = None
        self._sessions: list[SessionUsed] = []
        self._problem: str | None = None
        self._answered: threading.Event | None = None  # of the query that is running
        self._is_slow = False
        self._retry_at = float("-inf")

    def known(self, mark: object, patience_s: float | None) -> list[SessionUsed]:
        """Return the newest known sessions. They are queried again where `mark` differs from that of the last answer; the caller waits for
        that at most `wait_s` (None: until it comes), unless the last query took longer."""
        with self._lock:
            if self._answered is None and mark != self._mark and self._clock() >= self._retry_at:
                self._mark = mark
                self._answered = threading.Event()
                threading.Thread(target=self._work, args=(self._answered,), daemon=True, name="popkit-others").start()
            answered = self._answered
        if answered is not None and not self._is_slow and not answered.wait(patience_s):
            with self._lock:
                self._is_slow = self._answered is answered  # the answer may have come since
        return self._sessions

    @property
    def problem(self) -> str | None:
        """Return why the newest query has no answer, "" where it is still running; None where it was answered."""
        return "" if self._is_slow and self._problem is None else self._problem

    def forget(self) -> None:
        """Forget everything, because another database is configured now."""
        with self._lock:
            self._mark, self._sessions, self._problem, self._answered, self._is_slow = None, [], None, None, False
            self._retry_at = float("-inf")

    def _work(self, answered: threading.Event) -> None:
        sessions, problem = None, None
        try:
            sessions = self._ask()
        except StoreUnusable as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001  a waiting caller needs to learn that there is no answer
            self._failed(error)
            problem = type(error).__name__
        with self._lock:
            if self._answered is answered:  # the database is still the same
                self._sessions = self._sessions if sessions is None else sessions
                self._problem, self._answered, self._is_slow = problem, None, False
                if problem is not None:
                    self._mark, self._retry_at = None, self._clock() + AGAIN_S
        answered.set()
