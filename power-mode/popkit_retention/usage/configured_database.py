"""The database of usage that the user's configuration names: SQLite in our folder, or a PostgreSQL server."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, NamedTuple

from popkit_retention.core.config import layers
from popkit_retention.core.config.cached import effective
from popkit_retention.core.io import foreign, home, processes
from popkit_retention.core.io.findings import OK, WARNING, Check
from popkit_retention.core.io.storage import Storage
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.text import clean
from popkit_retention.core.units import counted

from .. import extras
from ..operations.login import login_name
from . import budgets
from .old_file import has_old_file
from .records import month_of
from .replication import count_pending
from .server_address import WHOLE_URL, BadAddress, server_of
from .sqlite import FILE, WORDS, SqliteStore
from .unchecked import unchecked_since
from .usage_store import DatabaseUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .records import Sum
    from .server_address import Server
    from .unchecked import UncheckedRequests
    from .usage_store import UsageStore


_NAME = "budget"  # of the check


def configuration(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the user's settings `context`. NoHome."""
    context: dict[str, object] = effective(home.plugin_root(), home.popkit_home(environ), "")["context"]
    return context


def open_store(environ: Mapping[str, str] | None = None, create: bool = True) -> UsageStore:
    """Open the configured store. DatabaseUnavailable; FileNotFoundError, without `create`, where its file or tables do not exist yet.
    NoHome."""
    environ = os.environ if environ is None else environ
    server = server_in(environ)
    if server is None:
        return open_local(environ, create)
    from .postgres import PostgresStore  # what it needs takes a while to load

    return PostgresStore(server, create)


def open_local(environ: Mapping[str, str], create: bool = True) -> SqliteStore:
    """Open the store in our folder, as `open_store`."""
    return SqliteStore(os.path.join(home.popkit_home(environ), FILE), create)


def check_usable(environ: Mapping[str, str]) -> str:
    """Check that the configured database can be used; return its name for people. Creates and changes nothing. DatabaseUnavailable,
    NoHome."""
    server = server_in(environ)
    if server is None and has_old_file(os.path.join(home.popkit_home(environ), FILE)):
        return WORDS  # opening it would import the old file
    try:
        open_store(environ, create=False).close()
    except FileNotFoundError:
        pass  # nothing was written yet
    return server.words if server else WORDS


def server_in(environ: Mapping[str, str]) -> Server | None:
    """Return the configured server; None for SQLite in our folder. DatabaseUnavailable, NoHome."""
    if environ.get(WHOLE_URL) and foreign.is_set_by_project(WHOLE_URL, environ):
        raise DatabaseUnavailable(
            f"{WHOLE_URL} is set by this project's settings, so a repository would choose where your usage goes. Set it in your own"
        )
    try:
        return server_of(configuration(environ)["database"], environ, login_name(environ))
    except BadAddress as error:
        raise DatabaseUnavailable(str(error)) from None


def is_configured(context: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Return whether the user has set anything that needs usage: a limit or a database. `context`: the settings of that name."""
    return budgets.limits_of(context).any or bool(context.get("database") or environ.get(WHOLE_URL))


def user_in(environ: Mapping[str, str]) -> str:
    """Return the user whose sessions these are: the configured one, else the login name. NoHome."""
    return configuration(environ)["user"] or login_name(environ)


class BudgetReport(NamedTuple):
    """Limits and usage of a user, this month, and of a session, whose `session` is "" and `of_session` None where there is none."""

    database: str
    user: str
    session: str
    month: str
    limits: list[budgets.Standing]
    on_exceeded: str
    unchecked: UncheckedRequests | None
    of_session: Sum | None
    of_month: Sum

    def to_json(self) -> dict[str, object]:
        return {
            "database": self.database, "user": self.user, "session": self.session, "month": self.month,
            "limits": [budgets.to_json(standing) for standing in self.limits], "on_exceeded": self.on_exceeded,
            **budgets.percent_to_json(budgets.used_percent(self.limits)), "unchecked": self.unchecked and self.unchecked.as_fields(),
            "usage": {"session": self.of_session and self.of_session._asdict(), "month": self.of_month._asdict()},
        }  # fmt: skip


_NEXT_SESSION = "(the next session)"  # the limits of a session apply to it, of which nothing is used yet


def report(environ: Mapping[str, str], session: str = "", user: str = "", now: float | None = None) -> BudgetReport:
    """Return limits and usage of a session ("": the user's newest) and a user ("": the configured one); `now`: seconds since 1970.
    DatabaseUnavailable; NoHome."""
    config = configuration(environ)
    now = time_of_day(environ) if now is None else now
    user = user or config["user"] or login_name(environ)
    unchecked = unchecked_this_month(environ, now)
    with open_store(environ) as store:
        session = session or next((snapshot.session_id for snapshot in store.by_session(user=user, most=1)), "")
        standings = budgets.standings(store, budgets.limits_of(config), session or _NEXT_SESSION, user, now)
        of_session = store.of_session(session) if session else None
        of_month = store.of_user(user, month_of(now))
        return BudgetReport(
            store.words, user, session, month_of(now)[:7], standings, config["on_exceeded"], unchecked, of_session, of_month
        )


def unchecked_this_month(environ: Mapping[str, str], now: float) -> UncheckedRequests | None:
    """Return the requests of this month, on this machine, whose limits could not be checked; None where there are none. OSError, NoHome."""
    return unchecked_since(home.popkit_home(environ), month_of(now))


def check(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> Check:
    """Return doctor's check of limits, database and traces: whether the configured ones can be used. Changes nothing, and opens no database
    that is not configured."""
    context = layers.load(home.plugin_root(), popkit_home, None).get("context") or {}
    limits = sum(limit is not None for limit in budgets.limits_of(context))
    facts: dict[str, Any] = {"limits": limits, "waiting": 0}
    if not is_configured(context, environ) and not context.get("traces"):
        return Check(_NAME, OK, "no limits and no traces. To set a limit: popkit budget set month_usd=50", **facts)
    if context.get("traces") and not extras.place_of("traces", environ):
        return Check(_NAME, WARNING, "context.traces is set, but nothing can send them", "popkit setup traces", **facts)
    try:
        facts["waiting"] = _waiting(environ)
        facts["database"] = _checked_name(environ)
    except (DatabaseUnavailable, OSError) as error:
        return Check(_NAME, WARNING, clean(str(error)), "Until then, contexts are built without limits, and nothing is recorded.", **facts)
    summary = f"{counted(limits, 'limit')}; {clean(facts['database'])}" + ("; traces are sent" if context.get("traces") else "")
    summary += f"; {counted(facts['waiting'], 'request')} to be sent there with the next popkit budget" if facts["waiting"] else ""
    return Check(_NAME, OK, summary, **facts)


def _checked_name(environ: Mapping[str, str]) -> str:
    """Check the database in an interpreter that has its driver; return its name for people. DatabaseUnavailable."""
    if server_in(environ) is None:
        return check_usable(environ)
    command = processes.popkit_command(["budget", "--check", "--json"])
    done = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603  ours
    try:
        answer = json.loads(done.stdout)
        if "error" not in answer:
            return str(answer["database"])
    except (ValueError, KeyError):
        answer = {"error": (done.stderr.strip().splitlines() or ["popkit budget printed nothing"])[-1]}
    raise DatabaseUnavailable(answer["error"])


def _waiting(environ: Mapping[str, str]) -> int:
    if server_in(environ) is None:
        return 0
    try:
        return count_pending(open_local(environ, create=False))
    except FileNotFoundError:
        return 0


STORAGE = (Storage("snapshots and usage", {"": r"(usage|context)\.sqlite|unchecked\.jsonl|outbox\.(jsonl|sending|left)"}, check),)
