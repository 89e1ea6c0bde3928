"""The job of an agent's own memory, every hour on a thread of its own: `Memory(…, job="hourly")`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .job import EVERY_S
from .stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from .memory import Memory
    from .stores import Store

PATIENCE_S = 10.0  # that a job gets to end; it may be stopped anywhere


class HourlyJob:
    """Runs the job of a memory at once and then at every interval, if it is due, until `close`. `opened()` opens that memory in the thread;
    `failure` is what went wrong in the last run, None where nothing did."""

    def __init__(self, opened: Callable[[], Memory], every_s: float = EVERY_S) -> None:
        self.failure: Exception | None = None
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(opened, every_s), name="popkit-memory-job", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; a run that takes too long ends with the process."""
        self.over.set()
        if self._thread is not threading.current_thread():
            self._thread.join(PATIENCE_S)

    def _work(self, opened: Callable[[], Memory], every_s: float) -> None:
        while not self.over.is_set():
            try:
                memory = opened()
                try:
                    memory.run()
                finally:
                    if isinstance(memory.store, SqliteStore):  # another is the owner's
                        memory.close()
                self.failure = None
            except Exception as error:  # noqa: BLE001  the next run tries again
                self.failure = error
            self.over.wait(every_s)


def for_thread(store: Store) -> Store:
    """Return a store of the same items that another thread may use."""
    return SqliteStore(store.path) if isinstance(store, SqliteStore) else store
