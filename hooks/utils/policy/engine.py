"""observe(state, event, rules) -> decisions. The only place where a lifetime begins.

Pure and deterministic: the same events under the same rules give the same decisions, whichever driver feeds them. The state is
changed in place; every decision carries its reasons.
"""

from __future__ import annotations

from . import kinds, lifecycle, parts
from .calls import verdict_of
from .classify import classify, is_answer
from .context import ContextState, Result, add
from .estimate import tokens_of
from .lifecycle import Decision, end, end_parts, is_pinned, leave, may_expire, reindex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .calls import Call
    from .classify import Classification
    from .events import Event
    from .parts import Part
    from .ruleset import Ruleset

__all__ = ["Decision", "observe", "reindex"]


def observe(state: ContextState, event: Event, rules: Ruleset) -> list[Decision]:
    """Return the decisions that an event brings about, in order."""
    decisions: list[Decision] = []
    if event.name == "call":
        _on_call(state, event, rules, decisions)  # type: ignore[arg-type]  # the event of that name
    else:
        from . import occasions  # hooks see calls; the rest happens seldom

        occasions.HANDLERS[event.name](state, event, rules, decisions)
    return decisions


def _on_call(state: ContextState, call: Call, rules: Ruleset, decisions: list[Decision]) -> None:
    state.index += 1
    state.at = call.at
    if state.closed:
        from . import occasions

        occasions.go_on(state, rules, decisions)
    _forget(state, call.id)
    if state.holds:
        _release(state, rules)
    _turn_of(state, call)
    classified = classify(call, state.cwd or call.cwd, rules)  # the host reports the folder that a call left behind
    state.cwd = call.cwd or state.cwd
    if classified.edits or classified.commits or classified.changes:
        from . import file_changes

        file_changes.follow(state, rules, call, classified, decisions)
    if call.outcome.unchanged:
        _touch_key(state, "read:" + classified.subjects[0])
    if classified.moves or state.trees:
        from . import trees  # seldom

        trees.follow(state, classified, call)
    result = _result_of(state, call, classified, rules)
    _supersede(state, rules, call, result, classified, decisions)
    _count_false_expiration(state, result)
    lifecycle.expire_due(state, rules, decisions, call.id)
    add(state.counts.results, result.tier, 1)
    add(state.counts.results_tokens, result.tier, result.tokens)
    state.live[result.id] = result
    lifecycle.enter(state, result, rules)


def _forget(state: ContextState, id: str) -> None:
    """Drop the result of an id that a host repeats: the new one replaces it."""
    known = state.live.get(id)
    if known is not None:
        leave(state, known)
    state.expired.pop(id, None)


def _release(state: ContextState, rules: Ruleset) -> None:
    """Release restored results whose hold is over; one that has outlived its number of calls ends with this one."""
    for id in [id for id, until in state.holds.items() if state.index > until]:
        del state.holds[id]
        result = state.live.get(id)
        if result is not None:
            result.pinned = is_pinned(state, result, rules)
            calls = rules.tier_rule(result.tier).ttl_calls
            if calls is not None and state.index >= result.index + calls:
                state.due.setdefault(state.index, {})[id] = result


def _turn_of(state: ContextState, call: Call) -> None:
    if call.prompt_id is not None:
        changed = call.prompt_id != state.prompt_id
        state.prompt_id = call.prompt_id
    else:
        changed = state.prompted
    state.prompted = False
    if changed or state.turn == 0:
        state.turn += 1


def _result_of(state: ContextState, call: Call, classified: Classification, rules: Ruleset) -> Result:
    outcome = call.outcome
    tokens = state.in_units(tokens_of(outcome.chars, outcome.wide, classified.content) + outcome.image_tokens)
    result = Result(
        call.id, state.index, call.at, state.turn, call.tool, classified.kind + (":" + classified.family if classified.family else ""),
        classified.tier, classified.basis, classified.label, [list(part) for part in classified.parts], classified.subjects, tokens,
        outcome.content_hash, classified.error,
        verdict_of(outcome.tail, outcome.exit_code) if _has_verdict(call, classified) else "",
    )  # fmt: skip
    if classified.kind == kinds.RESTORED and not classified.error:
        state.holds[call.id] = state.index + rules.restore_hold_calls
    result.pinned = is_pinned(state, result, rules)
    return result


def _has_verdict(call: Call, classified: Classification) -> bool:
    if classified.kind == kinds.RUN:
        return is_answer(call) or call.outcome.exit_code is not None
    return classified.error


def _supersede(
    state: ContextState, rules: Ruleset, call: Call, new: Result, classified: Classification, decisions: list[Decision]
) -> None:  # fmt: skip
    """End the earlier results that a newer one of the same thing covers. What never ran, or does not show how it went, covers nothing."""
    if not is_answer(call):
        return
    if not new.error and classified.tells:
        for old in list(state.by_key.get("error:" + classified.action, {}).values()):
            if not old.pinned and (old.tier != "preserved" or "success" in rules.tier_rule(old.tier).events):
                end(state, old, "superseded", ["the action succeeded later: " + new.label], decisions, new.id)
    answers = not new.error or kinds.is_run(new.kind) or "supersede" in rules.tier_rule(new.tier).events
    if answers:
        least = parts.ALWAYS if call.outcome.error else parts.ON_SUCCESS
        for part in [part for part, ran in zip(new.parts, classified.ran) if ran <= least]:
            for old in list(state.by_key.get(part[0], {}).values()):
                _cover(state, old, part, new, decisions)
    if new.hash and not new.error:
        for earlier in list(state.by_hash.get(new.kind + "|" + new.hash, {}).values()):
            if may_expire(earlier) and not _is_of_another_revision(earlier, new):
                end(state, earlier, "same_content", ["the same content came again: " + new.label], decisions, new.id)


def _is_of_another_revision(one: Result, other: Result) -> bool:
    """Return whether either is a file of a commit that the other is not: which commit has this content is part of what it shows."""
    keys = {part[0] for part in one.parts} ^ {part[0] for part in other.parts}
    return any(key.startswith(parts.REVISION) for key in keys)


def _cover(state: ContextState, old: Result, part: Part, new: Result, decisions: list[Decision]) -> None:
    if old.pinned or (old.tier == "preserved" and old.kind != kinds.TASKS):
        return
    from .coverage import covers  # not for the first look at something

    dead = [have for have in old.parts if covers(part, have)]
    if not dead:
        if part[0] != parts.TREE:
            old.touch(state.index)  # looked at again, in part
        return
    reasons = ["a newer run of the same thing: " + new.label]
    if old.verdict:
        reasons.append("it had said: " + old.verdict)
    end_parts(state, old, dead, "superseded", reasons, decisions, new.id)


def _count_false_expiration(state: ContextState, result: Result) -> None:
    if lifecycle.can_be_missed(result):
        tier = state.recent.pop(result.kind + "|" + result.hash, None)
        if tier is not None:
            add(state.counts.false_expirations, tier, 1)


def _touch_key(state: ContextState, key: str) -> None:
    for result in state.by_key.get(key, {}).values():
        result.touch(state.index)
