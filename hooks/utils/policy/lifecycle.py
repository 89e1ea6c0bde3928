"""End the lifetimes of results. Pure, part of the engine.

The state is changed in place; every decision carries its reasons. Nothing that is pinned ever expires; what is preserved only when the
user says so, (errors, under `success`) when the action that failed succeeds later, or (task lists) when a newer one comes.
"""

from __future__ import annotations

from . import kinds, parts
from .context import RECENT, ContextState, Result, add
from .tools import READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from .parts import Part
    from .ruleset import Ruleset

    # What an event does to a state; the event is the one of its name.
    Handler = Callable[[ContextState, Any, Ruleset, "list[Decision]"], None]

FILES = ("files",)  # of a working tree, what an edit changes

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

    def to_json(self) -> dict[str, Any]:
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


def expire_file(state: ContextState, rules: Ruleset, path: str, trigger: str, why: str, by: str, decisions: list[Decision]) -> None:
    """End the reads of a file; a result that shows other files too lives on until the last of them is gone."""
    key = "read:" + path
    for result in list(state.by_key.get(key, {}).values()):
        if not may_expire(result) or not ends_with_files(result, rules, trigger):
            continue
        # Of another file, or a run, it shows more than what was found beside it.
        shows_more = any(part[0] != key and not part[0].startswith("search:") for part in result.parts)
        dead = [part for part in result.parts if part[0] == key] if shows_more else result.parts
        end_parts(state, result, dead, trigger, [_FILE_REASONS[trigger] + why], decisions, by)


_FILE_REASONS = {
    "edited": "its file was edited: ",
    "committed": "its file was committed: ",
    "changed_on_disk": "its file changed on disk: ",
}


def ends_with_files(result: Result, rules: Ruleset, trigger: str = "edited") -> bool:
    """Return whether a result that shows files ends when they are edited or change on disk, or (for the trigger `committed`) with a commit:
    where its tier says so, or that of reads, for what is stale is so in any tier."""
    event = "commit" if trigger == "committed" else "edit"
    return any(event in rules.tier_rule(tier).events for tier in (result.tier, rules.tier_of_operation(READ)))


def file_events(result: Result, rules: Ruleset) -> list[str]:
    """Return those of edit and commit that can end a live result by what it shows."""
    shown = [part for part in result.parts if part[0].startswith("read:") or part[0] == parts.TREE]
    edited = any(part[0] != parts.TREE or part[1][1] in FILES for part in shown)
    events = ["edit"] if edited and ends_with_files(result, rules) else []
    return [*events, "commit"] if shown and ends_with_files(result, rules, "committed") else events


def expire_tree(
    state: ContextState, rules: Ruleset, place: str, changed: Collection[str], trigger: str, why: str, by: str, decisions: list[Decision]
) -> None:  # fmt: skip
    """End what git has shown of a working tree that has changed at a file, or in the repository of a folder."""
    for result in list(state.by_key.get(parts.TREE, {}).values()):
        dead = [part for part in result.parts if parts.is_shown(part, place, changed)]
        if dead and may_expire(result) and ends_with_files(result, rules, trigger):
            end_parts(state, result, dead, trigger, ["the working tree has changed since: " + why], decisions, by)


def expire_committed(state: ContextState, rules: Ruleset, files: list[str] | None, why: str, by: str, decisions: list[Decision]) -> None:
    """End the reads of the files in a commit; where git cannot say which these are, every result of a tier that ends with commits, but no
    file of another commit."""
    if files is not None:
        for path in files:
            expire_file(state, rules, path, "committed", why, by, decisions)
        return
    for result in list(state.live.values()):
        if result.parts and all(part[0].startswith(parts.REVISION) for part in result.parts):
            continue
        if may_expire(result) and "commit" in rules.tier_rule(result.tier).events:
            end(state, result, "committed", ["a commit whose files git could not list: " + why], decisions, by)


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
