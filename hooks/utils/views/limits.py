"""What people read of the plan's limits, in a line. Data in, words out. Pure but for the time zone."""

from __future__ import annotations

import time

from ..policy.limits import FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..policy.limits import Window

NAMES = {FIVE_HOUR: "5 h", SEVEN_DAY: "7 d", SPEND_LIMIT: "spend"}
SHOWN_S = 3_600.0  # an older reading says little about now
_DAY_S = 86_400


def line(windows: Iterable[Window], now: float) -> str:
    """Return `5 h 62 %, full at 16:40 · 7 d 31 %`; "" where there is no reading of the last hour."""
    return " · ".join(_short(window, now) for window in windows if abs(now - window.newest.at) <= SHOWN_S)


def _short(window: Window, now: float) -> str:
    newest = window.newest
    used = f"{NAMES[newest.kind]} {percent(newest.percent)}"
    if newest.percent >= 100:
        return used + (f", resets {when(newest.resets_at, now)}" if newest.resets_at else "")
    return used + (f", full {when(window.full_at, now)}" if window.full_at is not None else "")


def percent(used: float) -> str:
    """Return whole percent; what is not full is never shown as 100 %."""
    return f"{int(used)} %" if 99 <= used < 100 else f"{used:.0f} %"


def clock(at: float, now: float) -> str:
    """Return a time of day, with the day where that is not today: 16:40, Thu 16:40, 2026-12-01."""
    then = time.localtime(at)
    if then[:3] == time.localtime(now)[:3]:
        return time.strftime("%H:%M", then)
    return time.strftime("%a %H:%M" if abs(at - now) < 6 * _DAY_S else "%Y-%m-%d", then)


def when(at: float, now: float) -> str:
    """Return the same as a sentence says it: at 16:40, Thu 16:40, 2026-12-01."""
    said = clock(at, now)
    return "at " + said if len(said) == len("16:40") else said
