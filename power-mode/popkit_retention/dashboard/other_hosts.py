"""The sessions that other hosts have recorded of projects in the list. A thread looks them up, so that no answer waits for thousands of
recordings."""

from __future__ import annotations

import os
import threading
import time

from popkit_retention.core.hosts import recorded_sessions
from popkit_retention.core.io import home

from .transcript_heads import head_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from popkit_retention.core.hosts.recorded_sessions import RecordedSession

FRESH_S = 5.0  # how long other hosts' sessions are not looked up again


class OtherHosts:
    """The recorded sessions. There are none until the first look-up has ended. Thread-safe."""

    def __init__(self, environ: Mapping[str, str], failed: Callable[[str, Exception], object] = lambda *_: None) -> None:
        """`failed(host, error)` is called once for each reason why the sessions of a host cannot be read."""
        self._environ = environ
        self._failed = failed
        self._reported: set[str] = set()
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._read_at = float("-inf")
        self._known: list[RecordedSession] = []

    def sessions(self, transcripts: Iterable[str]) -> list[RecordedSession]:
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

    def _of(self, host: str) -> list[RecordedSession]:
        try:
            return recorded_sessions.LISTS[host](self._environ)
        except home.NoHome:
            return []
        except OSError as error:
            if str(error) not in self._reported:
                self._reported.add(str(error))
                self._failed("dashboard-hosts", error)
            return []


def project_of(recorded: RecordedSession) -> str:
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
