"""What has changed since a page last asked: how everything stands is looked up by stats when it asks, and never in between."""

from __future__ import annotations

import os
import secrets
import threading
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..usage.sqlite import FILE as USAGE
from .history import History
from .shapes import Changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .catalog import Known
    from .desk import Desk
    from .history import Name

# What PopKit was worth is told to have changed no more often: to tell it, what sessions did is settled first, which a session that runs
# would cause with every line that it writes.
STATS_S = 10.0
_LIST, _STATS = ("/api/sessions?", ""), ("/api/stats", "")
_BUDGETS = ("/api/budgets", "")
# What of our folder each part is told from: files, and folders of them.
_PLACES: dict[Name, tuple[str, ...]] = {
    ("/api/memory", ""): ("memory.sqlite", "memory.sqlite-wal", "memory"),
    ("/api/retention", ""): ("archive.sqlite", "archive.sqlite-wal", "data"),
    _BUDGETS: (USAGE, "retention-config.json"),
}


class Lookout:
    """Of one Desk. Threads may ask at once."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._history = History(secrets.token_hex(8))
        self._worth: tuple[object, float] | None = None  # the sessions that /api/stats was last told to have changed for, and when

    def since(self, token: str) -> Changes:
        """What has changed since a token was given."""
        with self._lock:
            known = self._desk.catalog.sessions()
            self._history.note(self._stamps(known), [_LIST] if self._desk.looks.have_caught_up(known) else [])
            names = self._history.since(token)
            return Changes(
                token=self._history.token,
                at=self._desk.now(),
                everything=names is None,
                changed=[_address(name) for name in names or ()],
            )

    def _stamps(self, known: Mapping[str, Known]) -> dict[Name, object]:
        """Of everything that may change, as it stands now."""
        here = {id: each.stamp for id, each in known.items()}
        # This may wait for a database, and opens one whose files it changes by that.
        everywhere = {**here, **{row.id: row.stamp for row in self._desk.spending.others(set(known))}}
        stamps: dict[Name, object] = {_session(id): stamp for id, stamp in everywhere.items()}
        stamps.update({name: [_marks(os.path.join(self._desk.home, place)) for place in places] for name, places in _PLACES.items()})
        stamps[_BUDGETS] = stamps[_BUDGETS], self._desk.spending.stamp()
        stamps[_LIST] = everywhere
        stamps[_STATS] = self._of_worth(here)
        return stamps

    def _of_worth(self, newest: object) -> object:
        """The newest stamp; but of changes within STATS_S only that of the first, and that of the last when they are over."""
        now = self._desk.now()
        if self._worth is None:
            self._worth = newest, float("-inf")
        elif newest != self._worth[0] and not 0 <= now - self._worth[1] < STATS_S:
            self._worth = newest, now
        return self._worth[0]


def _session(id: str) -> Name:
    return "/api/sessions/", id


def _address(name: Name) -> str:
    """A name as it stands in addresses, written as a browser's encodeURIComponent does."""
    beginning, id = name
    return beginning + quote(id, safe="!'()*", errors="replace")


def _marks(path: str) -> object:
    """The stats of a file, or of what lies in a folder and the folders in it."""
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    if not os.path.isdir(path) or os.path.islink(path):
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
    try:
        return [(name, _marks(os.path.join(path, name))) for name in sorted(os.listdir(path))]
    except OSError:
        return None
