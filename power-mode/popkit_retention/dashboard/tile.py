"""A tile of the page, as a feature brings one: its routes, what they are made from, what it adds to a session."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import APIRouter

    from .app_state import AppState
    from .session_shapes import Strategy
    from .shapes import Offer, OperationResult


class Tile:
    """The tile of one server. `view`: its name on the page, "" for a tile without a view of its own. `places`: the beginning of its
    addresses -> the files, and folders of files, in our folder from which answers are made."""

    view = ""
    places: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, app_state: AppState) -> None:
        self.app_state = app_state

    def router(self) -> APIRouter:
        """Return its routes."""
        raise NotImplementedError

    def offered_for(self, session: str) -> list[Offer]:
        """Return the operations that it offers on a session."""
        return []

    def do_of_session(self, id: str, session: str, why: str) -> OperationResult | None:
        """Run one of these operations; None for an id that it never offers. NotOffered where it does not offer it now."""
        return None

    def strategy(self, session: str) -> Strategy | None:
        """Return how contexts of a session are assembled; None where the tile does not know."""
        return None
