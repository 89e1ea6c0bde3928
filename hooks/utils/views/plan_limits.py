"""The text on how full the windows of the plan's limits are. Data in, words out. Pure but for the time zone."""

from __future__ import annotations

import time

from .. import text, units
from ..policy.limits import FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..policy.limits import Window
    from .shapes import Consumption, PlanLimits, WindowUse

NAMES = {FIVE_HOUR: "5 h", SEVEN_DAY: "7 d", SPEND_LIMIT: "spend"}
SHOWN_S = 3_600.0  # an older reading says little about now
_DAY_S = 86_400
# The sources of tokens in a window (`popkit bill limits --json`) -> a short name.
_TOOK = {
    "conversation": "conversation", "standing": "before the first word", "pauses": "caches gone cold",
    "lost": "other lost caches", "output": "output", "subagents": "subagents",
}  # fmt: skip
_LEAST_SHARE = 0.005


def limits_line(windows: Iterable[Window], now: float) -> str:
    """Return `5 h 62%, full at 16:40 · 7 d 31%`; "" where there is no reading of the last hour."""
    return " · ".join(_window_in_short(window, now) for window in windows if abs(now - window.newest.at) <= SHOWN_S)


def _window_in_short(window: Window, now: float) -> str:
    newest = window.newest
    used = f"{NAMES[newest.kind]} {units.percent(newest.percent / 100)}"
    if newest.percent >= 100:
        return used + (f", resets {when(newest.resets_at, now)}" if newest.resets_at else "")
    return used + (f", full {when(window.full_at, now)}" if window.full_at is not None else "")


def clock(at: float, now: float) -> str:
    """Return a time of day, with the day where that is not today: 16:40, Thu 16:40, 2026-12-01."""
    then = time.localtime(at)
    if then[:3] == time.localtime(now)[:3]:
        return time.strftime("%H:%M", then)
    return time.strftime("%a %H:%M" if abs(at - now) < 6 * _DAY_S else "%Y-%m-%d", then)


def when(at: float, now: float) -> str:
    """Return the same as a sentence says it: at 16:40, Thu 16:40, 2026-12-01."""
    words = clock(at, now)
    return "at " + words if len(words) == len("16:40") else words


def limits_pane_lines(limits: PlanLimits, now: float) -> list[text.Line]:
    """Return how full each window is and at which pace, and what took it; [] where no window runs."""
    lines: list[text.Line] = []
    for window in limits["windows"]:
        lines += text.pair(NAMES[window["kind"]], _window_words(window, now))
        took = window["took"]
        lines += text.pair("", _took(took)) if took and took["tokens"] else []
    return [*text.title("Limits of your plan")[1:], *lines] if lines else []


def _window_words(window: WindowUse, now: float) -> str:
    parts = [units.percent(window["percent"] / 100)]
    if window["full_at"] is not None and window["percent"] < 100:
        parts.append(f"full {when(window['full_at'], now)}")
    if window["percent_per_hour"] is not None:
        parts.append(f"{window['percent_per_hour']:.1f}% an hour")
    return ", ".join([*parts, *([f"resets {when(window['resets_at'], now)}"] if window["resets_at"] else [])])


def _took(took: Consumption) -> str:
    shares = sorted(((tokens / took["tokens"], name) for name, tokens in took["sources"].items()), reverse=True)
    return "Tokens: " + ", ".join(f"{_TOOK.get(name, name)} {units.percent(share)}" for share, name in shares if share >= _LEAST_SHARE)
