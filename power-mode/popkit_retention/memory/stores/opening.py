"""Open the memory store that `memory.store` names."""

from __future__ import annotations

import os

from popkit_retention.core.io.home import NoHome, plugin_root, popkit_home
from popkit_retention.core.state.memory import STORE

from ...features import module
from .protocol import StoreUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .protocol import Store


def configured_store(environ: Mapping[str, str], create: bool = True) -> Store | None:
    """Return the store that the user's configuration names; None, without `create`, where its file does not exist yet. Raise NoHome and
    StoreUnavailable."""
    from popkit_retention.core.config.cached import effective

    where: str = effective(plugin_root(), popkit_home(environ), "")["memory"]["store"]
    if not create and "://" not in where and not os.path.lexists(path_of(where, environ)):
        return None
    return open_store(where, environ)


def open_store(where: str = "", environ: Mapping[str, str] | None = None, create: bool = True) -> Store:
    """Open the store at a place: "" for the file in PopKit's folder, an absolute path (or one that begins with ~/), or the URL of a server,
    whose credentials come from the environment. `create`: whether to create a missing file. Raise StoreUnavailable."""
    environ = os.environ if environ is None else environ
    scheme, is_url, _ = where.partition("://")
    if is_url:
        known = _on_servers()
        if scheme.lower() in known:
            return known[scheme.lower()](where, environ)
        raise StoreUnavailable(f"memory.store is {scheme!r:.40}://…, which is unknown. Use a path, or one of {', '.join(sorted(known))}")
    from .sqlite import SqliteStore

    path = path_of(where, environ)
    if not create and not os.path.lexists(path):
        raise StoreUnavailable(f"{path} does not exist yet. Learn something first: popkit memory admin learn --past")
    return SqliteStore(path, create)


def _on_servers() -> dict[str, Callable[[str, Mapping[str, str]], Store]]:
    """Return what opens a store on a server, by the scheme of its URL."""
    from pkgutil import iter_modules

    from . import servers

    modules = [module(f"{servers.__name__}.{found.name}") for found in iter_modules(servers.__path__)]
    return {scheme: opens for one in modules for scheme, opens in getattr(one, "SERVES", {}).items()}


def empty_store() -> Store:
    """Return a store in memory that holds nothing yet."""
    from .in_memory import InMemoryStore

    return InMemoryStore()


def path_of(where: str, environ: Mapping[str, str] | None = None) -> str:
    """Return the path of a store in a file. Raise StoreUnavailable for one that is not absolute."""
    environ = os.environ if environ is None else environ
    try:
        if not where:
            return os.path.join(popkit_home(environ), STORE)
        if where.startswith("~/"):
            where = environ.get("HOME", "") + where[1:]
    except NoHome as error:
        raise StoreUnavailable(str(error)) from None
    if not where.startswith("/") or "\0" in where:
        raise StoreUnavailable(f"memory.store is {where!r:.60}. Set it to an absolute path, one that begins with ~/, or a server's URL")
    return where
