"""The sessions of a team, which only a database knows. They are queried in a thread: while the database hangs, its last rows are shown, and
no request waits for it."""

from __future__ import annotations

import threading
import time

from ..dashboard.shapes import StoreUnusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .records import SessionUsage

AGAIN_S = 5.0  # delay before a failed query is repeated


class TeamSessions:
    """The cached sessions. `ask` returns the newest ones, or raises StoreUnusable; `failed` is called with any other error of it."""

    def __init__(
        self,
        ask: Callable[[], list[SessionUsage]],
        failed: Callable[[BaseException], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._failed = failed
        self._lock = threading.Lock()
        self._mark: object = None
        self._sessions: list[SessionUsage] = []
        self._problem: str | None = None
        self._answered: threading.Event | None = None  # of the query that is running
        self._is_slow = False
        self._retry_at = float("-inf")

    def known(self, mark: object, patience_s: float | None) -> list[SessionUsage]:
        """Return the newest known sessions. They are queried again where `mark` differs from that of the last answer; the caller waits for
        that at most `patience_s` (None: until it comes), unless the last query took longer."""
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
