"""The status line: how full the context is, what a clear would take of it, whether its prompt cache is warm. Pure."""

from __future__ import annotations

from hooks.utils import text

SEPARATOR = " · "
_YELLOW, _RED, _PLAIN = "\033[33m", "\033[31m", "\033[0m"


def line(facts: dict, thresholds: dict, coloured: bool) -> str:
    """One line of what is known: `ratio` of the window that is full; what a clear takes as it was last planned, `now` and once the cache is
    `cold` (tokens), or else only what has `expired` ({`items`, `tokens`}); `cache_seconds_left` (0 when cold)."""
    parts = [_context(facts.get("ratio"), thresholds, coloured), *_reclaimable(facts)]
    left = facts.get("cache_seconds_left")
    if left is not None:
        parts.append("cache warm " + _minutes(left) if left > 0 else "cache cold")
    return SEPARATOR.join(parts)


def _reclaimable(facts: dict) -> list:
    now, cold, expired = facts.get("now"), facts.get("cold"), facts.get("expired")
    if now is not None:
        later = f"{text.tokens(cold)} reclaimable when cold" if cold else "nothing reclaimable"
        return [f"{text.tokens(now)} reclaimable" if now else later]
    if expired is None:
        return []
    return [f"{expired['items']:,} expired, {text.tokens(expired['tokens'])}" if expired["items"] else "nothing expired"]


def _context(ratio: float | None, thresholds: dict, coloured: bool) -> str:
    if ratio is None:
        return "context –"
    shown = f"context {ratio:.0%}"
    colour = _RED if ratio >= thresholds["critical"] else _YELLOW if ratio >= thresholds["warning"] else ""
    return colour + shown + _PLAIN if colour and coloured else shown


def _minutes(seconds: float) -> str:
    """Time left, to the minute: the line is drawn anew twice a minute at most."""
    return f"{round(seconds / 60)} min" if seconds >= 90 else "1 min" if seconds >= 45 else "<1 min"
