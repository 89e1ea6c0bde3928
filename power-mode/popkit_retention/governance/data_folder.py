"""The data folder of governance, locked by one process at a time."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, contextmanager

from popkit_retention.core.io import durable, files

from .errors import GovernanceBusy, GovernanceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_S = 30.0
# After releasing the lock a process pauses before it takes it again: waiting processes try every 2 ms.
_PAUSE_S = 0.005
# Closing any descriptor of a lock file releases the process's lock on it, so a thread that holds the lock must not open the file again.
_threads = threading.RLock()
_held: set[str] = set()
_left_at: dict[str, float] = {}


class Folder:
    """`$POPKIT_HOME/data`: `state` and `archives` are folders, `policies` and `log_path` files. Any of them may be missing."""

    def __init__(self, popkit_home: str) -> None:
        data = os.path.join(os.path.abspath(popkit_home), "data")
        self.state = os.path.join(data, "state")
        self.archives = os.path.join(data, "archive")
        self.policies = os.path.join(self.state, "retention-policies.json")
        self.log_path = os.path.join(self.state, "retention-log.sqlite")
        self._lock_path = os.path.join(self.state, "retention.lock")

    @contextmanager
    def lock(self, wait_s: float = WAIT_S) -> Iterator[None]:
        """Take the lock, again where this thread holds it already. Create the folder of the state. Busy where others hold it for `wait_s`
        seconds, a GovernanceError where it cannot be taken."""
        if not _threads.acquire(timeout=wait_s):
            raise GovernanceBusy(_busy(wait_s))
        try:
            if self._lock_path in _held:
                yield
            else:
                with self._between_processes(wait_s):
                    yield
        finally:
            _threads.release()

    @contextmanager
    def _between_processes(self, wait_s: float) -> Iterator[None]:
        path = self._lock_path
        time.sleep(max(0.0, min(_PAUSE_S, _left_at.get(path, 0.0) + _PAUSE_S - time.monotonic())))
        with ExitStack() as lock:
            try:
                durable.make_durable_folder(self.state)
                lock.enter_context(files.Lock(path, wait_s))
            except files.LockTimeout:
                raise GovernanceBusy(_busy(wait_s)) from None
            except OSError as error:
                reason = error.strerror or error
                raise GovernanceError(f"{path} cannot be used ({reason}). Nothing was changed; try again when that is fixed") from None
            _held.add(path)
            try:
                yield
            finally:
                _held.discard(path)
                _left_at[path] = time.monotonic()


def _busy(wait_s: float) -> str:
    return f"another PopKit process has been changing retention for more than {wait_s:g} s. Try again when it is done; nothing was changed"
