"""Which store the user's configuration means: SQLite in our folder, or a PostgreSQL."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hooks.utils.config import remembered
from hooks.utils.edges import home

from . import earlier
from .address import WHOLE, BadAddress, server_of
from .budgets import limits_of
from .sqlite import FILE, WORDS, SqliteStore
from .store import DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .address import Server
    from .store import UsageStore


def configuration(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the user's settings `context`. NoHome."""
    found: dict[str, Any] = remembered.effective(home.plugin_root(), home.popkit_home(environ), "")["context"]
    return found


def open_store(environ: Mapping[str, str] = os.environ, create: bool = True) -> UsageStore:
    """Open the store that the user's configuration means. DatabaseUnavailable; FileNotFoundError, without `create`, where nobody has made
    its file or its tables yet. NoHome."""
    server = server_in(environ)
    if server is None:
        return open_local(environ, create)
    from .postgres import PostgresStore  # what it needs takes a while to load

    return PostgresStore(server, create)


def open_local(environ: Mapping[str, str], create: bool = True) -> SqliteStore:
    """Open the store in our folder, as `open_store`."""
    return SqliteStore(os.path.join(home.popkit_home(environ), FILE), create)


def look(environ: Mapping[str, str]) -> str:
    """Return what a person calls the database that the configuration means, once it has turned out that it can be used; nothing is made or
    changed. DatabaseUnavailable, NoHome."""
    server = server_in(environ)
    if server is None and earlier.is_there(os.path.join(home.popkit_home(environ), FILE)):
        return WORDS  # opening it would take in the earlier one
    try:
        open_store(environ, create=False).close()
    except FileNotFoundError:
        pass  # nobody has written anything yet
    return server.words if server else WORDS


def server_in(environ: Mapping[str, str]) -> Server | None:
    """Return the server that the user's configuration means; None for SQLite in our folder. DatabaseUnavailable, NoHome."""
    try:
        return server_of(configuration(environ)["database"], environ, login_name(environ))
    except BadAddress as error:
        raise DatabaseUnavailable(str(error)) from None


def is_asked_for(context: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Return whether the user has set anything that usage is booked for: a limit or a database. `context`: the settings of that name."""
    return limits_of(context).any or bool(context.get("database") or environ.get(WHOLE))


def user_in(environ: Mapping[str, str]) -> str:
    """Return who sessions here are booked to: the configured user, else who has logged in. NoHome."""
    return configuration(environ)["user"] or login_name(environ)


def login_name(environ: Mapping[str, str]) -> str:
    """Return who has logged in here."""
    import getpass

    named = next((environ[key] for key in ("LOGNAME", "USER", "USERNAME") if environ.get(key)), "")
    try:
        return named or getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())
