"""Announce each threshold once as the context fills up."""

from __future__ import annotations

from ..hosts import COMMAND, IN_CLIENT, protocol
from ..hosts.transcripts import usage
from ..state.opening import REBUILD_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from ..state.site import Site
    from ..views.shapes import Report

    class Retention(TypedDict):
        expired_count: int
        reclaimable_tokens: int
        suggestion: str  # what to do, "" for nothing

    class ThresholdCheck(TypedDict, total=False):
        tokens: int
        window: int
        window_source: str
        usage_ratio: float
        level: str | None  # None below the first
        retention: Retention  # where a level is passed for the first time


def check_thresholds(site: Site, transcript_path: str, now: float, model: str | None = None) -> ThresholdCheck:
    """Return how full the context is and which threshold that passes."""
    newest = usage.newest_usage(transcript_path)
    known = model or site.session.model or (newest.model if newest else "")
    told = protocol.of(site.session_id).compaction_told(site.environ, site.session_project, known)
    if told != site.session.compaction:
        site.remember(compaction=told)
    tokens = newest.tokens if newest else 0
    largest = max(tokens, site.session.largest_tokens or 0)
    rules = site.rules()
    facts = site.session.but(model=model) if model else site.session
    window, source = usage.window_of(rules, facts, newest or usage.Usage())
    ratio = tokens / window
    passed = [level for level in LEVELS if ratio >= rules.thresholds[level]]
    result: ThresholdCheck = {
        "tokens": tokens,
        "window": window,
        "window_source": source,
        "usage_ratio": ratio,
        "level": passed[-1] if passed else None,
    }
    if largest != site.session.largest_tokens:
        site.remember(largest_tokens=largest)
    if passed and site.session.told != passed[-1]:
        result["retention"] = _retention(site, transcript_path, now)
    return result


def _retention(site: Site, transcript_path: str, now: float) -> Retention:
    """Return the panel's verdict if the transcript is small enough for a hook, else the expired results that the hooks have seen."""
    import os

    try:
        if os.path.getsize(transcript_path) <= REBUILD_BYTES:
            from ..reclaim import outlook
            from ..views import report

            current = report.build(outlook.look(site, transcript_path, now))
            return {
                "expired_count": current["expired"]["items"],
                "reclaimable_tokens": current["reclaimable"]["now"]["tokens"],
                "suggestion": _advice(current, site.rules().thresholds["critical"]),
            }
    except (OSError, ValueError):
        pass  # no transcript (yet), or one that cannot be read
    from ..state import stored_contexts

    known = stored_contexts.stored_state(site.paths())
    expired = stored_contexts.expired_of(site.paths(), known) if known else {"items": 0, "tokens": 0}
    many = "1 expired result holds" if expired["items"] == 1 else f"{expired['items']:,} expired results hold"
    words = f"{many} ~{expired['tokens']:,} tokens. To see what a clear would take: {_called(site)}"
    return {"expired_count": expired["items"], "reclaimable_tokens": 0, "suggestion": words if expired["items"] else ""}


def _advice(current: Report, critical: float) -> str:
    """Return the advice of a report; "" where there is nothing to do, or only to wait while there is room."""
    from ..views import verdicts

    kind, context = current["verdict"]["kind"], current["context"]
    has_room = context is not None and context["ratio"] < critical
    return "" if kind == "nothing" or (kind == "wait" and has_room) else verdicts.notice(current)


def _called(site: Site) -> str:
    """Return how the person calls us: by the shorter name where code of ours inside the client answers to it."""
    from ..state import sockets

    return IN_CLIENT if sockets.of_session(site.lasting_home, site.session_id) else COMMAND


def _short(tokens: int) -> str:
    """Return 176k or 1M: Claude Code puts its own name before a message, so little fits behind it."""
    return f"{tokens / 1_000_000:.3g}M" if tokens >= 1_000_000 else f"{tokens / 1_000:.0f}k"


def news(site: Site, checked: ThresholdCheck) -> str | None:
    """Return the messages of a level above the one passed last, a line or more each; None for none. Keep the level, and forget it as the
    context shrinks."""
    before, level = site.session.told, checked["level"]
    if level == before:
        return None
    site.remember(told=level)
    if level is None or (before in LEVELS and LEVELS.index(level) < LEVELS.index(before)):
        return None
    messages = [action(site, checked) for action in ACTIONS[level]]
    return "\n".join(filter(None, messages)) or None


def _announcement(site: Site, checked: ThresholdCheck) -> str | None:
    """Return how full the context is, and what to do about it; None where there is nothing to do."""
    suggestion = checked["retention"]["suggestion"]
    if not suggestion:
        return None
    from ..units import percent
    from ..views.phrases import of_window

    of_which = of_window(_short(checked["tokens"]), _short(checked["window"]), checked["window_source"])
    full = f"PopKit: the context is {percent(checked['usage_ratio'])} full ({of_which})."
    return f"{full}\n{suggestion}" + ("" if "/" in suggestion else f" ({_called(site)} clear)")


# What is done as each level is passed for the first time, by what `check_thresholds` found; an action returns its message, None for none.
ACTIONS: dict[str, tuple[Callable[[Site, ThresholdCheck], str | None], ...]] = {
    "notice": (_announcement,),
    "warning": (_announcement,),
    "critical": (_announcement,),
    "emergency": (_announcement,),
}
LEVELS = tuple(ACTIONS)
