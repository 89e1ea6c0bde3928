"""Sessions that only a database knows, those of a team. The database is queried in a thread of its own: where it hangs, its last rows are
used meanwhile, and nobody waits for it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from .problems import Unusable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..usage.records import SessionUsed

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
        """Return the newest sessions that are known. They are asked for anew where `mark` is another than at the last answer; who asks
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
        """Return what kept the database from answering the newest question, "" where it has not answered yet; None where it has."""
        return "" if self._is_slow and self._problem is None else self._problem

    def forget(self) -> None:
        """Return another database is meant from now on."""
        with self._lock:
            self._mark, self._sessions, self._problem, self._answered, self._is_slow = None, [], None, None, False
            self._retry_at = float("-inf")

    def _work(self, answered: threading.Event) -> None:
        sessions, problem = None, None
        try:
            sessions = self._ask()
        except Unusable as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001  whoever waits has to hear that there is no answer
            self._failed(error)
            problem = type(error).__name__
        with self._lock:
            if self._answered is answered:  # the same database is still meant
                self._sessions = self._sessions if sessions is None else sessions
                self._problem, self._answered, self._is_slow = problem, None, False
                if problem is not None:
                    self._mark, self._retry_at = None, self._clock() + AGAIN_S
        answered.set()
