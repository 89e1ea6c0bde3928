"""What a session has on trial: the coin is thrown before its first request, and what it says stays among the session's facts.

A session that began before the trial did, or that is a fork, has what is usual and counts in no trial. Nothing here fails a session.
"""

from __future__ import annotations

from ..io import files
from ..io.system import join, now
from ..policy.trials import ARMS, HINTS, MEMORY, PER_ARM, USUAL, is_tried
from . import trials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .site import Site
    from .trials import Row, Run

FACT = "trials"  # of a session: setting -> its value, _TO_THROW or _NONE
_TO_THROW, _NONE = "", "-"
_HOOK = "trials"  # in the log


def begun(site: Site) -> dict[str, Any]:
    """Return the facts of a session whose context is empty and new: what the coin says of hints, and for which other settings it is still
    to be thrown, by those who know whether they are of any use to the session."""
    tried = [name for name in ARMS if is_tried(site.config, name)]
    if not tried or FACT in site.session:
        return {}
    return {FACT: {name: _thrown(site, name) if name == HINTS else _TO_THROW for name in tried}}


def closed(site: Site) -> dict[str, Any]:
    """Return the facts of a session that has sent requests: for what the coin was not thrown by now, it is not."""
    given = site.session.get(FACT) or {}
    return {FACT: {name: value or _NONE for name, value in given.items()}} if _TO_THROW in given.values() else {}


def throw(site: Site, names: Iterable[str], is_new: Callable[[], bool]) -> None:
    """Throw the coin for settings, where that is still to be done. `is_new()`: whether the session has sent no request yet; for one that
    has, it is not thrown any more. Fails open: what cannot be noted is not tried."""
    given = site.session.get(FACT) or {}
    due = [name for name in names if given.get(name) == _TO_THROW]
    if not due:
        return
    fresh = is_new()
    try:
        site.remember(**{FACT: {**given, **{name: _thrown(site, name) if fresh else _NONE for name in due}}})
    except (OSError, ValueError) as error:
        _record(site, error)


def arm(site: Site, name: str) -> str:
    """Return the value that a setting which is tried has in a session: what the coin has said, or what is usual."""
    value = (site.session.get(FACT) or {}).get(name)
    return value if value in ARMS[name] else USUAL[name]


def _thrown(site: Site, name: str) -> str:
    try:
        with trials.Changing(site.home) as known:
            treated = known.draw(name, site.session_id, now(site.environ))
    except (OSError, ValueError) as error:
        _record(site, error)
        return _NONE
    return _NONE if treated is None else ARMS[name][not treated]


def is_given(site: Site) -> bool:
    """Return whether a session is given what memory holds; asked only where there is something to give, before the first request or behind
    a compaction."""
    if not is_tried(site.config, MEMORY):
        return True
    throw(site, (MEMORY,), lambda: True)
    return arm(site, MEMORY) == ARMS[MEMORY][0]


def mark(site: Site, ended: float | None, spoke: bool = False) -> None:
    """Note that a session has ended, or (None) goes on. `spoke`: it has a transcript. Fails open: a session that is quiet counts, too."""
    if not any(value in ARMS[name] for name, value in (site.session.get(FACT) or {}).items() if name in ARMS):
        return
    try:
        with trials.Changing(site.home) as known:
            for row in _rows_of(known.runs, site.session_id):
                row.ended, row.spoke = ended, row.spoke or spoke
    except (OSError, ValueError) as error:
        _record(site, error)


def _record(site: Site, error: Exception) -> None:
    from ..io import failures  # seldom

    failures.record(site.environ, _HOOK, error)


def _rows_of(runs: Iterable[Run], session: str) -> list[Row]:
    return [row for run in runs if run.is_open for row in [run.of(session)] if row is not None]


def news(site: Site) -> str:
    """Return what the user is told once, when enough sessions of a trial are over; "" for nothing."""
    tried = [name for name in ARMS if is_tried(site.config, name)]
    if not tried or not files.is_there(join(site.home, trials.NAME)):
        return ""
    try:
        if not any(run.is_due for run in trials.load(site.home).runs):
            return ""
        with trials.Changing(site.home) as known:
            due = [run for run in known.runs if run.is_due]
            for run in due:
                run.told = True
    except (OSError, ValueError):
        return ""  # it is told another time
    names = " and ".join(run.name for run in due)
    return f"PopKit: {PER_ARM} sessions with and {PER_ARM} without {names} are over. popkit try-out shows what came of it." if due else ""
