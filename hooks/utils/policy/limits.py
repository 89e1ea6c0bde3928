"""Forecast when the windows of a plan's limits will be full. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT = "five_hour", "seven_day", "spend_limit"
KINDS = (FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT)
# Seconds from a window's beginning to its reset. A gateway does not say how long a spend limit runs.
LENGTHS_S = {FIVE_HOUR: 5 * 3_600, SEVEN_DAY: 7 * 86_400}
FULL = 100.0
# The pace is that of the last hour, in a longer window that of the last day.
PACE_OVER_S = {FIVE_HOUR: 3_600.0, SEVEN_DAY: 86_400.0, SPEND_LIMIT: 86_400.0}
# Readings of a shorter time are a step of the figure and no pace.
LEAST_S = 600.0
# Resets that lie no further apart are of one window: the next one is hours later.
_SAME_S = 1_800.0


class Reading:
    """A reading of a window: its `kind`, the `percent` used, `at` which time, and when it resets (`resets_at`, 0.0 where that is not
    known). Times in seconds."""

    __slots__ = ("at", "kind", "percent", "resets_at")

    def __init__(self, kind: str, at: float, percent: float, resets_at: float) -> None:
        self.kind = kind
        self.at = at
        self.percent = percent
        self.resets_at = resets_at

    def is_of(self, other: Reading) -> bool:
        """Return whether both are of one window."""
        return self.kind == other.kind and abs(self.resets_at - other.resets_at) <= _SAME_S

    def holds(self, now: float) -> bool:
        """Return whether the window has not been reset since."""
        return not self.resets_at or now < self.resets_at


class Window:
    """The window of a kind that runs now: its `newest` reading, the `pace` in percent an hour, and when it will be full (`full_at`); None
    where that is not known, for `full_at` also where it resets before."""

    __slots__ = ("full_at", "newest", "pace")

    def __init__(self, newest: Reading, pace: float | None, full_at: float | None) -> None:
        self.newest = newest
        self.pace = pace
        self.full_at = full_at


def windows(readings: Iterable[Reading], now: float) -> list[Window]:
    """Return the windows that run now, in the order of `KINDS`. `readings`: of all kinds, in any order."""
    by_kind: dict[str, list[Reading]] = {}
    for reading in sorted(readings, key=lambda each: each.at):
        by_kind.setdefault(reading.kind, []).append(reading)
    running = []
    for kind in KINDS:
        of_kind = by_kind.get(kind)
        if of_kind and of_kind[-1].holds(now):
            newest = of_kind[-1]
            slope = pace([each for each in of_kind if each.is_of(newest)])
            running.append(Window(newest, slope, full_at(newest, slope, now)))
    return running


def pace(readings: Sequence[Reading]) -> float | None:
    """Return percent an hour: how far the newest of one window's readings, in order of time, is from the last one that is PACE_OVER_S
    older, or from the first. None where they cover too little time."""
    newest = readings[-1]
    since = newest.at - PACE_OVER_S[newest.kind]
    earlier = next((reading for reading in reversed(readings) if reading.at <= since), readings[0])
    elapsed_s = newest.at - earlier.at
    return None if elapsed_s < LEAST_S else max(0.0, (newest.percent - earlier.percent) / elapsed_s * 3_600)


def full_at(newest: Reading, pace: float | None, now: float) -> float | None:
    """Return when a window will be full at a pace, never before `now` and never later than its reset; None where it resets before that, or
    where reset or pace are not known."""
    if not newest.resets_at or now >= newest.resets_at:
        return None
    if newest.percent >= FULL:
        return now
    if not pace:
        return None
    full = max(now, newest.at + (FULL - newest.percent) / pace * 3_600)
    return full if full < newest.resets_at else None
