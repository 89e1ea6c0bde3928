"""The sessions whose client has ended, in one file: id -> [project, time]. Once a new session of a project begins, nobody resumes its older
ones, so they are over. A session that is not listed is over only after its time has passed."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, seconds
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy.occasions import RESUMED_WITHIN_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "closed.json"
STORAGE = (Storage(LOGS, {"": r"closed\.json"}),)
_MOST = 1_000


def is_any(popkit_home: str) -> bool:
    """Return whether any session is listed."""
    return files.is_there(join(popkit_home, NAME))


def add(popkit_home: str, session_id: str, project: str, now: float) -> None:
    """List a session whose client has ended now (seconds)."""
    _change(popkit_home, session_id, [project, now], now)


def remove(popkit_home: str, session_id: str) -> None:
    """Take a session off the list: it goes on."""
    _change(popkit_home, session_id, None, 0.0)


def listed(popkit_home: str) -> dict[str, list[Any]]:
    """Return id -> [project, when (seconds)]."""
    rows = files.read_object(join(popkit_home, NAME))
    return {id: row for id, row in rows.items() if isinstance(row, list) and len(row) == 2 and seconds(row[1]) is not None}


def _change(popkit_home: str, session_id: str, row: list[Any] | None, now: float) -> None:
    """Set or remove the row of a session, and drop those whose time has passed."""
    path = join(popkit_home, NAME)
    try:
        with files.lock_of(path):
            before = listed(popkit_home)
            rows = {id: old for id, old in before.items() if id != session_id and now - old[1] < RESUMED_WITHIN_S}
            if row is not None:
                rows[session_id] = row
            if rows != before:
                files.replace_text(path, dumps(dict(list(rows.items())[-_MOST:])))
    except OSError:
        return  # then time alone tells
