"""Run the job of an agent's own memory every hour, on a thread of its own: `Memory(…, job="hourly")`."""

from __future__ import annotations

import threading
from typing import Protocol

from .job import EVERY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

    from .stores.protocol import Store
    from .stores.sqlite import SqliteStore


class JobMemory(Protocol):
    """A memory, as far as its job needs it."""

    @property
    def store(self) -> Store: ...

    def run(self) -> object: ...


PATIENCE_S = 10.0  # for a job to end; it may be stopped anywhere


class HourlyJob:
    """Runs a memory's job at once and then at every interval, if it is due, until `close`. `opened()` opens that memory in the thread;
    `failure`: the error of the last run, None for none."""

    def __init__(self, opened: Callable[[], JobMemory], every_s: float = EVERY_S) -> None:
        self.failure: Exception | None = None
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(opened, every_s), name="popkit-memory-job", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; a run that takes too long ends with the process."""
        self.over.set()
        if self._thread is not threading.current_thread():
            self._thread.join(PATIENCE_S)

    def _work(self, opened: Callable[[], JobMemory], every_s: float) -> None:
        while not self.over.is_set():
            try:
                memory = opened()
                try:
                    memory.run()
                finally:
                    if _is_sqlite(memory.store):  # any other store is the owner's, as are the vectors
                        memory.store.close()
                self.failure = None
            except Exception as error:  # noqa: BLE001  the next run tries again
                self.failure = error
            self.over.wait(every_s)


def for_thread(store: Store) -> Store:
    """Return a store of the same items that another thread may use."""
    return type(store)(store.path) if _is_sqlite(store) else store


def _is_sqlite(store: Store) -> TypeGuard[SqliteStore]:
    from .stores.sqlite import SqliteStore  # only here: another store needs no SQLite

    return isinstance(store, SqliteStore)
