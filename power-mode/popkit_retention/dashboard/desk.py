"""What all requests of one server share: where things are, the clock, and what was read."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from hooks.utils.edges import failures, home
from hooks.utils.edges.system import now as time_of_day
from hooks.utils.state.days import day_of, days_before
from hooks.utils.state.site import Site

from . import heads
from .catalog import Catalog, Known
from .looking import Looks
from .problems import NotThere
from .retention import Retention
from .spending import Spending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hooks.utils.policy.ruleset import Ruleset

    from .sessions import Light
    from .shapes import SessionRow


class Desk:
    """`changing`: whoever changes something stored holds it, from the look at what is offered until it is done. `changes`: how often
    somebody here did. `failed`: answers that could not be given since the start.
    `light`, `named`: see `sessions`."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] | None = None) -> None:
        """NoHome where no folder of ours can be named."""
        self.environ = environ
        self.now: Callable[[], float] = now or (lambda: time_of_day(environ))
        self.home = home.popkit_home(environ)
        self.started_at = self.now()
        self.changing = threading.RLock()
        self.changes = 0
        self.failed = 0
        self._rules: tuple[float, Ruleset | None] = (0.0, None)
        self.catalog = Catalog(environ, self.home, self.now)
        self.light: dict[str, Light] = {}
        self.named: dict[str, tuple[str, str, str]] = {}
        self.looks = Looks(environ, self.now, self.failure)
        self.retention = Retention(self)
        self.spending = Spending(self)

    @property
    def rules(self) -> Ruleset:
        """Those of the user's configuration, no project's, as they were at most a second ago."""
        at, rules = self._rules
        if rules is None or time.monotonic() - at > 1:
            rules = Site(self.environ, "").rules()
            self._rules = (time.monotonic(), rules)
        return rules

    def days(self, most: int, told: Iterable[str]) -> list[str]:
        """The last days, today the last: so many, but none before PopKit was here. `told`: days of which something is known."""
        now = self.now()
        oldest = min(_oldest(self.home), _oldest(os.path.join(self.home, "sessions")), now)
        first = min([day_of(oldest), *told])
        return [day for back in reversed(range(most)) if (day := days_before(day_of(now), back)) >= first]

    def warm_up(self) -> None:
        """Reads how all transcripts begin, so that the first page need not."""
        for known in self.catalog.sessions().values():
            heads.head_of(known.transcript)

    def session(self, id: str) -> Known:
        """The session of exactly this id; NotThere for none."""
        known = self.catalog.find(id)
        if known is None:
            raise NotThere("there is no such session. GET /api/sessions lists those that there are")
        return known

    def other(self, id: str) -> SessionRow | None:
        """The row of a session that only a database tells of; None for any other id. Unusable where the database cannot be asked for one
        that is not known here."""
        here = self.catalog.sessions()
        if id in here:
            return None
        found = next((row for row in self.spending.others(set(here)) if row.id == id), None)
        if found is None:
            self.spending.check_others()
        return found

    def failure(self, what: str, error: BaseException) -> None:
        """Notes in the hook log what could not be answered; nobody is shown a trace."""
        self.failed += 1
        failures.record(self.environ, what, error)


def _oldest(folder: str) -> float:
    """When the oldest thing in a folder was written."""
    try:
        with os.scandir(folder) as found:
            return min((entry.stat(follow_symlinks=False).st_mtime for entry in found), default=float("inf"))
    except OSError:
        return float("inf")
