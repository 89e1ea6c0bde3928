"""The line under the prompt: how full the context is, what a clear would remove, how long the cache stays warm, the plan's limits. Pure."""

from __future__ import annotations

from .. import units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .shapes import Report, StatusFacts

SEPARATOR = " · "
_YELLOW, _RED, _PLAIN = "\033[33m", "\033[31m", "\033[0m"


def of_report(report: Report, thresholds: Mapping[str, float], limits: str) -> str:
    """Return the line for a report, without colours. `limits`: of the plan, in words."""
    context = report["context"]
    facts: StatusFacts = {
        "ratio": context["ratio"] if context else None,
        "is_estimated": context is not None and not context["measured"],
        "now": report["reclaimable"]["now"]["tokens"],
        "cold": report["reclaimable"]["cold"]["tokens"],
        "cache_seconds_left": context["cache_seconds_left"] if context else None,
        "limits": limits,
    }
    return line(facts, thresholds, coloured=False)


def line(facts: StatusFacts, thresholds: Mapping[str, float], coloured: bool) -> str:
    """Return one line of the known facts."""
    parts = [_context(facts.get("ratio"), thresholds, coloured, "~" if facts.get("is_estimated") else ""), *_amounts(facts)]
    left = facts.get("cache_seconds_left")
    if left is not None:
        parts.append("cache warm " + _minutes(left) if left > 0 else "cache cold")
    if facts.get("limits"):
        parts.append(facts["limits"])
    return SEPARATOR.join(parts)


def _amounts(facts: StatusFacts) -> list[str]:
    now, cold, expired = facts.get("now"), facts.get("cold"), facts.get("expired")
    if now is not None:
        later = f"{units.tokens(cold)} reclaimable when cold" if cold else "nothing reclaimable"
        return [f"{units.tokens(now)} reclaimable" if now else later]
    if expired is None:
        return []
    return [f"{expired['items']:,} expired, {units.tokens(expired['tokens'])}" if expired["items"] else "nothing expired"]


def _context(ratio: float | None, thresholds: Mapping[str, float], coloured: bool, mark: str) -> str:
    if ratio is None:
        return "context –"
    shown = f"context {mark}{units.percent(ratio)}"
    colour = _RED if ratio >= thresholds["critical"] else _YELLOW if ratio >= thresholds["warning"] else ""
    return colour + shown + _PLAIN if colour and coloured else shown


def _minutes(seconds: float) -> str:
    """Return the time left, to the minute: the line is drawn again twice a minute at most."""
    return f"{round(seconds / 60)} min" if seconds >= 90 else "1 min" if seconds >= 45 else "<1 min"
