"""The sessions that other hosts have recorded of the projects that the list has, for the catalog. They are looked up in a thread of their
own, so that no answer waits for thousands of recordings: until it has ended once, there are none."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from hooks.utils.hosts import others
from hooks.utils.io import home

from .transcripts import head_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hooks.utils.hosts.others import Recorded

FRESH_S = 5.0  # for so long they are not looked up again


class OtherHosts:
    """The sessions of other hosts of one user. Threads may ask at once."""

    def __init__(self, environ: Mapping[str, str], failed: Callable[[str, Exception], object] = lambda *_: None) -> None:
        """`failed` is told of a host whose sessions cannot be read, once for each reason."""
        self._environ = environ
        self._failed = failed
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._read_at = float("-inf")
        self._known: list[Recorded] = []

    def sessions(self, transcripts: Iterable[str]) -> list[Recorded]:
        """Return those that are known of the projects of these transcripts, and have them looked up again where that was long ago."""
        with self._lock:
            known = self._known
            is_idle = self._reader is None or not self._reader.is_alive()
            if is_idle and time.monotonic() - self._read_at >= FRESH_S:
                self._reader = threading.Thread(target=self._look, args=(list(transcripts),), daemon=True, name="popkit-hosts")
                self._reader.start()
            return known

    def wait(self) -> None:
        """Wait until the look that is going on has ended."""
        reader = self._reader
        if reader is not None:
            reader.join()

    def _look(self, transcripts: list[str]) -> None:
        projects = {head_of(path).project for path in transcripts} - {""}
        found = (each for host in others.LISTS for each in self._of(host))
        self._known = [each for each in found if each.id and not is_linked(each.path) and is_of(projects, project_of(each))]
        self._read_at = time.monotonic()

    def _of(self, host: str) -> list[Recorded]:
        try:
            return others.LISTS[host](self._environ)
        except home.NoHome:
            return []
        except OSError as error:
            if str(error) not in self._told:
                self._told.add(str(error))
                self._failed("dashboard-hosts", error)
            return []


def project_of(recorded: Recorded) -> str:
    """Return the folder in which a session began; "" where that is not told."""
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
