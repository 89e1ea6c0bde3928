"""The state that all requests of one server share: places, the clock, caches; the changes since a page last asked, for which stats of files
are compared only when it asks; and the booking of usage, in a thread while the server runs."""

from __future__ import annotations

import os
import secrets
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from hooks.utils.io import home, storage
from hooks.utils.io.system import day_of, days_before
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state.site import Site

from ..usage.configured_database import configuration, open_store
from ..usage.ingestion import catch_up
from ..usage.sqlite import FILE as USAGE
from ..usage.usage_store import DatabaseUnavailable
from . import transcripts
from .catalog import Catalog, Known, OtherHosts
from .contexts import ContextCache
from .shapes import Changes, NotThere
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
        """Raise NoHome where our folder cannot be determined."""
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

    def warm_up(self) -> None:
        """Read the beginning of all transcripts, so that the first page does not have to."""
        for known in self.catalog.sessions().values():
            transcripts.head_of(known.transcript)

    def session(self, id: str) -> Known:
        """Return the session of exactly this id; NotThere for none."""
        known = self.catalog.find(id)
        if known is None:
            raise NotThere("there is no such session. GET /api/sessions lists all sessions")
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
        """Log a request that failed; the page gets no traceback."""
        self.failed += 1
        storage.log_failure(self.environ, what, error)


def _oldest(folder: str) -> float:
    """Return the time of the oldest entry in a folder."""
    try:
        with os.scandir(folder) as entries:
            return min((entry.stat(follow_symlinks=False).st_mtime for entry in entries), default=float("inf"))
    except OSError:
        return float("inf")


# --- changes since a page last asked -----------------------------------------------------------------------------------------------------


# The savings are reported as changed at most this often: computing them settles sessions, which a running one would cause with every line
# that it writes.
STATS_S = 10.0
_LIST, _STATS = ("/api/sessions?", ""), ("/api/stats", "")
_BUDGETS = ("/api/budgets", "")
# Address -> the files, and folders of files, in our folder from which its answer is made.
_PLACES: dict[Name, tuple[str, ...]] = {
    ("/api/memory", ""): ("memory.sqlite", "memory.sqlite-wal", "memory"),
    ("/api/retention", ""): ("archive.sqlite", "archive.sqlite-wal", "data"),
    _BUDGETS: (USAGE, "retention-config.json"),
}


class ChangeFeed:
    """The changes of one AppState. Thread-safe."""

    def __init__(self, app_state: AppState) -> None:
        self._app_state = app_state
        self._lock = threading.Lock()
        self._history = History(secrets.token_hex(8))
        self._worth: tuple[object, float] | None = None  # the stamps for which /api/stats was last reported as changed, and when

    def since(self, token: str) -> Changes:
        """Return what has changed since a token was given."""
        with self._lock:
            known = self._app_state.catalog.sessions()
            self._history.note(self._stamps(known), [_LIST] if self._app_state.contexts.have_caught_up(known) else [])
            names = self._history.since(token)
            return Changes(
                token=self._history.token,
                at=self._app_state.now(),
                everything=names is None,
                changed=[_address(name) for name in names or ()],
            )

    def _stamps(self, known: Mapping[str, Known]) -> dict[Name, object]:
        """Return the present stamps of everything that may change."""
        here = {id: each.stamp for id, each in known.items()}
        # This may wait for a database, and opening one changes its files.
        everywhere = {**here, **{row.id: row.stamp for row in self._app_state.spending.others(set(known))}}
        stamps: dict[Name, object] = {_session(id): stamp for id, stamp in everywhere.items()}
        stamps.update({name: [_marks(os.path.join(self._app_state.home, place)) for place in places] for name, places in _PLACES.items()})
        stamps[_BUDGETS] = stamps[_BUDGETS], self._app_state.spending.stamp()
        stamps[_LIST] = everywhere
        stamps[_STATS] = self._of_worth(here)
        return stamps

    def _of_worth(self, newest: object) -> object:
        """Return the newest stamp; but of changes within STATS_S, only that of the first, and that of the last when STATS_S are over."""
        now = self._app_state.now()
        if self._worth is None:
            self._worth = newest, float("-inf")
        elif newest != self._worth[0] and not 0 <= now - self._worth[1] < STATS_S:
            self._worth = newest, now
        return self._worth[0]


def _session(id: str) -> Name:
    return "/api/sessions/", id


def _address(name: Name) -> str:
    """Return a name as an address has it, encoded as a browser's encodeURIComponent does."""
    beginning, id = name
    return beginning + quote(id, safe="!'()*", errors="replace")


def _marks(path: str) -> object:
    """Return the stats of a file, or of all files in a folder and its folders."""
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    if not os.path.isdir(path) or os.path.islink(path):
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
    try:
        return [(name, _marks(os.path.join(path, name))) for name in sorted(os.listdir(path))]
    except OSError:
        return None


# --- the history of changes ---------------------------------------------------------------------------------------------------------------


# Addresses that begin like this have changed: (the beginning, the id of a session that follows it or "").
Name = tuple[str, str]
# Where more names have changed, everything is reported as changed.
MOST_REPORTED = 100
# How many deleted names are remembered. For a page whose token is older than a forgotten one, everything has changed.
MOST_GONE = 1_000


class History:
    """The history of changes of one process, which `run` names: a token of another process is unknown here."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._look = 0
        self._oldest = 0  # tokens of earlier looks are no longer valid
        self._stamps: dict[Name, object] = {}
        self._changed: dict[Name, int] = {}  # the last look at which a name had changed

    @property
    def token(self) -> str:
        """Return the token of the present state of everything."""
        return f"{self._run}-{self._look}"

    def note(self, stamps: Mapping[Name, object], also: Iterable[Name] = ()) -> None:
        """Record the stamps of everything. `also`: names that have changed although their stamps have not."""
        changed = {name for name, stamp in stamps.items() if name not in self._stamps or self._stamps[name] != stamp}
        changed |= {*(self._stamps.keys() - stamps.keys()), *also}
        if changed:
            self._look += 1
            self._stamps = dict(stamps)
            self._changed.update(dict.fromkeys(changed, self._look))
            self._forget()

    def _forget(self) -> None:
        if len(self._changed) > len(self._stamps) + MOST_GONE:
            self._changed = {name: look for name, look in self._changed.items() if name in self._stamps}
            self._oldest = self._look

    def since(self, token: str) -> list[Name] | None:
        """Return the names that have changed since a token was given; None where that may be any: too many have, or the token is not
        ours."""
        run, _, look = token.rpartition("-")
        if run != self._run or not look.isdecimal() or not self._oldest <= int(look) <= self._look:
            return None
        names = sorted(name for name, changed in self._changed.items() if changed > int(look))
        return names if len(names) <= MOST_REPORTED else None


# --- booking -----------------------------------------------------------------------------------------------------------------------------


INGEST_EVERY_S = 15.0
INGEST_RETRY_S = 300.0  # after a failure
SWEEP_EVERY_S = 3_600.0


def keep_ingesting(app_state: AppState, over: threading.Event) -> None:
    """Book what sessions have used, again and again, until `over` is set."""
    pause, swept = 0.0, float("-inf")
    while not over.wait(pause):
        pause = INGEST_EVERY_S if ingest(app_state) else INGEST_RETRY_S
        if time.monotonic() - swept >= SWEEP_EVERY_S:
            swept = time.monotonic()
            sweep(app_state)


def ingest(app_state: AppState) -> bool:
    """Book what sessions have used since the last time; return whether all of it was booked, on a configured server, too."""
    try:
        catch_up(app_state.environ)
    except DatabaseUnavailable:
        return False  # the page shows this with the data
    except Exception as error:  # noqa: BLE001  the page goes on without it
        app_state.failure("dashboard-booking", error)
        return False
    return True


def sweep(app_state: AppState) -> None:
    """Remove old snapshots and usage, where there is a store."""
    try:
        with suppress(FileNotFoundError), open_store(app_state.environ, create=False) as store:
            store.sweep(app_state.now(), configuration(app_state.environ)["snapshot_days"])
    except Exception as error:  # noqa: BLE001  the page goes on without it
        app_state.failure("dashboard-sweeping", error)
