"""One item of long-term memory: what it is, why it stands where it stands, what becomes of it next. Plain values in, lines out. Pure."""

from __future__ import annotations

from hooks.utils import text

from ..cli.answering import ago, ahead, pair
from ..memory.items import ACCEPTED, AGENT, ARCHIVE, BY_JOB, BY_POLICY, BY_TOOL, BY_USER, IMPORT, SESSION, USER, Item
from .memory_items import label, size, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LOGGED = 8  # entries of the log
_ROOTS = 8  # checkouts
_DUE = "with the next run, at the end of a session or by {} run"
_FROM = {
    SESSION: "learnt from sessions",
    USER: "said by you",
    AGENT: "said by an agent",
    ACCEPTED: "said by an agent, accepted by you",
    IMPORT: "imported",
}
_MARKED = {
    BY_USER: "forgotten by you",
    BY_TOOL: "forgotten by an agent's tool",
    BY_JOB: "forgotten by the job",
    BY_POLICY: "marked by its retention policy",
}


def show_lines(item: Item, project: str, now: float, command: str) -> list[str]:
    """What is known about an item, before its text. `command`: how the reader calls us."""
    lines = text.title(text.clean(item.id))
    lines += _what(item)
    lines += pair("Project", project if item.project else "none")
    lines += _tier(item, now)
    lines += pair("Kept", size(item))
    lines += _asked_for(item, now)
    for name, value in sorted(item.details.items()):
        lines += pair(text.cut(text.clean(name).capitalize(), 10), str(value))
    return lines + _state(item, now, command)


def why_lines(found: Mapping[str, Any], now: float, command: str) -> list[str]:
    """Why an item stands where it stands. `command`: how the reader calls us."""
    item = Item(**found["item"])
    lines = text.title(f"{item.id}  {label(item)}")
    lines += _what(item)
    for name, root in zip(("Taught in", *[""] * _ROOTS), found["taught_in"][:_ROOTS]):
        lines += pair(name, root)
    lines += _tier(item, now) + _asked_for(item, now) + pair("Kept", size(item))
    lines += pair("Score", f"{found['score']:.2f} of 1, by the profile {found['profile']}")
    signals = [f"{name.replace('_', ' ')} {value:.2f}" for name, value in found["signals"].items()]
    lines += pair("Signals", ", ".join(signals))
    lines += pair("Retention", f"{found['retention']:.0%}: the chance that it is still remembered")
    lines += _due(item, found["decision"], command)
    if found["decision"]["tier"] == item.tier and not found["decision"]["marks"]:
        lines += _next(item, found["next"], now)
    lines += _state(item, now, command)
    lines += pair("On hold", f"{found['hold']}. Nothing deletes it before the hold ends.") if found["hold"] else []
    for name, entry in zip(("Log", *[""] * _LOGGED), found["log"][:_LOGGED]):
        lines += pair(name, _logged(entry, now))
    return lines


def _what(item: Item) -> list[str]:
    said = f"{item.kind}, {_FROM[item.source]}"
    if item.source == SESSION:
        said += f": written {text.counted(item.writes, 'time')} in {text.counted(item.sessions, 'session')}"
    said += f", {item.confidence:.0%} certain" if item.confidence < 1 else ""
    lines = pair("What", said)
    if item.episode and item.source == SESSION:
        return lines + pair("First in", f"session {item.episode}")
    if item.episode:
        return lines + pair("Said in", f"{item.episode}, turn {item.place:,}" + (f", by {item.speaker}" if item.speaker else ""))
    return lines


def _tier(item: Item, now: float) -> list[str]:
    came = f", before that {item.previous_tier}" if item.previous_tier else ""
    return pair("Tier", f"{item.tier} for {text.span(now - item.tier_since)}{came}")


def _asked_for(item: Item, now: float) -> list[str]:
    said = f"{text.counted(item.access_count, 'time')}, last {ago(item.last_accessed, now)}" if item.access_count else "never"
    used = f"; used again in {text.counted(item.reinforcements, 'later session')}" if item.reinforcements else ""
    return pair("Asked for", said + used)


def _due(item: Item, decision: Mapping[str, Any], command: str) -> list[str]:
    reasons = "; ".join(decision["reasons"])
    if item.marked_at is not None:
        return []
    if decision["marks"]:
        return pair("Now", f"is forgotten {_DUE.format(command)}: {reasons}")
    if decision["tier"] == item.tier:
        return pair("Now", f"stays in {item.tier}: {reasons}")
    return pair("Now", f"moves to {decision['tier']} {_DUE.format(command)}: {reasons}")


def _next(item: Item, coming: Mapping[str, Any] | None, now: float) -> list[str]:
    return pair("Next", following(item, coming, now)) if item.marked_at is None else []


def following(item: Item, coming: Mapping[str, Any] | None, now: float) -> str:
    """What comes next of an item that is not marked, and where its tier is the right one now."""
    if coming is None:
        until = "you unpin it" if item.held else "you move it" if item.tier == ARCHIVE else "it is asked for or you move it"
        return f"nothing changes until {until}"
    what = "is forgotten" if coming["marks"] else f"moves to {coming['tier']}"
    return f"{what} {ahead(coming['at'], now)} unless it is asked for: {'; '.join(coming['reasons'])}"


def _state(item: Item, now: float, command: str) -> list[str]:
    if item.marked_at is None:
        said = [name for name, holds in _states(item) if holds]
        lines = pair("State", ", ".join(said)) if said else []
        if item.waits:
            lines += pair("Waits", f"for your yes. Until then it is not in MEMORY.md: {command} accept {text.clean(item.id)}")
        return lines
    did = _MARKED.get(item.marked_by, "forgotten")
    lines = pair("State", f"{did} {ago(item.marked_at, now)}, {standing(item, now, names=False)}")
    return lines + pair("", f"To bring it back: {command} undo {text.clean(item.id)}")


def _states(item: Item) -> tuple[tuple[str, bool], ...]:
    key = "a key decision" if item.for_good else "a key decision once you accept it"
    return (key, item.key), ("pinned", item.held)


def _logged(entry: Mapping[str, Any], now: float) -> str:
    reasons = "; ".join(entry.get("reasons", ()))
    return f"{ago(entry['at'], now)}: {entry['action']}" + (f" ({reasons})" if reasons else "")
