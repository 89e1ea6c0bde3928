"""What the windows of the plan's limits showed over time, kept as one small file of our folder. The helper writes it, no hook does. A file
that cannot be used holds nothing.
"""

from __future__ import annotations

from ..hosts.claude_code.stamps import seconds_of
from ..io import files
from ..io.codec import dumps, loads
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy.limits import KINDS, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "limits.json"
STORAGE = (Storage(LOGS, {"": r"limits\.json"}),)
MOST_READINGS = 2_000
MOST_BYTES = 512 * 1024
# A figure that has not moved is kept again after this long, so that a pause is seen as one.
EVERY_S = 300.0
_WAIT_S = 1.0
_MOST_PERCENT = 100_000.0
_LATEST = 10.0**11


def readings(popkit_home: str) -> list[Reading]:
    """Return what was kept, the oldest first; [] where nothing was, or where the file is corrupt."""
    try:
        value = loads(files.read_text(join(popkit_home, NAME), MOST_BYTES + 1) or "[]")
    except (OSError, ValueError):
        return []
    found = [_kept(row) for row in value] if isinstance(value, list) else []
    return [reading for reading in found if reading is not None]


def note(popkit_home: str, limits: object, now: float, fresh: bool) -> None:
    """Keep what the client reports: [{`kind`, `percentUsed`, `resetsAt`}]. Anything else is ignored. `fresh`: an answer has just come. The
    figures of a session that rests are those of its last answer, so one that is lower than what another session has seen since is not
    kept. OSError where the file cannot be written."""
    reported = [_reported(limit, now) for limit in limits] if isinstance(limits, list) else []
    new = [reading for reading in reported if reading is not None and reading.holds(now)]
    if not new:
        return
    files.make_private_folder(popkit_home)
    path = join(popkit_home, NAME)
    with files.Lock(path + ".lock", _WAIT_S):
        known = readings(popkit_home)
        newest = {reading.kind: reading for reading in known}
        added = [reading for reading in new if _is_news(reading, newest.get(reading.kind), fresh)]
        if added:
            rows = [[each.kind, each.at, each.percent, each.resets_at] for each in [*known, *added][-MOST_READINGS:]]
            files.replace_text(path, dumps(rows))


def _is_news(reading: Reading, before: Reading | None, fresh: bool) -> bool:
    if before is None:
        return True
    if not reading.is_of(before):
        return fresh or reading.resets_at > before.resets_at or not before.holds(reading.at)
    if reading.percent < before.percent:
        return fresh
    return reading.percent > before.percent or reading.at - before.at >= EVERY_S


def _reported(limit: object, now: float) -> Reading | None:
    if not isinstance(limit, dict):
        return None
    return _reading(limit.get("kind"), now, limit.get("percentUsed"), seconds_of(limit.get("resetsAt")))


def _kept(row: object) -> Reading | None:
    return _reading(*row) if isinstance(row, list) and len(row) == 4 else None


def _reading(kind: Any, at: Any, percent: Any, resets_at: Any) -> Reading | None:
    if kind not in KINDS or not (_is_in(at, _LATEST) and _is_in(percent, _MOST_PERCENT) and _is_in(resets_at, _LATEST)):
        return None
    return Reading(kind, at, percent, resets_at)


def _is_in(value: object, most: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most
