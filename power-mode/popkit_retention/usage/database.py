"""The database that the user's configuration names, SQLite in our folder or a PostgreSQL, and doctor's check of it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from hooks.utils.config import layers, remembered
from hooks.utils.io import children, home
from hooks.utils.io.storage import OK, WARNING, Check, Storage
from hooks.utils.text import clean, counted

from .. import extras
from . import replication
from .address import WHOLE, BadAddress, server_of
from .budgets import limits_of
from .sqlite import FILE, WORDS, SqliteStore, has_old_file
from .store import DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .address import Server
    from .store import UsageStore

_NAME = "budget"  # of the check


def configuration(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the user's settings `context`. NoHome."""
    context: dict[str, Any] = remembered.effective(home.plugin_root(), home.popkit_home(environ), "")["context"]
    return context


def open_store(environ: Mapping[str, str] = os.environ, create: bool = True) -> UsageStore:
    """Open the configured store. DatabaseUnavailable; FileNotFoundError, without `create`, where its file or tables do not exist yet.
    NoHome."""
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
    try:
        return server_of(configuration(environ)["database"], environ, login_name(environ))
    except BadAddress as error:
        raise DatabaseUnavailable(str(error)) from None


def is_asked_for(context: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Return whether the user has set anything that needs usage: a limit or a database. `context`: the settings of that name."""
    return limits_of(context).any or bool(context.get("database") or environ.get(WHOLE))


def user_in(environ: Mapping[str, str]) -> str:
    """Return the user whose sessions these are: the configured one, else the login name. NoHome."""
    return configuration(environ)["user"] or login_name(environ)


def login_name(environ: Mapping[str, str]) -> str:
    """Return the login name."""
    import getpass

    named = next((environ[key] for key in ("LOGNAME", "USER", "USERNAME") if environ.get(key)), "")
    try:
        return named or getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())


# --- doctor ------------------------------------------------------------------------------------------------------------------------------


def check(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> Check:
    """Return doctor's check of limits, database and traces: whether what is configured can be used. Changes nothing, and opens no database
    that is not configured."""
    context = layers.load(home.plugin_root(), popkit_home, None).get("context") or {}
    limits = sum(limit is not None for limit in limits_of(context))
    facts: dict[str, Any] = {"limits": limits, "waiting": 0}
    if not is_asked_for(context, environ) and not context.get("traces"):
        return Check(_NAME, OK, "no limits and no traces. To set a limit: popkit budget set month_usd=50", **facts)
    if context.get("traces") and not extras.place_of("traces", environ):
        return Check(_NAME, WARNING, "context.traces is set, but nothing can send them", "popkit setup traces", **facts)
    try:
        facts["waiting"] = _pending(environ)
        facts["database"] = _checked_name(environ)
    except (DatabaseUnavailable, OSError) as error:
        return Check(_NAME, WARNING, clean(str(error)), "Contexts are built without limits, and nothing is booked, until then.", **facts)
    summary = f"{counted(limits, 'limit')}; {clean(facts['database'])}" + ("; traces are sent" if context.get("traces") else "")
    summary += f"; {counted(facts['waiting'], 'request')} to be sent there with the next popkit budget" if facts["waiting"] else ""
    return Check(_NAME, OK, summary, **facts)


def _checked_name(environ: Mapping[str, str]) -> str:
    """Check the database in an interpreter that has its driver; return its name for people. DatabaseUnavailable."""
    if server_in(environ) is None:
        return check_usable(environ)
    command = children.command_line(["budget", "--check", "--json"])
    done = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603  ours
    try:
        answer = json.loads(done.stdout)
        if "error" not in answer:
            return str(answer["database"])
    except (ValueError, KeyError):
        answer = {"error": (done.stderr.strip().splitlines() or ["popkit budget said nothing"])[-1]}
    raise DatabaseUnavailable(answer["error"])


def _pending(environ: Mapping[str, str]) -> int:
    """Return how many requests are yet to be sent to a server."""
    if server_in(environ) is None:
        return 0
    try:
        return replication.pending(open_local(environ, create=False))
    except FileNotFoundError:
        return 0


STORAGE = (Storage("snapshots and usage", {"": r"(usage|context)\.sqlite|outbox\.(jsonl|sending|left)"}, check),)
