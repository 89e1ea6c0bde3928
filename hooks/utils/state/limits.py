"""Keep what the windows of the plan's limits showed over time, and the weights of tokens in them that were fitted to that, in two small
files of our folder. The helper writes the one and `popkit limits` the other, no hook does. A file that cannot be used counts as empty.
"""

from __future__ import annotations

from ..hosts.claude_code import seconds_of
from ..io import children, files
from ..io.codec import dumps, loads, number
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy.limits import FIVE_HOUR, KINDS, LEAST_WINDOWS, SEVEN_DAY, Reading, Weights, count, weights_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

NAME, WEIGHTS = "limits.json", "limit-weights.json"
STORAGE = (Storage(LOGS, {"": r"(limits|limit-weights)\.json"}),)
MOST_READINGS = 2_000
MOST_BYTES = 512 * 1024
# An unchanged figure is kept again after this long, so that a pause can be told from missing readings.
EVERY_S = 300.0
# The provider may change how it counts without saying so: older weights are not used.
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
    """Keep what the client reports: [{`kind`, `percentUsed`, `resetsAt`}]. Anything else is ignored. `fresh`: an answer has just come. An
    idle session repeats the figures of its last answer, so a lower one than another session has seen since is not kept. OSError where the
    file cannot be written."""
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
    at, percent, resets_at = number(at, _LATEST), number(percent, _MOST_PERCENT), number(resets_at, _LATEST)
    if kind not in KINDS or at is None or percent is None or resets_at is None:
        return None
    return Reading(kind, at, percent, resets_at)


# --- what tokens are worth -----------------------------------------------------------------------------------------------------------


def fitted_at(popkit_home: str) -> float:
    """Return when weights were last kept (seconds); 0.0 where they never were."""
    return _weights(popkit_home)[0]


def weights(popkit_home: str, now: float) -> list[Weights]:
    """Return the weights that are known, those of the shorter window first; [] where none are."""
    at, kept = _weights(popkit_home)
    if abs(now - at) > WEIGHTS_HOLD_S:
        return []
    found = [each for each in map(weights_of, kept[: len(KINDS)]) if each is not None and each.window in (FIVE_HOUR, SEVEN_DAY)]
    return sorted(found, key=lambda each: KINDS.index(each.window))


def keep_weights(popkit_home: str, several: Iterable[Weights], now: float) -> None:
    """Keep weights, which replace those before. OSError where the file cannot be written."""
    files.make_private_folder(popkit_home)
    files.replace_text(join(popkit_home, WEIGHTS), dumps({"at": now, "weights": [each.to_json() for each in several]}))


def _weights(popkit_home: str) -> tuple[float, list[Any]]:
    """Return when weights were kept, and these as they were written."""
    value = files.read_object(join(popkit_home, WEIGHTS), MOST_BYTES + 1)
    at, kept = number(value.get("at"), _LATEST), value.get("weights")
    return (0.0, []) if at is None or not isinstance(kept, list) else (float(at), kept)


# --- when they are fitted again -------------------------------------------------------------------------------------------------


FIT_EVERY_S = 6 * 3_600.0
FIT_WORDS = ("limits", "--json")
FIT_HOOK = "fitting"  # in the log


def is_fit_due(popkit_home: str, now: float) -> bool:
    """Return whether there are enough windows and the last fit is hours old, or lies ahead because the clock was set back."""
    return not 0 <= now - fitted_at(popkit_home) < FIT_EVERY_S and count(readings(popkit_home), FIVE_HOUR) >= LEAST_WINDOWS


def start_fit(popkit_home: str, environ: Mapping[str, str], now: float) -> None:
    """Start a child that fits the weights if that is due. Fails open."""
    children.start_if(lambda: is_fit_due(popkit_home, now), FIT_WORDS, environ, FIT_HOOK)
