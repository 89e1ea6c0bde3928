"""The used part of each limit, of a session or of a month. The limit with the highest used percentage counts.

Tokens are all tokens of the requests: input, cached or not, and output. A month is a calendar month in the time zone of this machine; a
request counts for the local day on which it was recorded.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any, NamedTuple

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io import home

from .budget_share import range_of, remaining_of
from .records import Sum, month_of
from .usage_store import DatabaseUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .usage_store import UsageStore

    _Key = tuple[str, str]

_LOG = logging.getLogger("popkit")
SESSION, MONTH = "session", "month"
TOKENS, USD = "tokens", "usd"
FRESH_S = 1.0  # how long an answer is reused
FIRST_WAIT_S = 0.5  # how long the first caller waits for an answer
MOST_KNOWN = 10_000


class Limits(NamedTuple):
    """The configured limits; None for no limit."""

    session_tokens: int | None = None
    month_tokens: int | None = None
    session_usd: float | None = None
    month_usd: float | None = None

    @property
    def any(self) -> bool:
        """Return whether any is set."""
        return any(limit is not None for limit in self)


class Standing(NamedTuple):
    """The state of one limit. `scope`: session or month; `of`: the session's id, or the user; `unit`: tokens or usd."""

    scope: str
    of: str
    unit: str
    used: float
    limit: float

    @property
    def used_percent(self) -> float:
        """Return the used percentage; over 100 where the limit is exceeded."""
        return self.used / self.limit * 100


class Silence(NamedTuple):
    """A time in which the limits cannot be checked: the second since 1970 in which it began, and the reason, for people."""

    since: float
    why: str


# What happens at a request of a session or a month whose limit is exceeded.
WARN, REFUSE = "warn", "refuse"


class BudgetExceeded(PopkitError):
    """A limit is used up and `context.on_exceeded` refuses: nothing was sent. `standing`: the state of the limit."""

    def __init__(self, standing: Standing) -> None:
        super().__init__(f"{in_words(standing)}, so nothing was sent. {advice_for(standing)}")
        self.standing = standing


def in_words(standing: Standing) -> str:
    """Return the state of a limit that is used up, for people."""
    used, limit = (f"${amount:,.2f}" if standing.unit == USD else f"{amount:,.0f} tokens" for amount in (standing.used, standing.limit))
    of = "this session" if standing.scope == SESSION else "this month"
    return f"PopKit: the limit of {of} is used up ({used} of {limit})"


def advice_for(standing: Standing) -> str:
    """Return advice on how to send requests again."""
    name = f"{standing.scope}_{standing.unit}"
    return f"To raise it: popkit budget set {name}=…; to send requests anyway: popkit budget set on_exceeded={WARN}"


def limits_of(config: Mapping[str, Any]) -> Limits:
    """Return the limits of the settings `context`."""
    return Limits(*(config.get(name) for name in Limits._fields))


def standings(store: UsageStore | None, limits: Limits, session: str, user: str, now: float) -> list[Standing]:
    """Return the state of each limit that is set, for a session ("" for none) and a user; `now`: seconds since 1970. Without a store
    nothing is used yet."""
    states = []
    if session and (limits.session_tokens is not None or limits.session_usd is not None):
        used = store.of_session(session, user) if store is not None else Sum()
        states += _against(SESSION, session, used, limits.session_tokens, limits.session_usd)
    if limits.month_tokens is not None or limits.month_usd is not None:
        used = store.of_user(user, month_of(now)) if store is not None else Sum()
        states += _against(MONTH, user, used, limits.month_tokens, limits.month_usd)
    return states


def _against(scope: str, of: str, used: Sum, tokens: int | None, usd: float | None) -> list[Standing]:
    pairs = ((TOKENS, used.tokens, tokens), (USD, used.usd, usd))
    return [Standing(scope, of, unit, amount, limit) for unit, amount, limit in pairs if limit is not None]


def used_percent(states: list[Standing]) -> float | None:
    """Return the highest used percentage; None where there is no limit."""
    worst = worst_of(states)
    return None if worst is None else worst.used_percent


def worst_of(states: list[Standing]) -> Standing | None:
    """Return the limit that is used up most; None where there is none."""
    return max(states, key=lambda state: state.used_percent, default=None)


def to_json(standing: Standing) -> dict[str, object]:
    """Return one limit with what is used, what remains, and the strategy that it alone would imply."""
    remaining = max(0, standing.limit - standing.used)
    return {**standing._asdict(), "remaining": remaining, **percent_to_json(standing.used_percent)}


def percent_to_json(used: float | None) -> dict[str, object]:
    """Return a used percentage (None: no limit), what remains, and the range that this is in."""
    remaining = remaining_of(used)
    return {
        "used_percent": None if used is None else round(used, 2),
        "remaining_percent": round(remaining, 2),
        "range": range_of(remaining),
    }


class Budgets:
    """The limit that is used up most, for builds, which never wait for the database: a thread queries it, and until it has the answer the
    last one is used. Only the first caller waits, for FIRST_WAIT_S at most, and not at all while the database is known not to answer. Where
    the database cannot be queried nothing is known. `now` alone waits, for a limit that refuses.

    `limits`: returns the limits in force; called in the thread too, so that a changed setting takes effect at once. `open`: opens the
    database, in the thread.
    """

    def __init__(self, limits: Callable[[], Limits], open: Callable[[], UsageStore], clock: Callable[[], float] = time.time) -> None:
        self._limits = limits
        self._open = open
        self._clock = clock
        self._reset()

    def _reset(self) -> None:
        """Reset everything: at the start, and in a forked process, where the thread is gone and the connections are not ours."""
        self._known: dict[_Key, tuple[float, Standing | None]] = {}
        self._pending: dict[_Key, threading.Event] = {}
        self._is_running = self._is_closed = False
        self.silence: Silence | None = None  # while the database does not answer
        self._store: UsageStore | None = None
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def now(self, session: str, user: str) -> Standing | None:
        """Return the limit that is used up most as the database has it at this moment; where it cannot be queried, as it was last known.
        It is not waited for while it is known not to answer."""
        if self.silence is None:
            try:
                with self._open() as store:
                    return worst_of(standings(store, self._limits(), session, user, self._clock()))
            except (DatabaseUnavailable, OSError, home.NoHome) as error:
                self.fall_silent(error)
        return self.worst(session, user)

    def used_percent(self, session: str, user: str) -> float | None:
        """Return the highest used percentage of the limits of this session and user; None where there is none, or none is known."""
        worst = self.worst(session, user)
        return None if worst is None else worst.used_percent

    def worst(self, session: str, user: str) -> Standing | None:
        """Return the limit of this session and user that is used up most; None where there is none, or none is known."""
        if self._pid != os.getpid():
            self._reset()
        known = self._known.get((session, user))
        if known is None or not 0 <= self._clock() - known[0] <= FRESH_S:  # a clock may be set back
            answered = self._ask((session, user))
            if known is None and self.silence is None:
                if not answered.wait(FIRST_WAIT_S):
                    self.fall_silent(TimeoutError(f"the database has not answered within {FIRST_WAIT_S:g} s"))
                known = self._known.get((session, user))
        return known[1] if known else None

    def close(self) -> None:
        """Close the database; where a query is running, as soon as it has been answered."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            if not self._is_running:
                self._disconnect()

    def _ask(self, key: _Key) -> threading.Event:
        with self._lock:
            answered = self._pending.setdefault(key, threading.Event())
            if not self._is_running:
                threading.Thread(target=self._work, name="popkit-budgets", daemon=True).start()
                self._is_running = True
        return answered

    def _work(self) -> None:
        """Answer the pending queries, then end."""
        while True:
            with self._lock:
                key = next(iter(self._pending), None)
                if key is None:
                    self._is_running = False
                    if self._is_closed:
                        self._disconnect()
                    return
            now, worst = self._clock(), self._answer(key)
            with self._lock:
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[key] = (now, worst)
                self._pending.pop(key).set()

    def _answer(self, key: _Key) -> Standing | None:
        try:
            worst = self._query(key)
        except Exception as error:  # noqa: BLE001  the thread must live: without it no limit would ever be checked again
            self.fall_silent(error)
            self._disconnect()
            last = self._known.get(key)
            return last[1] if last else None
        if self.silence is not None:
            self.silence = None
            _LOG.warning("PopKit: limits are checked again.")
        return worst

    def fall_silent(self, error: Exception) -> None:
        """Note that the limits cannot be checked until the database answers, and log the reason once."""
        is_plain = isinstance(error, (PopkitError, OSError))
        why = str(error) if is_plain and str(error) else type(error).__name__  # the message of another error may quote anything
        if self.silence is None:
            self.silence = Silence(self._clock(), why)
            _LOG.warning("PopKit: limits cannot be checked: %s. Until the database answers, requests go out unchecked.", why)

    def _disconnect(self) -> None:
        """Close the connection. The next query opens it again, which creates the tables of a database that was set up again meanwhile."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _query(self, key: _Key) -> Standing | None:
        limits = self._limits()
        if not limits.any:
            return None
        if self._store is None:
            self._store = self._open()
        return worst_of(standings(self._store, limits, *key, self._clock()))
