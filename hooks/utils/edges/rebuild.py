"""transcript + journal -> state: what hooks would have, had every one of them fired.

The transcript's times and the order of its lines win. The journal gives what it lacks: pins, profiles, session ends, files changed on
disk, git's answers. An entry that names a call stands right before that call; any other goes by its time.
"""

from __future__ import annotations

from ..policy import engine, events
from ..policy.context import ContextState
from . import quotes, transcript, usage

# The year 5138: a later time in a journal is none.
_LATEST = 1e11


class Rebuilt:
    """A rebuilt state with what was seen on the way."""

    __slots__ = ("compactions", "decisions", "result_ids", "state", "transcript")

    def __init__(self, state, decisions, read):
        self.state = state
        self.decisions = decisions
        self.transcript = read
        self.result_ids = transcript.result_ids(read)  # of every branch
        self.compactions = sum(entry.get("subtype") == "compact_boundary" for entry in read.entries)  # likewise


def rebuild(path: str, entries: list, rules_for, session_id: str = "", agent_id: str = "") -> Rebuilt:
    """The state of a context, from its transcript file and journal entries; `rules_for(profile)` compiles the rules. OSError when
    the transcript cannot be read."""
    read = transcript.read(path)
    told = transcript.events_of(read)
    state = ContextState(session_id, agent_id)
    if not agent_id:
        state.cwd = next((entry["cwd"] for entry in read.entries if isinstance(entry.get("cwd"), str)), "")
    quoting = quotes.quoted_ids(read)
    sizes: dict = {}
    decisions = []
    rules = rules_for(None)
    engine.reindex(state, rules)
    for event in _merged(told, entries, quoting, read.entries):
        if isinstance(event, events.ProfileChosen):
            rules = rules_for(event.profile)
        decisions.extend(engine.observe(state, event, rules))
        if isinstance(event, events.Call) and event.id in state.live:
            sizes[event.id] = state.live[event.id].tokens
    factor = usage.calibration(_requests(read, sizes))
    if factor is not None:
        state.calibration = factor
    return Rebuilt(state, decisions, read)


def _merged(told: list, journal: list, quoting: dict, lines: list) -> list:
    """All events in order: those of the transcript, the quotations between them, the journal's where they belong."""
    places = {id(entry): number for number, entry in enumerate(lines)}
    quoted = [(number, events.Quoted(quoting[entry["uuid"]])) for number, entry in enumerate(lines) if entry.get("uuid") in quoting]
    anchored, timed, commits = _sorted_journal(journal, {event.id for _, event in told if isinstance(event, events.Call)})
    quoted.reverse()  # taken from the end
    timed.reverse()
    merged = []
    for entry, event in told:
        while quoted and quoted[-1][0] < places[id(entry)]:
            merged.append(quoted.pop()[1])
        while timed and timed[-1].at <= event.at:
            merged.append(timed.pop())
        if isinstance(event, events.Call):
            merged.extend(anchored.get(event.id, ()))
            if event.id in commits:
                event.committed = commits[event.id]
        merged.append(event)
    merged.extend(event for _, event in reversed(quoted))
    merged.extend(reversed(timed))
    return merged


def _sorted_journal(journal: list, known: set) -> tuple:
    """(call id -> events right before it, events by time, call id -> files of its commit)."""
    anchored: dict = {}
    timed = []
    commits = {}
    for entry in journal:
        if not isinstance(entry, dict):
            continue
        event = event_of(entry)
        call = entry.get("call")
        if entry.get("event") == "commit" and isinstance(call, str):
            names = entry.get("files")
            commits[call] = [name for name in names if isinstance(name, str)] if isinstance(names, list) else None
        elif event is not None and isinstance(call, str) and call in known:
            anchored.setdefault(call, []).append(event)
        elif event is not None:
            timed.append(event)
    timed.sort(key=lambda event: event.at)
    return anchored, timed, commits


def event_of(entry: dict):
    """The event that a journal entry tells of; None for one that is not understood."""
    at = entry.get("at")
    at = at if isinstance(at, (int, float)) and abs(at) < _LATEST else 0.0
    kind, target = entry.get("event"), entry.get("target")
    if kind == "pin" and isinstance(target, str):
        return events.Pinned(target, at)
    if kind == "unpin" and isinstance(target, str):
        return events.Unpinned(target, at)
    if kind == "profile" and (target is None or isinstance(target, str)):
        return events.ProfileChosen(target, at)
    if kind == "end":
        return events.SessionEnded(at, str(entry.get("why") or ""))
    if kind == "changed" and isinstance(entry.get("changes"), dict):
        return events.FilesChanged({str(path): str(how) for path, how in entry["changes"].items()}, at)
    if kind == "clear" and isinstance(entry.get("ids"), list):
        return events.ManualClear([id for id in entry["ids"] if isinstance(id, str)], at)
    return None


def _requests(read: transcript.Transcript, sizes: dict) -> list:
    """[(prompt tokens, estimated tokens added since the request before)] of the main chain, one per message."""
    requests: list = []
    added = 0
    current = None
    for entry in read.entries:
        if entry.get("uuid") not in read.chain and entry.get("type") != "user":
            continue
        if entry.get("subtype") == "compact_boundary":
            requests.append((0, 0))
        if entry.get("type") == "user":
            added += sum(sizes.get(block.get("tool_use_id"), 0) for block in transcript.blocks_of(entry))
            continue
        found = usage.usage_of(entry)
        if found is not None:
            message = entry["message"].get("id")
            if message != current:
                requests.append((found.tokens, added))
                added, current = 0, message
            added += _written_tokens(entry)
    return requests


def _written_tokens(entry: dict) -> int:
    from ..policy.estimate import estimate_tokens

    total = 0
    for block in transcript.blocks_of(entry):
        if isinstance(block.get("text"), str):
            total += estimate_tokens(block["text"])
        elif block.get("type") == "tool_use":
            from .responses import dumps_or_nothing

            total += estimate_tokens(dumps_or_nothing(block.get("input")), "markup")
    return total
