"""Limits of a session and of a month, and how much of them is used. The limit that is used up most counts.

Tokens are all tokens of the requests: what went in, read from the cache or not, and what came out. A month is a calendar month in the time
zone of this machine; a request belongs to the day that it was where it was booked.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils.edges import home

from .records import Sum, month_of
from .store import DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .store import UsageStore

    _Key = tuple[str, str]

_LOG = logging.getLogger("popkit")
SESSION, MONTH = "session", "month"
TOKENS, USD = "tokens", "usd"
FRESH_S = 1.0  # for so long a standing holds
FIRST_WAIT_S = 0.5  # so long who asks for the first time waits for it
MOST_KNOWN = 10_000


class Limits(NamedTuple):
    """What may be used; None for no limit."""

    session_tokens: int | None = None
    month_tokens: int | None = None
    session_usd: float | None = None
    month_usd: float | None = None

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return any(limit is not None for limit in self)


class Standing(NamedTuple):
    """How one limit stands. `scope`: session or month; `of`: the session's id, or the user; `unit`: tokens or usd."""

    scope: str
    of: str
    unit: str
    used: float
    limit: float

    @property
    def used_percent(self) -> float:
        """How much of it is used, in percent; over 100 where it is exceeded."""
        return self.used / self.limit * 100


def limits_of(config: Mapping[str, Any]) -> Limits:
    """The limits that the settings `context` have."""
    return Limits(*(config.get(name) for name in Limits._fields))


def standings(store: UsageStore | None, limits: Limits, session: str, user: str, now: float) -> list[Standing]:
    """Return how each limit stands that there is, for a session ("" for none) and a user; `now`: seconds since 1970. Without a store
    nothing is used yet."""
    found = []
    if session and (limits.session_tokens is not None or limits.session_usd is not None):
        used = store.of_session(session, user) if store is not None else Sum()
        found += _against(SESSION, session, used, limits.session_tokens, limits.session_usd)
    if limits.month_tokens is not None or limits.month_usd is not None:
        used = store.of_user(user, month_of(now)) if store is not None else Sum()
        found += _against(MONTH, user, used, limits.month_tokens, limits.month_usd)
    return found


def _against(scope: str, of: str, used: Sum, tokens: int | None, usd: float | None) -> list[Standing]:
    pairs = ((TOKENS, used.tokens, tokens), (USD, used.usd, usd))
    return [Standing(scope, of, unit, amount, limit) for unit, amount, limit in pairs if limit is not None]


def used_percent(found: list[Standing]) -> float | None:
    """How much of the limit is used that is used up most; None where there is no limit."""
    return max((standing.used_percent for standing in found), default=None)


class Budgets:
    """What builds ask: how much is used. They never wait for the database: it is asked by a thread, and until it answers the last answer
    holds. Only who asks for the first time waits, for FIRST_WAIT_S at most, and not at all while the database is known not to answer. A
    database that cannot be asked means that nothing is known.

    `limits`: those that hold now; they are asked for in the thread too, so that what the user sets holds at once. `open`: opens the
    database, in the thread.
    """

    def __init__(self, limits: Callable[[], Limits], open: Callable[[], UsageStore], clock: Callable[[], float] = time.time) -> None:
        self._limits = limits
        self._open = open
        self._clock = clock
        self._said = False
        self._begin()

    def _begin(self) -> None:
        """Starts with nothing: at first, and in a process that was forked off, where the thread is gone and the connections are not
        ours."""
        self._known: dict[_Key, tuple[float, float | None]] = {}
        self._pending: dict[_Key, threading.Event] = {}
        self._asking = self._ends = False
        self._answers = True
        self._store: UsageStore | None = None
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def used_percent(self, session: str, user: str) -> float | None:
        """How much is used of the limit of this session and this user that is used up most; None where there is none, or none is
        known."""
        if self._pid != os.getpid():
            self._begin()
        known = self._known.get((session, user))
        if known is None or not 0 <= self._clock() - known[0] <= FRESH_S:  # a clock may be set back
            answered = self._ask((session, user))
            if known is None and self._answers:
                if not answered.wait(FIRST_WAIT_S):
                    self._answers = False
                known = self._known.get((session, user))
        return known[1] if known else None

    def close(self) -> None:
        """Closes the database, where it is being asked as soon as it has answered."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._ends = True
            if not self._asking:
                self._let_go()

    def _ask(self, key: _Key) -> threading.Event:
        with self._lock:
            answered = self._pending.setdefault(key, threading.Event())
            if not self._asking:
                threading.Thread(target=self._work, name="popkit-budgets", daemon=True).start()
                self._asking = True
        return answered

    def _work(self) -> None:
        """Answers what is asked, then ends."""
        while True:
            with self._lock:
                key = next(iter(self._pending), None)
                if key is None:
                    self._asking = False
                    if self._ends:
                        self._let_go()
                    return
            now, found = self._clock(), self._answer(key)
            with self._lock:
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[key] = (now, found)
                self._pending.pop(key).set()

    def _answer(self, key: _Key) -> float | None:
        try:
            found = self._found(key)
        except Exception as error:  # noqa: BLE001  the thread must live: without it no limit would ever be asked for again
            self._warn(error)
            self._answers = False
            self._let_go()
            last = self._known.get(key)
            return last[1] if last else None
        self._answers = True
        return found

    def _let_go(self) -> None:
        """What is asked next opens the database again, which makes the tables of one that was set up anew meanwhile."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _found(self, key: _Key) -> float | None:
        limits = self._limits()
        if not limits.any:
            return None
        if self._store is None:
            self._store = self._open()
        return used_percent(standings(self._store, limits, *key, self._clock()))

    def _warn(self, error: Exception) -> None:
        if not self._said and not isinstance(error, (DatabaseUnavailable, OSError, home.NoHome)):  # `popkit budget` tells of these
            self._said = True
            _LOG.warning("Limits cannot be asked for (%s), so those that were known hold.", type(error).__name__)
