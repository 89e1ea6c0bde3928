"""The tile of usage, with the sessions that only the store of usage knows, which a team may share. Without a store, nothing has been used
yet; one that does not respond is not queried again for a while, so that the rest of the page stays quick."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query

from popkit_retention.core.io.codec import as_object
from popkit_retention.core.io.system import day_of, days_before

from ..dashboard.catalog import RUNS_S
from ..dashboard.failures import ASKING, failures
from ..dashboard.session_shapes import Layers, Point, Series, SessionRow
from ..dashboard.shapes import StoreUnusable
from ..dashboard.tile import Tile
from . import budgets
from .configured_database import configuration, open_store, server_in, user_in
from .incremental_reading import mark_of
from .records import SessionUsage, Snapshot, Sum, month_of
from .sqlite import FILE, WORDS
from .tile_ingestion import keep_ingesting
from .tile_sessions import TeamSessions
from .tile_shapes import Budgets, BudgetShown, UsageDay
from .usage_store import DatabaseUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..dashboard.app_state import AppState
    from .server_address import Server
    from .usage_store import UsageStore

DAYS = 30
SESSIONS = 200  # the newest ones of other users
LIMITED = 20  # sessions whose limits are shown
FRESH_S = 2.0
PATIENCE_S = 0.3  # how long a request for sessions waits for a server
REST_S = 30.0  # how long a database that did not respond is not queried again
_HOW = "popkit budget set month_tokens=20000000"
_SHOWN = 300


class UsageTile(Tile):
    """Limits and usage. Threads share the store."""

    view = "budgets"
    title = "Budgets"
    places = {"/api/budgets": (FILE, "retention-config.json")}

    def __init__(self, app_state: AppState) -> None:
        super().__init__(app_state)
        self._lock = threading.Lock()
        self._store: UsageStore | None = None
        self._configured: object = None  # the database in the configuration last time
        self._silent_until = 0.0
        self._others = TeamSessions(self._sessions, lambda error: app_state.failure("dashboard-others", error))

    def router(self) -> APIRouter:
        router = APIRouter()

        @router.get(
            "/api/budgets", tags=["spending"], response_model=Budgets, responses=failures(*ASKING, 503), summary="Limits, and usage by day"
        )
        def budgets(user: Annotated[str, Query(max_length=400, description='Whose usage; "" for that of all users')] = "") -> Budgets:
            return self.budgets(user)

        return router

    def jobs(self) -> list[Callable[[threading.Event], object]]:
        return [partial(keep_ingesting, self.app_state)]

    def database(self) -> tuple[str, bool]:
        """Return what the base does, without connecting to the database."""
        server = self._server()
        if isinstance(server, str):
            return server, False
        return (server.words, True) if server else (WORDS, False)

    def _server(self) -> Server | str | None:
        """Return the configured server; None for SQLite in our folder, a message for an address that is invalid."""
        try:
            return server_in(self.app_state.environ)
        except DatabaseUnavailable as error:
            return str(error)

    @contextmanager
    def opened_store(self) -> Iterator[UsageStore | None]:
        """Return the store; None where there is none yet. Unusable where it does not respond."""
        self._follow_configuration()
        try:
            with self._lock:
                if time.monotonic() < self._silent_until:
                    raise StoreUnusable(self._silent())
                store = self._opened()
            yield store
        except DatabaseUnavailable as error:
            self._silent_until = time.monotonic() + REST_S if self.database()[1] else 0.0
            raise StoreUnusable(str(error)) from None

    def _silent(self) -> str:
        return f"{self.database()[0]} is not responding. Trying again within {REST_S:.0f} seconds"

    def _follow_configuration(self) -> None:
        """Drop the store and the sessions of a database that is no longer the configured one."""
        server = self._server()
        if server != self._configured:
            self._configured, self._silent_until = server, 0.0
            self.close()
            self._others.forget()

    def _opened(self) -> UsageStore | None:
        is_here = os.path.exists(os.path.join(self.app_state.home, FILE))
        if self._store is not None and not self._store.shared and not is_here:
            self.close()
        if self._store is None:
            try:
                self._store = open_store(self.app_state.environ, create=False)
            except FileNotFoundError:
                return None
        return self._store

    def close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def budgets(self, user: str = "") -> Budgets:
        """Return the limits of the newest sessions and of a user ("" for who runs this), and the usage by day."""
        now = self.app_state.now()
        limits = budgets.limits_of(configuration(self.app_state.environ))
        since = days_before(day_of(now), DAYS - 1)
        with self.opened_store() as store:
            states = budgets.standings(store, limits, "", user or user_in(self.app_state.environ), now)
            used = dict(store.by_day(since, user)) if store is not None else {}
            if store is not None and (limits.session_tokens is not None or limits.session_usd is not None):
                newest = [snapshot.session_id for snapshot in store.by_session(month_of(now), user, LIMITED)]
                alone = limits._replace(month_tokens=None, month_usd=None)
                states += [standing for session in newest for standing in budgets.standings(store, alone, session, "", now)]
            users = store.users() if store is not None else []
        return Budgets(
            configured={name: limit for name, limit in limits._asdict().items() if limit is not None},
            limits=[BudgetShown.model_validate(budgets.to_json(standing)) for standing in states],
            user=user,
            usage=[_day(day, used.get(day, Sum())) for day in self.app_state.days(DAYS, used)],
            users=users,
            how=_HOW,
        )

    def others(self, here: set[str]) -> list[SessionRow]:
        """Return rows of sessions that only the database has, the newest first; where it does not respond, those of its last answer."""
        self._follow_configuration()
        shared = self.database()[1]
        return [self._row(snapshot, shared) for snapshot in self._newest() if snapshot.session_id not in here]

    def check_others(self) -> None:
        problem = self._others.problem
        if problem is not None:
            raise StoreUnusable(problem or self._silent())

    def stamp(self) -> str:
        """Return a stamp that changes with each booking in a database that others write to; "" for our own, whose files show it."""
        if not self.database()[1]:
            return ""
        return repr([(snapshot.session_id, snapshot.at, snapshot.used.requests) for snapshot in self._newest()])

    def _newest(self) -> list[SessionUsage]:
        """Return the newest sessions, queried again when there may be more: every FRESH_S for a server, else when the file has changed."""
        if self.database()[1]:
            return self._others.known(time.monotonic() // FRESH_S, PATIENCE_S)
        return self._others.known(mark_of(os.path.join(self.app_state.home, FILE)), None)

    def _sessions(self) -> list[SessionUsage]:
        since = days_before(day_of(self.app_state.now()), DAYS - 1)
        with self.opened_store() as store:
            return [] if store is None else store.by_session(since, most=SESSIONS)

    def _row(self, used: SessionUsage, shared: bool) -> SessionRow:
        running = self.app_state.now() - used.at < RUNS_S
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
        with self.opened_store() as store:
            used = store.of_session(id) if store is not None else Sum()
        cost = f" ${used.usd:,.2f}" + (f" without {used.unpriced:,} of unknown price" if used.unpriced else "")
        return [
            f"Requests  {used.requests:,}, for{cost}",
            f"Input     {used.input_tokens:,} tokens",
            f"Cache     {used.cache_read_tokens:,} tokens read, {used.cache_write_tokens:,} written",
            f"Output    {used.output_tokens:,} tokens",
        ]

    def series(self, id: str, most: int) -> Series:
        with self.opened_store() as store:
            snapshots = store.snapshots(id, most) if store is not None else []
        return Series(points=[_point(snapshot, number) for number, snapshot in enumerate(reversed(snapshots), 1)])


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
    tokens = as_object(share).get("tokens")
    return tokens if isinstance(tokens, int) else 0
