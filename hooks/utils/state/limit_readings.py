"""Store how full the windows of the plan's limits were over time, as the client reports it.

The helper writes the file; no hook does. One that cannot be used counts as empty.
"""

from __future__ import annotations

from ..hosts.transcripts.stamps import seconds_of
from ..io import files
from ..io.codec import as_list, as_objects, dumps, number, seconds
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy.limits import KINDS, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMITS_FILE = "limits.json"
STORAGE = (Storage(LOGS, {"": r"(limits|limit-weights)\.json"}),)  # earlier versions kept weights of tokens
MOST_READINGS = 2_000
MOST_BYTES = 512 * 1024
# An unchanged figure is kept again after this long, so that a pause is distinct from missing readings.
EVERY_S = 300.0
_MOST_PERCENT = 100_000.0


def readings(popkit_home: str) -> list[Reading]:
    """Return the stored readings, oldest first; [] for none, or where the file is corrupt."""
    rows = as_list(files.read_value(join(popkit_home, LIMITS_FILE), MOST_BYTES + 1))
    parsed = [_reading(*row) for row in rows if len(as_list(row)) == 4]
    return [reading for reading in parsed if reading is not None]


def note_limits(popkit_home: str, limits: object, now: float, fresh: bool) -> None:
    """Keep what the client reports: [{`kind`, `percentUsed`, `resetsAt`}]. Anything else is ignored. `fresh`: an answer has just come. An
    idle session repeats the figures of its last answer, so a lower one than another session has seen since is not kept. OSError where the
    file cannot be written."""
    reported = [_reported(limit, now) for limit in as_objects(limits)]
    new = [reading for reading in reported if reading is not None and reading.holds(now)]
    if not new:
        return
    files.make_private_folder(popkit_home)
    path = join(popkit_home, LIMITS_FILE)
    with files.lock_of(path):
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


def _reported(limit: dict[str, Any], now: float) -> Reading | None:
    return _reading(limit.get("kind"), now, limit.get("percentUsed"), seconds_of(limit.get("resetsAt")))


def _reading(kind: Any, at: Any, percent: Any, resets_at: Any) -> Reading | None:
    at, percent, resets_at = seconds(at), number(percent, _MOST_PERCENT), seconds(resets_at)
    if kind not in KINDS or at is None or percent is None or resets_at is None:
        return None
    return Reading(kind, at, percent, resets_at)
