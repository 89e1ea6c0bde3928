"""The state that all requests of one server share, with the caches of what they show."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import features
from . import transcript_heads
from .contexts import ContextCache
from .shared import SharedState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event
    from typing import TypeVar

    from popkit_retention.core.policy.session_facts import SessionFacts
    from popkit_retention.core.policy.usage import Usage

    from .session_shapes import SessionRow, Strategy

    Kind = TypeVar("Kind")


class Light(NamedTuple):
    """The facts of a context that are cheap to read: the stamp of its session, its newest request, what its session shares, what was stored
    of it."""

    stamp: str
    newest: Usage | None
    facts: SessionFacts
    stored: dict[str, object]


class AppState(SharedState):
    """`light`, `named`: see `session_list`."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] | None = None) -> None:
        super().__init__(environ, now)
        self.light: dict[str, Light] = {}
        self.named: dict[str, tuple[str, str, str]] = {}
        self.contexts = ContextCache(environ, self.now, self.failure)
        self.tiles: list[Any] = [features.found(feature.tile)(self) for feature in features.whole() if feature.tile]

    def tile(self, kind: type[Kind]) -> Kind:
        """Return the tile of a class, which a feature brings that the caller needs."""
        found: Kind = next(tile for tile in self.tiles if isinstance(tile, kind))
        return found

    def jobs(self) -> list[Callable[[Event], object]]:
        """Return the work of all tiles in the background."""
        return [job for tile in self.tiles for job in tile.jobs()]

    def database(self) -> tuple[str, bool]:
        """Return (the name of the database of usage, whether others may write to it, too); "" where no tile has one."""
        return next((found for tile in self.tiles if (found := tile.database())[0]), ("", False))

    def strategy(self, session: str) -> Strategy | None:
        """Return how contexts of a session are assembled; None where no tile knows."""
        return next(filter(None, (tile.strategy(session) for tile in self.tiles)), None)

    def warm_up(self) -> None:
        """Read the beginning of all transcripts, so that the first page does not have to."""
        for known in self.catalog.sessions().values():
            transcript_heads.head_of(known.transcript)

    def others(self, here: set[str]) -> list[SessionRow]:
        """Return rows of the sessions that are not `here` and that tiles know."""
        return [row for tile in self.tiles for row in tile.others(here)]

    def other(self, id: str) -> tuple[Any, SessionRow] | None:
        """Return (the tile that knows it, its row) of a session that is not here; None for any other id. StoreUnusable where a tile cannot
        say whether it knows an id that is unknown here."""
        here = self.catalog.sessions()
        if id in here:
            return None
        found = next(((tile, row) for tile in self.tiles for row in tile.others(set(here)) if row.id == id), None)
        if found is None:
            for tile in self.tiles:
                tile.check_others()
        return found
