"""End the lifetimes of results. Pure, part of the engine.

The state is changed in place; every decision carries its reasons. Nothing that is pinned ever expires; what is preserved only when the
user says so, (errors, under `success`) when the action that failed succeeds later, or (task lists) when a newer one comes.
"""

from __future__ import annotations

from . import kinds
from .context import RECENT, ContextState, Result, add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .parts import Part
    from .ruleset import Ruleset

    # What an event does to a state; the event is the one of its name.
    Handler = Callable[[ContextState, Any, Ruleset, "list[Decision]"], None]

# Triggers after which the same content, fetched again, shows that the expiration was a mistake.
_CONTENT_STILL_TRUE = frozenset(("ttl_calls", "ttl_seconds", "committed", "changed_on_disk", "session_end", "manual"))


class Decision:
    """A decision about a result, with its reasons. `action`: expire, supersede, revive (a pin, a restore or an undo brings it back),
    release (no pin holds it any more, so it has ended as before) or compact."""

    __slots__ = ("action", "by", "id", "index", "reasons", "tier", "tokens", "trigger")

    def __init__(self, action: str, result: Result, trigger: str, index: int, reasons: list[str], by: str = ""):
        self.action = action
        self.id = result.id
        self.tier = result.tier
        self.tokens = result.tokens
        self.trigger = trigger
        self.index = index
        self.reasons = reasons
        self.by = by  # the call that caused it, "" for none

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in sorted(self.__slots__)}


def reindex(state: ContextState, rules: Ruleset) -> None:
    """Build the indexes over the live results: after a load, and whenever the rules or the pins have changed."""
    state.by_key = {}
    state.by_hash = {}
    state.due = {}
    state.timed = {}
    for result in state.live.values():
        result.pinned = is_pinned(state, result, rules)
        enter(state, result, rules)


def enter(state: ContextState, result: Result, rules: Ruleset) -> None:
    """Add a live result to the indexes: by its parts, its content, and the time when it ends by age."""
    for part in result.parts:
        state.by_key.setdefault(part[0], {})[result.id] = result
    if result.hash and not result.error:
        state.by_hash.setdefault(result.kind + "|" + result.hash, {})[result.id] = result
    rule = rules.tier_rule(result.tier)
    if rule.ttl_s is not None:
        state.timed[result.id] = result
    if rule.ttl_calls is not None:
        state.due.setdefault(max(result.index + rule.ttl_calls, state.index + 1), {})[result.id] = result


def is_pinned(state: ContextState, result: Result, rules: Ruleset) -> bool:
    """Return whether a pin of the user or of the configuration holds this result."""
    if result.id in state.pins or result.id in state.holds:
        return True
    # Who pins a path means what was seen of it, not the acknowledgements of its edits.
    return bool((state.pins or rules.pins) and result.kind != kinds.ACK and rules.pinned_by(result.subjects, state.pins))


def leave(state: ContextState, result: Result) -> None:
    del state.live[result.id]
    for part in result.parts:
        unlink(state.by_key, part[0], result.id)
    unlink(state.by_hash, result.kind + "|" + result.hash, result.id)
    state.timed.pop(result.id, None)


def unlink(index: dict[str, dict[str, Result]], key: str, id: str) -> None:
    holders = index.get(key)
    if holders is not None:
        holders.pop(id, None)
        if not holders:
            del index[key]


def end(state: ContextState, result: Result, trigger: str, reasons: list[str], decisions: list[Decision], by: str = "") -> None:
    """Mark a live result as expired; it stays in the context until somebody clears it."""
    leave(state, result)
    result.touched = state.touched(result)
    action = "supersede" if trigger in ("superseded", "same_content") else "expire"
    result.ended = [trigger, state.index, state.at, by, reasons]
    state.expired[result.id] = result
    counts = state.counts
    add(counts.expired, result.tier, 1)
    add(counts.expired_tokens, result.tier, result.tokens)
    add(counts.triggers, trigger, 1)
    if action == "supersede":
        counts.superseded += 1
    if trigger in _CONTENT_STILL_TRUE and can_be_missed(result):
        state.recent[result.kind + "|" + result.hash] = result.tier
        if len(state.recent) > RECENT:
            del state.recent[next(iter(state.recent))]
    decisions.append(Decision(action, result, trigger, state.index, reasons, by))


def can_be_missed(result: Result) -> bool:
    """Return whether the same content, fetched again, shows that it was missed. A run is repeated for the sake of its outcome."""
    return bool(result.hash) and result.kind != kinds.ACK and not kinds.is_run(result.kind)


def may_expire(result: Result) -> bool:
    return not result.pinned and result.tier != "preserved"


def end_parts(
    state: ContextState, result: Result, dead: Sequence[Part], trigger: str, reasons: list[str], decisions: list[Decision], by: str
) -> None:  # fmt: skip
    """Take dead parts from a live result, which ends with the last of them."""
    if len(dead) == len(result.parts):
        end(state, result, trigger, reasons, decisions, by)
        return
    result.parts = [part for part in result.parts if part not in dead]
    result.stored = ""
    for part in dead:
        if not any(have[0] == part[0] for have in result.parts):
            unlink(state.by_key, part[0], result.id)


def expire_due(state: ContextState, rules: Ruleset, decisions: list[Decision], by: str = "") -> None:
    for result in list(state.due.pop(state.index, {}).values()):
        if state.live.get(result.id) is result and may_expire(result):
            end_by_calls(state, rules, result, decisions, by)
    if state.timed:
        expire_timed(state, rules, decisions, by)


def end_by_calls(state: ContextState, rules: Ruleset, result: Result, decisions: list[Decision], by: str = "", under: str = "") -> None:
    """End a result whose number of calls has passed; `under`: words on the rules that say so."""
    age, calls = state.index - result.index, rules.tier_rule(result.tier).ttl_calls
    passed = "1 call has" if age == 1 else f"{age} calls have"
    end(state, result, "ttl_calls", [f"{passed} passed, and {result.tier} results live {calls}{under}"], decisions, by)


def _lasted(seconds: float) -> str:
    """Return a time in the largest unit of which it has at least two, rounded down."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def expire_timed(state: ContextState, rules: Ruleset, decisions: list[Decision], by: str) -> None:
    for result in list(state.timed.values()):
        seconds = rules.tier_rule(result.tier).ttl_s
        if seconds is not None and state.at - result.at >= seconds and may_expire(result):
            reason = f"{_lasted(state.at - result.at)} have passed, and {result.tier} results live {_lasted(seconds)}"
            end(state, result, "ttl_seconds", [reason], decisions, by)
