"""The report on one memory item: its facts, the reasons for its tier, its next move. Pure. Items are hostile text: everything goes through
`text.clean`, which `text.wrap` calls."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.state.memory_records import CHANGED, GONE, RENAMED, SAME

from ..views import ago, ahead, pair, pairs
from .item_views import label, standing
from .items import ACCEPTED, AGENT, ARCHIVE, BY_JOB, BY_POLICY, BY_TOOL, BY_USER, EMBEDDING, FULL, IMPORT, SESSION, USER, Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_LOGGED = 8  # entries of the log
_ROOTS = 8  # checkouts
_SESSIONS = 4  # the newest of those that taught an item
_DUE = "with the next run, at the end of a session or by {} admin run"
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
# Details that `why` shows in words.
_IN_WHY = ("blob", "commit", "defined_in", "file", "folder", "gone", "needs", "opened")
_HASH = 12  # characters of a commit's
# What has become of a file since.
_STATES = {
    "": "", SAME: "as it was", CHANGED: "changed since", RENAMED: "now {}", GONE: "gone, so MEMORY.md does not list it",
}  # fmt: skip


def size(item: Item) -> str:
    """Return how much of an item is stored, and where."""
    if item.level == EMBEDDING:
        return "an embedding only; restore brings back the text" if item.original else "an embedding only; the text is gone"
    if item.level != FULL:
        return f"its {item.level}; restore brings back the full text" if item.original else f"its {item.level}; the full text is gone"
    return "in full"


def show(item: Item, project: str, now: float, command: str) -> list[text.Line]:
    """Return the facts about an item, before its text. `command`: how the reader calls us."""
    lines = text.title(text.clean(item.id))
    lines += _what(item)
    lines += pair("Project", project if item.project else "none")
    lines += _tier(item, now)
    lines += pair("Kept", size(item))
    lines += _accesses(item, now)
    for name, value in sorted((name, value) for name, value in item.details.items() if name not in _IN_WHY):
        lines += pair(text.cut(text.clean(name).capitalize(), 10), str(value))
    return lines + _state(item, now, command)


def why(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return the reasons for an item's tier, and what happens next. `command`: how the reader calls us."""
    item = Item(**answer["item"])
    lines = text.title(f"{item.id}  {label(item)}")
    lines += _what(item)
    again = [session for session in answer["sessions"] if session != item.episode]
    lines += pairs("Then in", [f"session {session}" for session in again[-_SESSIONS:]])
    lines += pairs("Taught in", answer["taught_in"][:_ROOTS])
    lines += _learnt_at(answer["learnt_at"])
    lines += _tier(item, now) + _accesses(item, now) + pair("Kept", size(item))
    lines += pair("Score", f"{answer['score']:.2f} of 1, by the profile {answer['profile']}")
    signals = [f"{name.replace('_', ' ')} {value:.2f}" for name, value in answer["signals"].items()]
    lines += pair("Signals", ", ".join(signals))
    lines += pair("Retention", f"{units.percent(answer['retention'])}: the chance that it is still remembered")
    lines += _due(item, answer["decision"], command)
    if answer["decision"]["tier"] == item.tier and not answer["decision"]["marks"]:
        lines += _next(item, answer["next"], now)
    lines += _state(item, now, command)
    lines += pair("On hold", f"{answer['hold']}. Nothing deletes it before the hold ends.") if answer["hold"] else []
    return lines + pairs("Log", [_logged(entry, now) for entry in answer["log"][:_LOGGED]])


def _learnt_at(source: Mapping[str, Any]) -> list[text.Line]:
    """Return the commit and the files that an item was learnt from, and the present state of the files."""
    words = [f"commit {source['commit'][:_HASH]}"] if source["commit"] else []
    for file in source["files"]:
        state = _STATES[file["state"]].format(text.clean(file["path"]))
        words.append(text.clean(file["file"]) + (f": {state}" if state else ""))
    return pairs("Learnt at", words[: _ROOTS + 1])


def _what(item: Item) -> list[text.Line]:
    words = f"{item.kind}, {_FROM[item.source]}"
    if item.source == SESSION:
        words += f": written {units.counted(item.writes, 'time')} in {units.counted(item.sessions, 'session')}"
    words += f", {units.percent(item.confidence)} certain" if item.confidence < 1 else ""
    lines = pair("What", words)
    if item.episode and item.source == SESSION:
        return lines + pair("First in", f"session {item.episode}")
    if item.episode:
        return lines + pair("Said in", f"{item.episode}, turn {item.place:,}" + (f", by {item.speaker}" if item.speaker else ""))
    return lines


def _tier(item: Item, now: float) -> list[text.Line]:
    came = f", before that {item.previous_tier}" if item.previous_tier else ""
    return pair("Tier", f"{item.tier} for {units.span(now - item.tier_since)}{came}")


def _accesses(item: Item, now: float) -> list[text.Line]:
    words = f"{units.counted(item.access_count, 'time')}, last {ago(item.last_accessed, now)}" if item.access_count else "never"
    used = f"; used again {units.counted(item.reinforcements, 'time')}" if item.reinforcements else ""
    return pair("Retrieved", words + used)


def _due(item: Item, decision: Mapping[str, Any], command: str) -> list[text.Line]:
    reasons = "; ".join(decision["reasons"])
    if item.marked_at is not None:
        return []
    if decision["marks"]:
        return pair("Now", f"is forgotten {_DUE.format(command)}: {reasons}")
    if decision["tier"] == item.tier:
        return pair("Now", f"stays in {item.tier}: {reasons}")
    return pair("Now", f"moves to {decision['tier']} {_DUE.format(command)}: {reasons}")


def _next(item: Item, coming: Mapping[str, Any] | None, now: float) -> list[text.Line]:
    return pair("Next", following(item, coming, now)) if item.marked_at is None else []


def following(item: Item, coming: Mapping[str, Any] | None, now: float) -> str:
    """Return what happens next to an item that is not marked and is in the right tier now."""
    if coming is None:
        until = "you unpin it" if item.held else "you move it" if item.tier == ARCHIVE else "it is retrieved or you move it"
        return f"nothing changes until {until}"
    what = "is forgotten" if coming["marks"] else f"moves to {coming['tier']}"
    return f"{what} {ahead(coming['at'], now)} unless it is retrieved. By then: {'; '.join(coming['reasons'])}"


def _state(item: Item, now: float, command: str) -> list[text.Line]:
    if item.marked_at is None:
        words = [name for name, holds in _states(item) if holds]
        lines = pair("State", ", ".join(words)) if words else []
        if item.waits:
            lines += pair("Waits", f"for your approval. Until then it is not in MEMORY.md: {command} admin accept {text.clean(item.id)}")
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
