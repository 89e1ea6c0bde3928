"""Usage and limits, from the store of usage, which a team may share, and its refresh while the dashboard runs. Without a store nothing is
used yet; one that does not answer is left alone for a while, so that the rest of the page stays quick."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hooks.utils.policy.masking import mask
from hooks.utils.state.days import day_of, days_before

from ..context import usage_log
from ..usage import budgets, report
from ..usage.database import configuration, open_store, server_in, user_in
from ..usage.ingestion import catch_up
from ..usage.records import SessionUsed, Snapshot, Sum, month_of
from ..usage.sqlite import FILE, WORDS
from ..usage.store import DatabaseUnavailable
from .catalog import RUNS_S
from .problems import NotThere, Unusable
from .shapes import Budgets, BudgetShown, Layers, Point, Series, SessionRow, Strategy, UsageDay
from .strategies import strategy_of
from .team_sessions import TeamSessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context.build_types import ContextStatus
    from ..usage.address import Server
    from ..usage.store import UsageStore
    from .app_state import AppState

DAYS = 30
SESSIONS = 200  # of others, the newest
LIMITED = 20  # sessions whose limits are shown
FRESH_S = 2.0
PATIENCE_S = 0.3  # so long who asks for sessions waits for a server
REST_S = 30.0  # for so long a database that did not answer is left alone
_HOW = "popkit budget set month_tokens=20000000"
_SHOWN = 300


class Spending:
    """The spending of one AppState. Threads share the store."""

    def __init__(self, app_state: AppState) -> None:
        self._app_state = app_state
        self._lock = threading.Lock()
        self._store: UsageStore | None = None
        self._meant: object = None  # which database the configuration meant when it was last looked at
        self._silent_until = 0.0
        self._others = TeamSessions(self._sessions, lambda error: app_state.failure("dashboard-others", error))

    # --- the database ------------------------------------------------------------------------------------------------------------------

    def place(self) -> tuple[str, bool]:
        """Return (what a person calls the database, whether others may write to it too), without asking it."""
        server = self._server()
        if isinstance(server, str):
            return server, False
        return (server.words, True) if server else (WORDS, False)

    def _server(self) -> Server | str | None:
        """Return the server that the configuration means; None for SQLite in our folder, words for an address that means nothing."""
        try:
            return server_in(self._app_state.environ)
        except DatabaseUnavailable as error:
            return str(error)

    @contextmanager
    def _opened_store(self) -> Iterator[UsageStore | None]:
        """Return the store; None where nobody has made it yet. Unusable where it does not answer."""
        self._follow_configuration()
        try:
            with self._lock:
                if time.monotonic() < self._silent_until:
                    raise Unusable(self._silent())
                store = self._opened()
            yield store
        except DatabaseUnavailable as error:
            self._silent_until = time.monotonic() + REST_S if self.place()[1] else 0.0
            raise Unusable(str(error)) from None

    def _silent(self) -> str:
        return f"{self.place()[0]} is not responding. Trying again within {REST_S:.0f} seconds"

    def _follow_configuration(self) -> None:
        """Let go of everything that is known of another database than the one that the configuration means by now."""
        meant = self._server()
        if meant != self._meant:
            self._meant, self._silent_until = meant, 0.0
            self.close()
            self._others.forget()

    def _opened(self) -> UsageStore | None:
        is_here = os.path.exists(os.path.join(self._app_state.home, FILE))
        if self._store is not None and not self._store.shared and not is_here:
            self.close()
        if self._store is None:
            try:
                self._store = open_store(self._app_state.environ, create=False)
            except FileNotFoundError:
                return None
        return self._store

    def close(self) -> None:
        """Let go of the store."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    # --- answers -----------------------------------------------------------------------------------------------------------------------

    def budgets(self, user: str = "") -> Budgets:
        """Return the limits that hold for the newest sessions and for a user ("" for who runs this), and what was used by day."""
        now = self._app_state.now()
        limits = budgets.limits_of(configuration(self._app_state.environ))
        since = days_before(day_of(now), DAYS - 1)
        with self._opened_store() as store:
            states = budgets.standings(store, limits, "", user or user_in(self._app_state.environ), now)
            used = dict(store.by_day(since, user)) if store is not None else {}
            if store is not None and (limits.session_tokens is not None or limits.session_usd is not None):
                newest = [each.session_id for each in store.by_session(month_of(now), user, LIMITED)]
                alone = limits._replace(month_tokens=None, month_usd=None)
                states += [each for session in newest for each in budgets.standings(store, alone, session, "", now)]
            users = store.users() if store is not None else []
        return Budgets(
            configured={name: limit for name, limit in limits._asdict().items() if limit is not None},
            limits=[BudgetShown.model_validate(report.shown(each)) for each in states],
            user=user,
            usage=[_day(day, used.get(day, Sum())) for day in self._app_state.days(DAYS, used)],
            users=users,
            how=_HOW,
        )

    def others(self, here: set[str]) -> list[SessionRow]:
        """Rows of sessions that are known from the database alone, the newest first; those that it gave last where it does not answer."""
        self._follow_configuration()
        shared = self.place()[1]
        return [self._row(each, shared) for each in self._newest() if each.session_id not in here]

    def check_others(self) -> None:
        """Unusable where nobody can say now whether the database knows of a session that `others` has not."""
        problem = self._others.problem
        if problem is not None:
            raise Unusable(problem or self._silent())

    def stamp(self) -> str:
        """Change when something was booked in a database that others write to; "" where files tell."""
        if not self.place()[1]:
            return ""
        return repr([(each.session_id, each.at, each.used.requests) for each in self._newest()])

    def _newest(self) -> list[SessionUsed]:
        """Return asked for when the store may tell of something new: now and again where it is a server, else with its file, which never
        hangs."""
        if self.place()[1]:
            return self._others.known(time.monotonic() // FRESH_S, PATIENCE_S)
        return self._others.known(_stamp(os.path.join(self._app_state.home, FILE)), None)

    def _sessions(self) -> list[SessionUsed]:
        since = days_before(day_of(self._app_state.now()), DAYS - 1)
        with self._opened_store() as store:
            return [] if store is None else store.by_session(since, most=SESSIONS)

    def _row(self, used: SessionUsed, shared: bool) -> SessionRow:
        running = self._app_state.now() - used.at < RUNS_S
        return SessionRow(
            id=used.session_id,
            project=used.project[:_SHOWN],
            user=used.user_id,
            here=False,
            shared=shared,
            running=running,
            changed_at=used.at,
            stamp=f"{used.at:.3f}-{used.used.requests}" + ("-r" if running else ""),
            requests=used.used.requests,
        )

    def lines(self, id: str) -> list[str]:
        """Return what a session has used, in words."""
        with self._opened_store() as store:
            used = store.of_session(id) if store is not None else Sum()
        cost = f" ${used.usd:,.2f}" + (f" without {used.unpriced:,} of unknown price" if used.unpriced else "")
        return [
            f"Requests  {used.requests:,}, for{cost}",
            f"Input     {used.input_tokens:,} tokens",
            f"Cache     {used.cache_read_tokens:,} tokens read, {used.cache_write_tokens:,} written",
            f"Output    {used.output_tokens:,} tokens",
        ]

    def series(self, id: str, most: int) -> Series:
        """Return the layers of the contexts that were assembled for a session, oldest first."""
        with self._opened_store() as store:
            snapshots = store.snapshots(id, most) if store is not None else []
        return Series(points=[_point(each, number) for number, each in enumerate(reversed(snapshots), 1)])

    def strategy(self, id: str) -> Strategy | None:
        """Return the strategy of the newest context that was assembled for a session; None where none was."""
        with suppress(Unusable), self._opened_store() as store:
            newest = store.snapshots(id, 1) if store is not None else []
            return strategy_of(newest[0]) if newest else None
        return None

    def status(self, id: str) -> ContextStatus:
        """Return how the context of a session stood when it was last assembled; NotThere for none."""
        try:
            with self._opened_store() as store:
                if store is None:
                    raise NotThere(f"no context of session {mask(id)!r:.100} was assembled here")
                return usage_log.status_of(store, id)
        except usage_log.NoSnapshot as error:
            raise NotThere(str(error)) from None


def _stamp(path: str) -> object:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _day(day: str, used: Sum) -> UsageDay:
    return UsageDay(
        day=day,
        input_tokens=used.input_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        output_tokens=used.output_tokens,
        usd=None if 0 < used.requests == used.unpriced else round(used.usd, 6),
        unpriced=used.unpriced,
    )


def _point(snapshot: Snapshot, number: int) -> Point:
    shares = {name: _tokens(snapshot.tier_breakdown.get(name)) for name in ("tier1", "tier2", "tier3", "tier4")}
    return Point(at=snapshot.created_at, request=number, tokens=snapshot.total_tokens, tiers={}, expired=0, layers=Layers(**shares))


def _tokens(share: object) -> int:
    tokens = share.get("tokens") if isinstance(share, dict) else None
    return tokens if isinstance(tokens, int) else 0


# --- the refresh while the dashboard runs -------------------------------------------------------------------------------------------------


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
    """Book what sessions have used since; return whether all of it was, and a configured server told."""
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
