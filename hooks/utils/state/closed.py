"""The sessions whose client has ended, in one file: id -> [project, when]. As a new session of a project begins, nobody resumes the others
of that project, so they are over. A session that is not listed is over only once its time has passed.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy.occasions import RESUMED_WITHIN_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .site import Site

NAME = "closed.json"
STORAGE = (Storage(LOGS, {"": r"closed\.json"}),)
_MOST = 1_000
_WAIT_S = 1.0


def is_any(popkit_home: str) -> bool:
    """Return whether any session is listed."""
    return files.is_there(join(popkit_home, NAME))


def add(popkit_home: str, session_id: str, project: str, now: float) -> None:
    """List a session whose client has ended now (seconds)."""
    _change(popkit_home, session_id, [project, now], now)


def remove(popkit_home: str, session_id: str) -> None:
    """Take a session off the list: it goes on."""
    _change(popkit_home, session_id, None, 0.0)


def end_others(site: Site, now: float) -> None:
    """End all listed sessions of the project in which a new session begins, and take them off the list."""
    for session_id, (project, _) in _listed(site.lasting_home).items():
        if project == site.project and session_id != site.session_id:
            _end(site, session_id, now)
            remove(site.lasting_home, session_id)


def _end(site: Site, session_id: str, now: float) -> None:
    from ..policy import engine, events
    from . import journal, live, store, watched_files
    from .site import Site

    other = Site(site.environ, session_id, site.project)
    paths = other.paths()

    def observe(stored: store.Stored, rules: Any) -> bool:
        if not stored.state.closed:
            return False  # it goes on
        store.journal(paths, journal.over(now))
        engine.observe(stored.state, events.SessionEnded(now), rules)
        return True

    try:
        if not other.is_in_memory and watched_files.file_stamp(paths.state):
            live.change(other, paths, "", observe)
    except (OSError, ValueError):
        return  # its time will pass


def _listed(popkit_home: str) -> dict[str, list[Any]]:
    rows = files.read_object(join(popkit_home, NAME))
    return {id: row for id, row in rows.items() if isinstance(row, list) and len(row) == 2 and isinstance(row[1], (int, float))}


def _change(popkit_home: str, session_id: str, row: list[Any] | None, now: float) -> None:
    """Set or remove the row of a session, and drop those whose time has passed."""
    path = join(popkit_home, NAME)
    try:
        with files.Lock(path + ".lock", _WAIT_S):
            before = _listed(popkit_home)
            rows = {id: old for id, old in before.items() if id != session_id and now - old[1] < RESUMED_WITHIN_S}
            if row is not None:
                rows[session_id] = row
            if rows != before:
                files.replace_text(path, dumps(dict(list(rows.items())[-_MOST:])))
    except OSError:
        return  # then time alone tells


def end_client(site: Site, now: float, why: str) -> None:
    """Note that the client that ran the session has ended: what lives for the session expires once it is clear that nobody resumes it. The
    transcript tells of neither, so the journal does."""
    from ..policy import engine, events
    from . import journal, live, pending, store

    paths, entry, is_closed = site.paths(), journal.ended(why, now), False

    def observe(stored: store.Stored, rules: Any) -> None:
        nonlocal is_closed
        store.journal(paths, entry)
        engine.observe(stored.state, events.ClientEnded(now, why), rules)
        is_closed = stored.state.closed > 0 and bool(stored.state.live)

    try:
        live.change(site, paths, "", observe)
    except files.LockTimeout:
        pending.note(paths, entries=[entry])
    if is_closed:
        add(site.lasting_home, site.session_id, site.session_project, now)
