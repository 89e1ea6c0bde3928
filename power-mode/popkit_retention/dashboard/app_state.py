"""The state that all requests of one server share: places, the clock, caches."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from hooks.utils.io import home, storage
from hooks.utils.io.system import day_of, days_before
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state.live import Site

from . import transcripts
from .catalog import Catalog, Known, OtherHosts
from .context_cache import ContextCache
from .shapes import NotThere
from .spending import Spending
from .stored_data import Retention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hooks.utils.policy.ruleset import Ruleset

    from .sessions import Light
    from .shapes import SessionRow


class AppState:
    """The shared state. `changing`: the lock for a change of stored data, held from the check of what is offered until it is done.
    `changes`: the number of changes. `failed`: the number of requests that failed since the start. `light`, `named`: see `sessions`."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] | None = None) -> None:
        """Raise NoHome where no folder of ours can be named."""
        self.environ = environ
        self.now: Callable[[], float] = now or (lambda: time_of_day(environ))
        self.home = home.popkit_home(environ)
        self.started_at = self.now()
        self.changing = threading.RLock()
        self.changes = 0
        self.failed = 0
        self._rules: tuple[float, Ruleset | None] = (0.0, None)
        self.other_hosts = OtherHosts(environ, self.failure)
        self.catalog = Catalog(environ, self.home, self.now, self.other_hosts)
        self.light: dict[str, Light] = {}
        self.named: dict[str, tuple[str, str, str]] = {}
        self.contexts = ContextCache(environ, self.now, self.failure)
        self.retention = Retention(self)
        self.spending = Spending(self)

    @property
    def rules(self) -> Ruleset:
        """Return the rules of the user's configuration, without any project's, as they were at most a second ago."""
        at, rules = self._rules
        if rules is None or time.monotonic() - at > 1:
            rules = Site(self.environ, "").rules()
            self._rules = (time.monotonic(), rules)
        return rules

    def days(self, most: int, known_days: Iterable[str]) -> list[str]:
        """Return the last days, today the last: so many, but none before PopKit was here. `known_days`: days of which something is
        known."""
        now = self.now()
        oldest = min(_oldest(self.home), _oldest(os.path.join(self.home, "sessions")), now)
        first = min([day_of(oldest), *known_days])
        return [day for back in reversed(range(most)) if (day := days_before(day_of(now), back)) >= first]

    def warm_up(self) -> None:
        """Read how all transcripts begin, so that the first page need not."""
        for known in self.catalog.sessions().values():
            transcripts.head_of(known.transcript)

    def session(self, id: str) -> Known:
        """Return the session of exactly this id; NotThere for none."""
        known = self.catalog.find(id)
        if known is None:
            raise NotThere("there is no such session. GET /api/sessions lists those that there are")
        return known

    def other(self, id: str) -> SessionRow | None:
        """Return the row of a session that only a database has; None for any other id. Unusable where the database cannot be queried for an
        id that is unknown here."""
        here = self.catalog.sessions()
        if id in here:
            return None
        row = next((row for row in self.spending.others(set(here)) if row.id == id), None)
        if row is None:
            self.spending.check_others()
        return row

    def failure(self, what: str, error: BaseException) -> None:
        """Log a request that failed; the page is shown no trace."""
        self.failed += 1
        storage.log_failure(self.environ, what, error)


def _oldest(folder: str) -> float:
    """Return when the oldest thing in a folder was written."""
    try:
        with os.scandir(folder) as entries:
            return min((entry.stat(follow_symlinks=False).st_mtime for entry in entries), default=float("inf"))
    except OSError:
        return float("inf")
