"""Find the features that are there: each folder beside this file with a module `feature`, whose FEATURE says what it brings.

Rows name modules and functions as texts: a module is loaded when something of it is wanted.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from popkit_retention.core.operation_tables import Table

# What a feature may offer to the rest -> how its function is called.
OFFERS = {
    "checks": "(environ) -> findings of doctor about another host, before those of stores",
    "copies": "(popkit_home) -> lines about copies of what is deleted in another feature",
    "job": "(environ): what is due once a session has ended",
    "logged": "(environ, ids, now, command) -> a context manager around the deletion of archived contents by hand",
    "removes": "(environ) -> what could not be taken back of what is set up outside our folder",
    "warns": "(environ, parts) -> lines about stored data that somebody wants to stay",
}


class Command:
    """A command of `popkit`. `table`: where its table of operations is, as module:NAME · `rank`: its place among all · `run`: the
    function(words, environ) -> exit code that parses the words itself, as module:function; without it, the operation's own function is
    called with what was parsed, and its module may have MISTAKES: errors that are shown in a line, beside Refused · `first`: (rank, what it
    does) where help begins with it · `renamed`: name of the version before -> (its words now, flag -> flag) · `needs`: other features."""

    __slots__ = ("first", "name", "needs", "rank", "renamed", "run", "table")

    def __init__(
        self, name: str, table: str, rank: int, run: str = "", first: tuple[int, str] | None = None,
        renamed: Mapping[str, tuple[str, Mapping[str, str]]] | None = None, needs: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.table = table
        self.rank = rank
        self.run = run
        self.first = first
        self.renamed = renamed or {}
        self.needs = needs

    def operations(self) -> Table:
        """Return its table of operations."""
        table: Table = found(self.table)
        return table


class SetUp:
    """A setup by `popkit setup NAME` that is no package. `title`, `purpose`: in help and in the list · `more`: what help says of it ·
    `does`: (undo, scope, yes, environ) -> exit code · `is_there`: (environ) -> whether it is set up."""

    __slots__ = ("does", "is_there", "more", "name", "purpose", "title")

    def __init__(self, name: str, title: str, purpose: str, more: str, does: str, is_there: str) -> None:
        self.name = name
        self.title = title
        self.purpose = purpose
        self.more = more
        self.does = does
        self.is_there = is_there


class Feature:
    """The contributions of a folder. `name`: the folder's · `rank`: its place among all · `needs`: features without which its commands say
    so, and its tools and offers are left out · `stores`: its modules that declare a STORAGE · `tools`: the module whose TOOLS agents get,
    and whose `advice(error)`, if it has one, gives the message for an error of its own · `tile`: its Tile of the page, as module:Class ·
    `offers`: a name of OFFERS -> module:function."""

    __slots__ = ("commands", "name", "needs", "offers", "rank", "setups", "stores", "tile", "tools")

    def __init__(
        self, name: str, rank: int, commands: tuple[Command, ...] = (), stores: tuple[str, ...] = (), tools: str = "", tile: str = "",
        setups: tuple[SetUp, ...] = (), offers: Mapping[str, str] | None = None, needs: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.rank = rank
        self.commands = commands
        self.stores = stores
        self.tools = tools
        self.tile = tile
        self.setups = setups
        self.offers = offers or {}
        self.needs = needs
        for command in commands:
            command.needs = (*needs, *command.needs)


_known: list[Feature] = []


def every() -> list[Feature]:
    """Return the features that are there, in the order of their ranks."""
    if not _known:
        here = os.path.dirname(os.path.abspath(__file__))
        paths = {name: os.path.join(here, name, "feature.py") for name in os.listdir(here)}
        brought = [_read(name, path) for name, path in paths.items() if os.path.isfile(path)]
        _known.extend(sorted(brought, key=lambda feature: feature.rank))
    return _known


def _read(name: str, path: str) -> Feature:
    """Return what a folder brings. Its package is not loaded for that, which would cost the start of each command some milliseconds."""
    full = f"{__package__}.{name}.feature"
    if full not in sys.modules:
        loader: Any = type(__spec__.loader)
        rows = sys.modules[full] = type(sys)(full)
        rows.__package__, rows.__file__ = f"{__package__}.{name}", path
        loader(full, path).exec_module(rows)
    feature: Feature = sys.modules[full].FEATURE
    return feature


def whole() -> list[Feature]:
    """Return the features of which all that they need is there."""
    return [feature for feature in every() if not missing(feature.needs)]


def setups() -> list[SetUp]:
    """Return what `popkit setup` knows beside packages."""
    return [setup for feature in every() for setup in feature.setups]


def missing(needs: tuple[str, ...]) -> list[str]:
    """Return those of the needed features that are not there."""
    there = {feature.name for feature in every()} if needs else set()
    return [name for name in needs if name not in there]


def offering(name: str) -> Iterator[Callable[..., Any]]:
    """Yield the functions that features offer under a name of OFFERS."""
    for feature in whole():
        if name in feature.offers:
            yield found(feature.offers[name])


def found(place: str) -> Any:
    """Return what a place names, as module:name; its module is loaded now."""
    where, _, name = place.partition(":")
    return getattr(module(where), name)


def module(name: str) -> Any:
    """Return a module by its name, loaded if need be. `importlib` would cost the start of every command a millisecond."""
    __import__(name)
    return sys.modules[name]
