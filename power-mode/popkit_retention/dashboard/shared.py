"""The state that all requests of one server share."""

from __future__ import annotations

import os
import threading
import time

from popkit_retention.core.io import home, hook_log
from popkit_retention.core.io.system import day_of, days_before
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.state.site import Site

from .catalog import Catalog, Known
from .other_hosts import OtherHosts
from .shapes import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from popkit_retention.core.policy.ruleset import Ruleset


class SharedState:
    """`changing`: the lock for a change of stored data, held from the check of what is offered until it is done. `changes`: the number of
    changes. `failed`: the number of requests that failed since the start."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] | None = None) -> None:
        """Raise NoHome where our folder cannot be determined."""
        self.environ = environ
        self.now: Callable[[], float] = now or (lambda: time_of_day(environ))
        self.home = home.popkit_home(environ)
        self.changing = threading.RLock()
        self.changes = 0
        self.failed = 0
        self._rules: tuple[float, Ruleset | None] = (0.0, None)
        self.other_hosts = OtherHosts(environ, self.failure)
        self.catalog = Catalog(environ, self.home, self.now, self.other_hosts)

    @property
    def rules(self) -> Ruleset:
        """Return the rules of the user's configuration, without those of projects, at most a second old."""
        at, rules = self._rules
        if rules is None or time.monotonic() - at > 1:
            rules = Site(self.environ, "").rules()
            self._rules = (time.monotonic(), rules)
        return rules

    def days(self, most: int, known_days: Iterable[str]) -> list[str]:
        """Return the last `most` days, today the last, but none before PopKit was installed. `known_days`: days with data."""
        now = self.now()
        oldest = min(_oldest(self.home), _oldest(os.path.join(self.home, "sessions")), now)
        first = min([day_of(oldest), *known_days])
        return [day for back in reversed(range(most)) if (day := days_before(day_of(now), back)) >= first]

    def session(self, id: str) -> Known:
        """Return the session of exactly this id; NotFound for none."""
        known = self.catalog.find(id)
        if known is None:
            raise NotFound("there is no such session. GET /api/sessions lists all sessions")
        return known

    def failure(self, what: str, error: BaseException) -> None:
        """Log a request that failed; the page gets no traceback."""
        self.failed += 1
        hook_log.log_failure(self.environ, what, error)


def _oldest(folder: str) -> float:
    """Return the time of the oldest entry in a folder."""
    try:
        with os.scandir(folder) as entries:
            return min((entry.stat(follow_symlinks=False).st_mtime for entry in entries), default=float("inf"))
    except OSError:
        return float("inf")
