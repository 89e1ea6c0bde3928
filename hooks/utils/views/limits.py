"""What people read of the plan's limits in a line or a few. Data in, words out. Pure but for the time zone."""

from __future__ import annotations

import math
import time

from .. import text
from ..policy.economics import plain
from ..policy.limits import FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..policy.limits import Window
    from ..policy.shapes import Share

NAMES = {FIVE_HOUR: "5 h", SEVEN_DAY: "7 d", SPEND_LIMIT: "spend"}
LONG_NAMES = {FIVE_HOUR: "five-hour", SEVEN_DAY: "weekly"}
SHOWN_S = 3_600.0  # an older reading says little about now
_DAY_S = 86_400
# The sources of tokens in a window (`popkit limits --json`) -> a short name.
_TOOK = {
    "conversation": "conversation", "standing": "what stands before the first word", "pauses": "caches gone cold",
    "lost": "other lost caches", "output": "output", "subagents": "subagents",
}  # fmt: skip
_LEAST_SHARE = 0.005
_LEAST_PERCENT = 0.05  # in a table


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
    words = clock(at, now)
    return "at " + words if len(words) == len("16:40") else words


def share(found: Share | None, before: str = "") -> str:
    """Return `about 1.2 % (± 0.3) of the five-hour window`, with the requests where it is over some, behind so many words; "" for none."""
    if found is None:
        return ""
    of = f"{with_error(found['percent'], found['error'])} of the {LONG_NAMES[found['window']]} window"
    return f"{before}about {of}" + (f" over {found['requests']} requests" if found["requests"] else "")


def gain(found: Share | None, before: str = "") -> str:
    """Return the same; "" also for what takes of the window."""
    return share(found, before) if found is not None and found["percent"] > 0 else ""


def net(found: Share | None) -> str:
    """Return the same of what was done: that it left so much, or took it."""
    if found is None:
        return ""
    return share({**found, "percent": abs(found["percent"])}, "leaving " if found["percent"] > 0 else "taking ")


def short(found: Share | None) -> str:
    """Return `3.1 ± 0.8`, in percent; `~0` for next to nothing, "-" for none."""
    if found is None:
        return "-"
    return " ± ".join(_with_error(found["percent"], found["error"])) if abs(found["percent"]) >= _LEAST_PERCENT else "~0"


def with_error(percent: float, error: float) -> str:
    """Return `1.2 % (± 0.3)`: the error to one figure, up, and the percent as far as that goes."""
    shown, other = _with_error(percent, error)
    return f"{shown} % (± {other})"


def _with_error(percent: float, error: float) -> tuple[str, str]:
    places = max(0, -math.floor(math.log10(error))) if error else 1
    return f"{percent:,.{places}f}", f"{math.ceil(error * 10**places - 1e-9) / 10**places:,.{places}f}"


# --- in the pane -------------------------------------------------------------------------------------------------------------------------


def pane_lines(found: dict[str, Any], model: str, now: float) -> list[text.Line]:
    """Return how full each window is and at which pace, what took it, and what a cold cache of a model takes of it, as far as the fit
    tells; [] where no window runs. `found`: what `popkit limits --json` prints."""
    lines: list[text.Line] = []
    for window in found.get("windows", ()):
        lines += text.pair(NAMES[window["kind"]], _said(window, now))
        lines += text.pair("", _took(window["took"])) if window["took"] and window["took"]["tokens"] else []
        lines += text.pair("", _fit(window["fit"], plain(model))) if window["fit"] else []
    return [*text.title("Limits of your plan")[1:], *lines] if lines else []


def _said(window: dict[str, Any], now: float) -> str:
    parts = [percent(window["percent"])]
    if window["full_at"] is not None and window["percent"] < 100:
        parts.append(f"full {when(window['full_at'], now)}")
    if window["percent_per_hour"] is not None:
        parts.append(f"{window['percent_per_hour']:.1f} % an hour")
    return ", ".join([*parts, *([f"resets {when(window['resets_at'], now)}"] if window["resets_at"] else [])])


def _took(took: dict[str, Any]) -> str:
    shares = sorted(((tokens / took["tokens"], name) for name, tokens in took["sources"].items()), reverse=True)
    return "Tokens: " + ", ".join(f"{_TOOK.get(name, name)} {share:.0%}" for share, name in shares if share >= _LEAST_SHARE)


def _fit(fit: dict[str, Any], model: str) -> str:
    for name, worth in sorted(fit["worth"].items(), key=lambda row: row[0] != model):
        cold = next((worth[life] for life in ("cold_5m", "cold_1h") if worth[life] and worth[life]["claimed"]), None)
        if cold is not None:
            of = "" if name == model else f" of {text.clean(name)}"
            return f"A cache of 100k tokens{of} that goes cold takes {with_error(cold['percent'], cold['error'])} of it"
    return why_no_worth(fit) or f"Your {blocks(fit)} do not tell closely enough what a cold cache takes of it."


def why_no_worth(fit: dict[str, Any]) -> str:
    """Return why nothing is said of what tokens are worth in a window, in a sentence; "" where something is. `fit`: as `popkit limits
    --json` has it."""
    if fit["why"] == "elsewhere":
        return "The window also moves while nothing runs on this machine, so what tokens are worth in it cannot be told."
    if fit["why"] == "blocks":
        return f"Not enough history to tell what tokens are worth in it yet: {fit['blocks']} of {fit['needs_blocks']} {_blocks(fit)}."
    if fit["why"]:
        return f"Not enough history to tell what tokens are worth in it yet: {fit['movements']} of {fit['needs_movements']} movements."
    if any(found and found["claimed"] for worth in fit["worth"].values() for found in worth.values()):
        return ""
    return f"Your {blocks(fit)} do not tell closely enough what tokens are worth in it."


def blocks(fit: dict[str, Any]) -> str:
    """Return `12 windows`, of a longer window `12 days`."""
    return f"{fit['blocks']:,} {_blocks(fit)}"


def _blocks(fit: dict[str, Any]) -> str:
    return "windows" if fit["window"] == FIVE_HOUR else "days"
