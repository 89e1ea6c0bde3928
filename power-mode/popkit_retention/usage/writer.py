"""Writes snapshots and usage behind calls: `put` never waits, a thread writes them in batches.

A database that cannot be reached delays nobody: what waits is bounded, what is beyond goes unwritten and is counted, and that is said
once.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Union

from hooks.utils.edges import home

from .records import Snapshot, Used
from .store import DatabaseUnavailable, NotWritable

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import UsageStore

    Item = Union[Snapshot, Used]

_LOG = logging.getLogger("popkit")
MOST_WAITING = 10_000
BATCH = 200
AGAIN_S = (1.0, 5.0, 30.0)  # so long after a failure it is tried again, the last from the third on
AT_EXIT_S = 2.0  # so long the end of the process waits for what is still to be written
SWEPT_EVERY_S = 60.0


class Writer:
    """One for each process. `open`: opens the database, in the thread that writes. `keep_days`: for how long snapshots are kept."""

    def __init__(self, open: Callable[[], UsageStore], keep_days: int, clock: Callable[[], float] = time.time) -> None:
        self._open = open
        self._keep_days = keep_days
        self._clock = clock
        self.lost = 0
        self._said = self._left_out = False
        self._begin()

    def _begin(self) -> None:
        """Starts with nothing: at first, and in a process that was forked off, where the thread is gone and the connections are not
        ours."""
        self._waiting: deque[Item] = deque()
        self._wake = threading.Condition()
        self._writing = 0
        self._ends = False
        self._store: UsageStore | None = None
        self._thread: threading.Thread | None = None
        self._swept = 0.0
        self._sessions: set[str] = set()  # that were written to since
        self._pid = os.getpid()

    def put(self, item: Item) -> bool:
        """Takes a snapshot or usage to be written; whether it was taken. Never waits for the database."""
        if self._pid != os.getpid():
            self._begin()
        with self._wake:
            if self._ends or len(self._waiting) >= MOST_WAITING:
                self._lose(1)
                return False
            self._waiting.append(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="popkit-writer", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._wake.notify_all()
        return True

    def flush(self, timeout_s: float = AT_EXIT_S) -> bool:
        """Waits until all is written that was put, at most so long; whether it is."""
        with self._wake:
            return self._wake.wait_for(lambda: not self._waiting and not self._writing, timeout_s)

    def close(self, timeout_s: float = AT_EXIT_S) -> None:
        """Writes what is waiting, as far as that takes no longer, and ends."""
        if self._pid != os.getpid():
            return
        self.flush(timeout_s)
        with self._wake:
            self._ends = True
            self._lose(len(self._waiting))
            self._waiting.clear()
            self._wake.notify_all()
        if self._thread is not None and not self._writing:
            self._thread.join(timeout_s)
            atexit.unregister(self.close)

    def _lose(self, count: int) -> None:
        self.lost += count
        if count and not self._said:
            self._said = True
            _LOG.warning(
                "Some snapshots and usage are not written, because the database cannot be reached or does not keep up. "
                "`popkit budget` says what is wrong."
            )

    # --- the thread ----------------------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        failures = 0
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._ends)
                if not self._waiting:
                    break
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                self._writing = len(batch)
            written = self._written(batch)
            failures = 0 if written else failures + 1
            if written:
                self._sweep({item.session_id for item in batch if isinstance(item, Snapshot)})
            with self._wake:
                self._writing = 0
                if not written:
                    self._put_back(batch)
                    self._wake.wait_for(lambda: self._ends, AGAIN_S[min(failures, len(AGAIN_S)) - 1])
                self._wake.notify_all()
        self._let_go()

    def _let_go(self) -> None:
        """The next batch opens the database again, which makes the tables of one that was set up anew meanwhile."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _put_back(self, batch: list[Item]) -> None:
        """What could not be written waits in front again; what there is no room for any more is lost, the oldest first."""
        room = max(0, MOST_WAITING - len(self._waiting)) if not self._ends else 0
        self._lose(len(batch) - room if len(batch) > room else 0)
        self._waiting.extendleft(reversed(batch[len(batch) - min(room, len(batch)) :]))

    def _written(self, batch: list[Item]) -> bool:
        try:
            if self._store is None:
                self._store = self._open()
            used = [item for item in batch if not isinstance(item, Snapshot)]
            self._store.write(used, [item for item in batch if isinstance(item, Snapshot)])
        except NotWritable as error:
            self._leave_out(batch, error)
        except (DatabaseUnavailable, OSError, home.NoHome):
            self._let_go()
            return False
        except Exception as error:  # noqa: BLE001  the thread must live: what comes later can be written
            self._leave_out(batch, error)
        return True

    def _leave_out(self, batch: list[Item], error: Exception) -> None:
        level, self._left_out = logging.DEBUG if self._left_out else logging.WARNING, True
        _LOG.log(level, "Snapshots or usage cannot be written (%s), and are left out. It is said once.", type(error).__name__)
        self.lost += len(batch)

    def _sweep(self, sessions: set[str]) -> None:
        """Removes what is old, now and then, while nothing waits to be written. Where that fails it waits for the next time."""
        self._sessions |= sessions
        now = self._clock()
        if self._store is None or 0 <= now - self._swept < SWEPT_EVERY_S:  # a clock may be set back
            return
        try:
            done = self._store.sweep(now, self._keep_days, self._sessions, lambda: not self._waiting and not self._ends)
        except Exception as error:  # noqa: BLE001  the thread must live: nothing that is to be written hangs on this
            _LOG.debug("What is old could not be removed (%s).", type(error).__name__)
            done = True
        if done:
            self._swept = now
            self._sessions.clear()
