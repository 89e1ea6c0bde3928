"""Find the changes since a page last asked, for which stats of files are compared only when it asks."""

from __future__ import annotations

import os
import secrets
import threading
from urllib.parse import quote

from .shapes import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .app_state import AppState
    from .catalog import Known


# Addresses that begin like this have changed: (the beginning, the id of a session that follows it or "").
Name = tuple[str, str]
# Where more names have changed, everything is reported as changed.
MOST_REPORTED = 100
# How many deleted names are remembered. For a page whose token is older than a forgotten one, everything has changed.
MOST_GONE = 1_000


# The savings are reported as changed at most this often: computing them settles sessions, which a running one would cause with every line
# that it writes.
STATS_S = 10.0
_LIST, _STATS = ("/api/sessions?", ""), ("/api/stats", "")


class ChangeFeed:
    """The changes of one AppState. Thread-safe."""

    def __init__(self, app_state: AppState) -> None:
        self._app_state = app_state
        self._lock = threading.Lock()
        self._history = History(secrets.token_hex(8))
        self._worth: tuple[object, float] | None = None  # the stamps for which /api/stats was last reported as changed, and when

    def since(self, token: str) -> Changes:
        """Return what has changed since a token was given."""
        with self._lock:
            known = self._app_state.catalog.sessions()
            self._history.note(self._stamps(known), [_LIST] if self._app_state.contexts.have_caught_up(known) else [])
            names = self._history.since(token)
            return Changes(
                token=self._history.token,
                at=self._app_state.now(),
                everything=names is None,
                changed=[_address(name) for name in names or ()],
            )

    def _stamps(self, known: Mapping[str, Known]) -> dict[Name, object]:
        """Return the present stamps of everything that may change."""
        here = {id: each.stamp for id, each in known.items()}
        # This may wait for a database, and opening one changes its files.
        everywhere = {**here, **{row.id: row.stamp for row in self._app_state.others(set(known))}}
        stamps: dict[Name, object] = {_session(id): stamp for id, stamp in everywhere.items()}
        home = self._app_state.home
        for tile in self._app_state.tiles:
            for address, places in tile.places.items():
                stamps[address, ""] = [_marks(os.path.join(home, place)) for place in places], tile.stamp()
        stamps[_LIST] = everywhere
        stamps[_STATS] = self._of_worth(here)
        return stamps

    def _of_worth(self, newest: object) -> object:
        """Return the newest stamp; but of changes within STATS_S, only that of the first, and that of the last when STATS_S are over."""
        now = self._app_state.now()
        if self._worth is None:
            self._worth = newest, float("-inf")
        elif newest != self._worth[0] and not 0 <= now - self._worth[1] < STATS_S:
            self._worth = newest, now
        return self._worth[0]


def _session(id: str) -> Name:
    return "/api/sessions/", id


def _address(name: Name) -> str:
    """Return a name as an address has it, encoded as a browser's encodeURIComponent does."""
    beginning, id = name
    return beginning + quote(id, safe="!'()*", errors="replace")


def _marks(path: str) -> object:
    """Return the stats of a file, or of all files in a folder and its folders."""
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


class History:
    """The history of changes of one process, which `run` names: a token of another process is unknown here."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._look = 0
        self._oldest = 0  # tokens of earlier looks are no longer valid
        self._stamps: dict[Name, object] = {}
        self._changed: dict[Name, int] = {}  # the last look at which a name had changed

    @property
    def token(self) -> str:
        """Return the token of the present state of everything."""
        return f"{self._run}-{self._look}"

    def note(self, stamps: Mapping[Name, object], also: Iterable[Name] = ()) -> None:
        """Record the stamps of everything. `also`: names that have changed although their stamps have not."""
        changed = {name for name, stamp in stamps.items() if name not in self._stamps or self._stamps[name] != stamp}
        changed |= {*(self._stamps.keys() - stamps.keys()), *also}
        if changed:
            self._look += 1
            self._stamps = dict(stamps)
            self._changed.update(dict.fromkeys(changed, self._look))
            self._forget()

    def _forget(self) -> None:
        if len(self._changed) > len(self._stamps) + MOST_GONE:
            self._changed = {name: look for name, look in self._changed.items() if name in self._stamps}
            self._oldest = self._look

    def since(self, token: str) -> list[Name] | None:
        """Return the names that have changed since a token was given; None where that may be any: too many have, or the token is not
        ours."""
        run, _, look = token.rpartition("-")
        if run != self._run or not look.isdecimal() or not self._oldest <= int(look) <= self._look:
            return None
        names = sorted(name for name, changed in self._changed.items() if changed > int(look))
        return names if len(names) <= MOST_REPORTED else None
