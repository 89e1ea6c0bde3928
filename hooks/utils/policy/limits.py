"""The windows of a plan's limits: how fast one fills, and when it will be full if that goes on. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT = "five_hour", "seven_day", "spend_limit"
KINDS = (FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT)
# Seconds from a window's beginning to its reset. A gateway does not say how long a spend limit runs.
LENGTHS_S = {FIVE_HOUR: 5 * 3_600, SEVEN_DAY: 7 * 86_400}
FULL = 100.0
# A fit of what tokens are worth needs so many windows of five hours (of a longer window, days).
LEAST_WINDOWS = 8
# What a pace needs: fewer readings, or readings of a shorter time, are a step of the figure and no slope.
LEAST_READINGS, LEAST_S = 3, 600.0
_MOST_FITTED = 200  # readings; every pair of them has a slope
# Resets that lie no further apart are of one window: the next one is hours later.
_SAME_S = 1_800.0


class Reading:
    """What a window showed: its `kind`, the `percent` used, `at` which time, and when it resets (`resets_at`, 0.0 where that is not known).
    Times in seconds."""

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
    found = []
    for kind in KINDS:
        of_kind = by_kind.get(kind)
        if of_kind and of_kind[-1].holds(now):
            newest = of_kind[-1]
            slope = pace([each for each in of_kind if each.is_of(newest)])
            found.append(Window(newest, slope, full_at(newest, slope, now)))
    return found


def count(readings: Iterable[Reading], kind: str) -> int:
    """Return how many windows of a kind readings are of."""
    before, found = None, 0
    for reading in sorted((each for each in readings if each.kind == kind), key=lambda each: each.at):
        found += before is None or not reading.is_of(before)
        before = reading
    return found


def pace(readings: Sequence[Reading]) -> float | None:
    """Return percent an hour: the median of the slopes between all pairs of readings of one window, in order of time. A few readings that
    are wrong, or a burst, do not move it. None where too little is known."""
    if len(readings) > _MOST_FITTED:
        step = (len(readings) - 1) / (_MOST_FITTED - 1)
        readings = [readings[round(number * step)] for number in range(_MOST_FITTED)]
    if len(readings) < LEAST_READINGS or readings[-1].at - readings[0].at < LEAST_S:
        return None
    slopes = sorted(
        (later.percent - earlier.percent) / (later.at - earlier.at)
        for number, later in enumerate(readings)
        for earlier in readings[:number]
        if later.at > earlier.at
    )
    middle = len(slopes) // 2
    median = slopes[middle] if len(slopes) % 2 else (slopes[middle - 1] + slopes[middle]) / 2
    return max(0.0, median * 3_600)


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
