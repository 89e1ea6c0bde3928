"""The state that all requests of one server share, with the caches of what they show."""

from __future__ import annotations

from .. import features
from . import transcript_heads
from .contexts import ContextCache
from .shared import Shared
from .spending import Spending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .light import Light
    from .session_shapes import SessionRow, Strategy


class AppState(Shared):
    """`light`, `named`: see `session_list`."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] | None = None) -> None:
        """Raise NoHome where our folder cannot be determined."""
        super().__init__(environ, now)
        self.light: dict[str, Light] = {}
        self.named: dict[str, tuple[str, str, str]] = {}
        self.contexts = ContextCache(environ, self.now, self.failure)
        self.spending = Spending(self)
        self.tiles: list[Any] = [features.found(feature.tile)(self) for feature in features.whole() if feature.tile]

    def strategy(self, session: str) -> Strategy | None:
        """Return how contexts of a session are assembled; None where no tile knows."""
        return next(filter(None, (tile.strategy(session) for tile in self.tiles)), None)

    def warm_up(self) -> None:
        """Read the beginning of all transcripts, so that the first page does not have to."""
        for known in self.catalog.sessions().values():
            transcript_heads.head_of(known.transcript)

    def other(self, id: str) -> SessionRow | None:
        """Return the row of a session that only a database has; None for any other id. Unusable where the database cannot be queried for an
        id that is unknown here."""
        here = self.catalog.sessions()
        if id in here:
            return None
        row = next((row for row in self.spending.others(set(here)) if row.id == id), None)
        if row is None:
            self.spending.check_others()
        return row
