"""What requests used, and the limits: from the database that clients and the mod write to, which a team may share. Where nobody has made it
yet there is nothing to tell; where it does not answer, it is left alone for a while, so that the rest of the page stays quick."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hooks.utils.policy.masking import mask
from hooks.utils.state.days import day_of, days_before

from ..context import status
from ..context.budget import remaining_of
from ..context.database import budgets, snapshots, usage
from ..context.database.address import BadAddress, server_of
from ..context.database.opening import FILE, Database, DatabaseUnavailable, configuration, login_name, open_database
from ..context.pruning import get_pruning_strategy
from .catalog import RUNS_S
from .problems import NotThere, Unusable
from .shapes import Budgets, BudgetShown, Layers, Point, Series, SessionRow, UsageDay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from ..context.models import ContextStatus
    from .desk import Desk

DAYS = 30
SESSIONS = 200  # of others, the newest
LIMITED = 20  # sessions whose limits are shown
FRESH_S = 2.0
REST_S = 30.0  # for so long a database that did not answer is left alone
_HOW = "popkit budget set month_tokens=20000000"
_SHOWN = 300


class Spending:
    """Of one Desk. Threads share the database."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._silent_until = 0.0
        self._others: tuple[float, list[SessionRow]] = (-FRESH_S, [])

    # --- the database ------------------------------------------------------------------------------------------------------------------

    def place(self) -> tuple[str, bool]:
        """(what a person calls the database, whether others may write to it too), without asking it."""
        try:
            server = server_of(configuration(self._desk.environ)["database"], self._desk.environ, self._user)
        except BadAddress as error:
            return str(error), False
        return (server.words, True) if server else ("SQLite on this machine", False)

    @property
    def _user(self) -> str:
        named: str = configuration(self._desk.environ).get("user") or ""
        return named or login_name(self._desk.environ)

    @contextmanager
    def _asked(self) -> Iterator[Database | None]:
        """The database; None where nobody has made it yet. Unusable where it does not answer."""
        if time.monotonic() < self._silent_until:
            raise Unusable(f"{self.place()[0]} did not answer. It is asked again in a while")
        try:
            with self._lock:
                database = self._opened()
            yield database
        except DatabaseUnavailable as error:
            self._silent_until = time.monotonic() + REST_S if self.place()[1] else 0.0
            raise Unusable(str(error)) from None

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        """A connection for questions; None and Unusable as of `_asked`."""
        with self._asked() as database:
            if database is None:
                yield None
                return
            with database.reading() as connection:
                yield connection

    def _opened(self) -> Database | None:
        is_here = os.path.exists(os.path.join(self._desk.home, FILE))
        if self._database is not None and not self._database.shared and not is_here:
            self.close()
        if self._database is None:
            try:
                self._database = open_database(self._desk.environ, create=False)
            except FileNotFoundError:
                return None
        return self._database

    def close(self) -> None:
        """Lets go of the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    # --- what is told ------------------------------------------------------------------------------------------------------------------

    def budgets(self, user: str = "") -> Budgets:
        """The limits that hold for the newest sessions and for a user ("" for who runs this), and what was used by day."""
        now = self._desk.now()
        limits = budgets.limits_of(configuration(self._desk.environ))
        since = days_before(day_of(now), DAYS - 1)
        with self._reading() as connection:
            if connection is None:
                return Budgets(limits=[], usage=[], users=[], how=_HOW)
            newest = [each.session_id for each in usage.by_session(connection, budgets.month_of(now), user, LIMITED)]
            found = budgets.standings(connection, limits, "", user or self._user, now)
            if limits.session_tokens is not None or limits.session_usd is not None:
                alone = limits._replace(month_tokens=None, month_usd=None)
                found += [each for session in newest for each in budgets.standings(connection, alone, session, "", now)]
            days = usage.by_day(connection, since, user)
            return Budgets(
                limits=[_limit(each) for each in found], usage=[_day(*each) for each in days], users=usage.users(connection), how=_HOW
            )

    def others(self, here: set[str]) -> list[SessionRow]:
        """Rows of sessions that are known from the database alone, the newest first. None where it does not answer."""
        at, rows = self._others
        since = days_before(day_of(self._desk.now()), DAYS - 1)
        if time.monotonic() - at >= FRESH_S:
            try:
                with self._reading() as connection:
                    rows = [] if connection is None else [self._row(each) for each in usage.by_session(connection, since, most=SESSIONS)]
            except Unusable:
                rows = []
            self._others = (time.monotonic(), rows)
        return [row for row in rows if row.id not in here]

    def _row(self, used: usage.SessionUsed) -> SessionRow:
        return SessionRow(
            id=used.session_id,
            project=used.project[:_SHOWN],
            user=used.user_id,
            here=False,
            running=self._desk.now() - used.at < RUNS_S,
            changed_at=used.at,
            stamp=f"{used.at:.3f}-{used.used.requests}",
            calls=used.used.requests,
        )

    def lines(self, id: str) -> list[str]:
        """What a session has used, in words."""
        with self._reading() as connection:
            used = usage.of_session(connection, id) if connection is not None else usage.Sum()
        cost = f" ${used.usd:,.2f}" + (f" without {used.unpriced:,} of unknown price" if used.unpriced else "")
        return [
            f"Requests  {used.requests:,}, for{cost}",
            f"Input     {used.input_tokens:,} tokens",
            f"Cache     {used.cache_read_tokens:,} tokens read, {used.cache_write_tokens:,} written",
            f"Output    {used.output_tokens:,} tokens",
        ]

    def series(self, id: str, most: int) -> Series:
        """The layers of the contexts that were assembled for a session, oldest first."""
        with self._reading() as connection:
            found = snapshots.of_session(connection, id, most) if connection is not None else []
        return Series(points=[_point(each, number) for number, each in enumerate(reversed(found), 1)])

    def status(self, id: str) -> ContextStatus:
        """How the context of a session stood when it was last assembled; NotThere for none."""
        try:
            with self._asked() as database:
                if database is None:
                    raise NotThere(f"no context of session {mask(id)!r:.100} was assembled here")
                return status.status_of(database, id)
        except status.NoSnapshot as error:
            raise NotThere(str(error)) from None

    def stamp(self) -> str:
        """Changes when something was booked in a database that others write to; "" where files tell."""
        if not self.place()[1]:
            return ""
        return repr([(row.id, row.stamp) for row in self.others(set())[:20]])


def _limit(found: budgets.Standing) -> BudgetShown:
    remaining = remaining_of(found.used_percent)
    told: dict[str, Any] = {
        **found._asdict(), "used_percent": round(found.used_percent, 2), "remaining_percent": round(remaining, 2),
        "range": get_pruning_strategy(remaining).budget_range,
    }  # fmt: skip
    return BudgetShown.model_validate(told)


def _day(day: str, used: usage.Sum) -> UsageDay:
    return UsageDay(
        day=day,
        input_tokens=used.input_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        output_tokens=used.output_tokens,
        usd=round(used.usd, 6) if used.unpriced < used.requests else None,
    )


def _point(found: snapshots.Snapshot, number: int) -> Point:
    shares = {name: _tokens(found.tier_breakdown.get(name)) for name in ("tier1", "tier2", "tier3", "tier4")}
    return Point(at=found.created_at, request=number, tokens=found.total_tokens, tiers={}, expired=0, layers=Layers(**shares))


def _tokens(share: object) -> int:
    tokens = share.get("tokens") if isinstance(share, dict) else None
    return tokens if isinstance(tokens, int) else 0
