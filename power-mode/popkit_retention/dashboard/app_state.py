"""The state that all requests of one server share, with the caches of what they show."""

from __future__ import annotations

from . import transcripts
from .contexts import ContextCache
from .shared import Shared
from .spending import Spending
from .stored_data import Retention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .light import Light
    from .shapes import SessionRow


class AppState(Shared):
    """`light`, `named`: see `sessions`."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] | None = None) -> None:
        """Raise NoHome where our folder cannot be determined."""
        super().__init__(environ, now)
        self.light: dict[str, Light] = {}
        self.named: dict[str, tuple[str, str, str]] = {}
        self.contexts = ContextCache(environ, self.now, self.failure)
        self.retention = Retention(self)
        self.spending = Spending(self)

    def warm_up(self) -> None:
        """Read the beginning of all transcripts, so that the first page does not have to."""
        for known in self.catalog.sessions().values():
            transcripts.head_of(known.transcript)

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
