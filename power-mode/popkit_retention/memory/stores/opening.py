"""Which store a setting means: `memory.store`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hooks.utils.config import remembered
from hooks.utils.edges.home import NoHome, plugin_root, popkit_home
from hooks.utils.state.memory import STORE

from . import StoreUnavailable
from .neo4j import SCHEMES, Neo4jStore
from .sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import Store


def configured_store(environ: Mapping[str, str], create: bool = True) -> Store | None:
    """The store that the user's configuration names. Without `create`, None for a file that nobody has made yet. NoHome,
    StoreUnavailable."""
    where: str = remembered.effective(plugin_root(), popkit_home(environ), "")["memory"]["store"]
    if not create and "://" not in where and not os.path.lexists(path_of(where, environ)):
        return None
    return open_store(where, environ)


def open_store(where: str = "", environ: Mapping[str, str] = os.environ, create: bool = True) -> Store:
    """The store at a place: "" for the file in PopKit's folder, an absolute path (or one that begins with ~/), or the URL of a Neo4j, whose
    credentials the environment has. StoreUnavailable says what is wrong with it. `create`: whether a file that is missing is made."""
    scheme, is_url, _ = where.partition("://")
    if is_url and scheme.lower() in SCHEMES:
        return Neo4jStore(where, environ)
    if is_url:
        raise StoreUnavailable(f"memory.store is {scheme!r:.40}://…, which is unknown. Use a path, or one of {', '.join(sorted(SCHEMES))}")
    return SqliteStore(path_of(where, environ), create)


def path_of(where: str, environ: Mapping[str, str] = os.environ) -> str:
    """The path of the store in a file."""
    try:
        if not where:
            return os.path.join(popkit_home(environ), STORE)
        if where.startswith("~/"):
            where = environ.get("HOME", "") + where[1:]
    except NoHome as error:
        raise StoreUnavailable(str(error)) from None
    if not where.startswith("/") or "\0" in where:
        raise StoreUnavailable(f"memory.store is {where!r:.60}. Set it to an absolute path, to one that begins with ~/, or to neo4j://…")
    return where
