"""Work on the store of usage that threads do while the dashboard runs: what sessions have used is booked, and the sessions of a team, which
only a database knows, are queried. Where the database hangs, its last rows are used meanwhile, and nobody waits for it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..usage.database import configuration, open_store
from ..usage.ingestion import catch_up
from ..usage.store import DatabaseUnavailable
from .shapes import Unusable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..usage import SessionUsed
    from .app_state import AppState

AGAIN_S = 5.0  # delay before a failed query is repeated


class TeamSessions:
    """The cached sessions. `ask` returns the newest ones, or raises Unusable; `failed` is called with any other error of it."""

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
        self._answered: threading.Event | None = None  # of the question that is under way
        self._is_slow = False
        self._retry_at = float("-inf")

    def known(self, mark: object, patience_s: float | None) -> list[SessionUsed]:
        """Return the newest sessions that are known. They are queried again where `mark` differs from that of the last answer; the caller
        waits for the answer for so long (None: until it comes), unless the last one took longer."""
        with self._lock:
            if self._answered is None and mark != self._mark and self._clock() >= self._retry_at:
                self._mark = mark
                self._answered = threading.Event()
                threading.Thread(target=self._work, args=(self._answered,), daemon=True, name="popkit-others").start()
            answered = self._answered
        if answered is not None and not self._is_slow and not answered.wait(patience_s):
            with self._lock:
                self._is_slow = self._answered is answered  # it may have come since
        return self._sessions

    @property
    def problem(self) -> str | None:
        """Return why the newest query has no answer, "" where it is still running; None where it was answered."""
        return "" if self._is_slow and self._problem is None else self._problem

    def forget(self) -> None:
        """Forget everything: from now on another database is configured."""
        with self._lock:
            self._mark, self._sessions, self._problem, self._answered, self._is_slow = None, [], None, None, False
            self._retry_at = float("-inf")

    def _work(self, answered: threading.Event) -> None:
        sessions, problem = None, None
        try:
            sessions = self._ask()
        except Unusable as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001  a caller that waits needs to learn that there is no answer
            self._failed(error)
            problem = type(error).__name__
        with self._lock:
            if self._answered is answered:  # the same database is still meant
                self._sessions = self._sessions if sessions is None else sessions
                self._problem, self._answered, self._is_slow = problem, None, False
                if problem is not None:
                    self._mark, self._retry_at = None, self._clock() + AGAIN_S
        answered.set()


# --- booking -----------------------------------------------------------------------------------------------------------------------------


INGEST_EVERY_S = 15.0
INGEST_RETRY_S = 300.0  # after a failure
SWEEP_EVERY_S = 3_600.0


def keep_ingesting(app_state: AppState, over: threading.Event) -> None:
    """Book what sessions have used since, now and again, until it is `over`."""
    pause, swept = 0.0, float("-inf")
    while not over.wait(pause):
        pause = INGEST_EVERY_S if ingest(app_state) else INGEST_RETRY_S
        if time.monotonic() - swept >= SWEEP_EVERY_S:
            swept = time.monotonic()
            sweep(app_state)


def ingest(app_state: AppState) -> bool:
    """Book what sessions have used since; return whether all of it was booked, on a configured server too."""
    try:
        catch_up(app_state.environ)
    except DatabaseUnavailable:
        return False  # the page says so where it asks
    except Exception as error:  # noqa: BLE001  the page goes on without it
        app_state.failure("dashboard-booking", error)
        return False
    return True


def sweep(app_state: AppState) -> None:
    """Remove snapshots and usage that are old, where there is a store."""
    try:
        with suppress(FileNotFoundError), open_store(app_state.environ, create=False) as store:
            store.sweep(app_state.now(), configuration(app_state.environ)["snapshot_days"])
    except Exception as error:  # noqa: BLE001  the page goes on without it
        app_state.failure("dashboard-sweeping", error)
