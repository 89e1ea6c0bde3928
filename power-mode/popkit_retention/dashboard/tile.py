"""A tile: a view of the page with a link in its head, its routes, what they are made from, what it adds to sessions."""

from __future__ import annotations

import inspect
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from fastapi import APIRouter

    from .app_state import AppState
    from .session_shapes import Series, SessionRow, Strategy
    from .shapes import Offer, OperationResult


class Tile:
    """The tile of one server. `view`: its name in the addresses of the page, "" for a tile without a view of its own; `title`: its name for
    people; `script`: the file beside the tile whose default export draws the view, and which imports modules of the page as "/api.js".
    `places`: the beginning of its addresses -> the files, and folders of files, in our folder from which answers are made."""

    view = ""
    title = ""
    script = "tile.js"
    places: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, app_state: AppState) -> None:
        self.app_state = app_state

    @classmethod
    def module(cls) -> str:
        """Return the path of `script`."""
        return os.path.join(os.path.dirname(inspect.getfile(cls)), cls.script)

    def router(self) -> APIRouter:
        """Return its routes."""
        raise NotImplementedError

    def stamp(self) -> object:
        """Return a value that changes with its answers when the files of `places` do not."""
        return None

    def jobs(self) -> list[Callable[[threading.Event], object]]:
        """Return its work in the background: functions that run until an event is set, each in a thread of its own."""
        return []

    def database(self) -> tuple[str, bool]:
        """Return (the name of the database of usage, whether others may write to it, too); the name is "" where the tile has none."""
        return "", False

    def offered_for(self, session: str) -> list[Offer]:
        """Return the operations that it offers on a session."""
        return []

    def do_of_session(self, id: str, session: str, why: str) -> OperationResult | None:
        """Run one of these operations; None for an id that it never offers. NotOffered where it does not offer it now."""
        return None

    def strategy(self, session: str) -> Strategy | None:
        """Return how contexts of a session are assembled; None where the tile does not know."""
        return None

    def others(self, here: set[str]) -> list[SessionRow]:
        """Return rows of sessions that are not `here` and that the tile alone knows, the newest first."""
        return []

    def check_others(self) -> None:
        """Raise StoreUnusable where there may be sessions that `others` does not have yet."""

    def lines(self, session: str) -> list[str]:
        """Return one of its sessions in words."""
        raise NotImplementedError

    def series(self, session: str, most: int) -> Series:
        """Return the newest `most` contexts of one of its sessions, the oldest first."""
        raise NotImplementedError
