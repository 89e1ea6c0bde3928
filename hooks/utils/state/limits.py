"""What the windows of the plan's limits showed over time, and what tokens are worth in them by that, kept as two small files of our folder.
The helper writes the one and `popkit limits` the other, no hook does. A file that cannot be used holds nothing.
"""

from __future__ import annotations

from ..hosts.claude_code.stamps import seconds_of
from ..io import files
from ..io.codec import dumps, loads
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy.limit_weights import Weights, weights_of
from ..policy.limits import FIVE_HOUR, KINDS, SEVEN_DAY, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

NAME, WEIGHTS = "limits.json", "limit-weights.json"
STORAGE = (Storage(LOGS, {"": r"(limits|limit-weights)\.json"}),)
MOST_READINGS = 2_000
MOST_BYTES = 512 * 1024
# A figure that has not moved is kept again after this long, so that a pause is seen as one.
EVERY_S = 300.0
# Nobody says when the provider counts otherwise: weights that were not fitted for so long hold no more.
WEIGHTS_HOLD_S = 14 * 86_400.0
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


# --- what tokens are worth -----------------------------------------------------------------------------------------------------------


def fitted_at(popkit_home: str) -> float:
    """Return when weights were last kept (seconds); 0.0 where they never were."""
    return _weights(popkit_home)[0]


def weights(popkit_home: str, now: float) -> list[Weights]:
    """Return the weights of the windows that they are known of, those of the shorter window first; [] where nobody knows any."""
    at, told = _weights(popkit_home)
    if abs(now - at) > WEIGHTS_HOLD_S:
        return []
    found = [each for each in map(weights_of, told[: len(KINDS)]) if each is not None and each.window in (FIVE_HOUR, SEVEN_DAY)]
    return sorted(found, key=lambda each: KINDS.index(each.window))


def keep_weights(popkit_home: str, several: Iterable[Weights], now: float) -> None:
    """Keep weights, which replace those before. OSError where the file cannot be written."""
    files.make_private_folder(popkit_home)
    files.replace_text(join(popkit_home, WEIGHTS), dumps({"at": now, "weights": [each.to_json() for each in several]}))


def _weights(popkit_home: str) -> tuple[float, list[Any]]:
    """Return when weights were kept, and these as they were written."""
    try:
        value = loads(files.read_text(join(popkit_home, WEIGHTS), MOST_BYTES + 1) or "{}")
    except (OSError, ValueError):
        return 0.0, []
    at, told = (value.get("at"), value.get("weights")) if isinstance(value, dict) else (None, None)
    return (float(at), told) if isinstance(at, (int, float)) and _is_in(at, _LATEST) and isinstance(told, list) else (0.0, [])
