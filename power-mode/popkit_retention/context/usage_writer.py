"""A writer of snapshots and usage in the background: `put` never waits, a thread writes in batches.

A database that cannot be reached delays nobody: the queue is bounded, what does not fit is dropped and counted, and one warning is logged.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from typing import Union

from popkit_retention.core.io import home

from ..usage.records import RequestUsage, Snapshot
from ..usage.usage_store import DatabaseUnavailable, NotWritable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..usage.usage_store import UsageStore

    Item = Union[Snapshot, RequestUsage]

_LOG = logging.getLogger("popkit")
MOST_WAITING = 10_000
BATCH = 200
AGAIN_S = (1.0, 5.0, 30.0)  # delays before a retry, the last from the third failure on
AT_EXIT_S = 2.0  # how long the process's exit waits for the queue
SWEPT_EVERY_S = 60.0


class Writer:
    """The writer of a process. `open`: opens the database, in the thread that writes. `keep_days`: how long snapshots are kept."""

    def __init__(self, open: Callable[[], UsageStore], keep_days: int, clock: Callable[[], float] = time.time) -> None:
        self._open = open
        self._keep_days = keep_days
        self._clock = clock
        self.lost = 0
        self._is_warned = self._is_dropping = False
        self._reset()

    def _reset(self) -> None:
        """Reset everything: at the start, and in a forked process, where the thread is gone and the connections are not ours."""
        self._queue: deque[Item] = deque()
        self._wake = threading.Condition()
        self._writing = 0
        self.is_failing = False  # the database did not take the last batch
        self._is_closed = False
        self._store: UsageStore | None = None
        self._thread: threading.Thread | None = None
        self._swept = 0.0
        self._sessions: set[str] = set()  # written to since the last sweep
        self._pid = os.getpid()

    def put(self, item: Item) -> bool:
        """Queue a snapshot or usage; return whether it was taken. Never waits for the database."""
        if self._pid != os.getpid():
            self._reset()
        with self._wake:
            if self._is_closed or len(self._queue) >= MOST_WAITING:
                self._lose(1)
                return False
            self._queue.append(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="popkit-writer", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._wake.notify_all()
        return True

    def flush(self, timeout_s: float = AT_EXIT_S) -> bool:
        """Wait until the queue is written, at most `timeout_s`; return whether it is."""
        with self._wake:
            return self._wake.wait_for(lambda: not self._queue and not self._writing, timeout_s)

    def close(self, timeout_s: float = AT_EXIT_S) -> None:
        """Write the queue, as far as that takes no longer, and end."""
        if self._pid != os.getpid():
            return
        self.flush(timeout_s)
        with self._wake:
            self._is_closed = True
            self._lose(len(self._queue))
            self._queue.clear()
            self._wake.notify_all()
        if self._thread is not None and not self._writing:
            self._thread.join(timeout_s)
            atexit.unregister(self.close)

    def _lose(self, count: int) -> None:
        self.lost += count
        if count and not self._is_warned:
            self._is_warned = True
            _LOG.warning(
                "Some snapshots and usage are not written, because the database cannot be reached or does not keep up. "
                "`popkit budget` shows what is wrong."
            )

    def _work(self) -> None:
        failures = 0
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._queue or self._is_closed)
                if not self._queue:
                    break
                batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                self._writing = len(batch)
            written = self._written(batch)
            failures, self.is_failing = (0, False) if written else (failures + 1, True)
            if written:
                self._sweep({item.session_id for item in batch if isinstance(item, Snapshot)})
            with self._wake:
                self._writing = 0
                if not written:
                    self._put_back(batch)
                    self._wake.wait_for(lambda: self._is_closed, AGAIN_S[min(failures, len(AGAIN_S)) - 1])
                self._wake.notify_all()
        self._disconnect()

    def _disconnect(self) -> None:
        """Close the connection. The next batch opens it again, which creates the tables of a database that was set up again meanwhile."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _put_back(self, batch: list[Item]) -> None:
        """Return an unwritten batch to the front of the queue; drop items that no longer fit, the oldest first."""
        room = max(0, MOST_WAITING - len(self._queue)) if not self._is_closed else 0
        self._lose(len(batch) - room if len(batch) > room else 0)
        self._queue.extendleft(reversed(batch[len(batch) - min(room, len(batch)) :]))

    def _written(self, batch: list[Item]) -> bool:
        try:
            if self._store is None:
                self._store = self._open()
            used = [item for item in batch if not isinstance(item, Snapshot)]
            self._store.write(used, [item for item in batch if isinstance(item, Snapshot)])
        except NotWritable as error:
            self._drop(batch, error)
        except (DatabaseUnavailable, OSError, home.NoHome):
            self._disconnect()
            return False
        except Exception as error:  # noqa: BLE001  the thread must live: what comes later can be written
            self._drop(batch, error)
        return True

    def _drop(self, batch: list[Item], error: Exception) -> None:
        level, self._is_dropping = logging.DEBUG if self._is_dropping else logging.WARNING, True
        _LOG.log(level, "Snapshots or usage cannot be written (%s), and are left out. This is logged once.", type(error).__name__)
        self.lost += len(batch)

    def _sweep(self, sessions: set[str]) -> None:
        """Remove old rows now and then, while the queue is empty. Where that fails the next sweep does it."""
        self._sessions |= sessions
        now = self._clock()
        if self._store is None or 0 <= now - self._swept < SWEPT_EVERY_S:  # a clock may be set back
            return
        try:
            done = self._store.sweep(now, self._keep_days, self._sessions, lambda: not self._queue and not self._is_closed)
        except Exception as error:  # noqa: BLE001  the thread must live: no write depends on this
            _LOG.debug("Old rows could not be removed (%s).", type(error).__name__)
            done = True
        if done:
            self._swept = now
            self._sessions.clear()
