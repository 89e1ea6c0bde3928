"""observe(state, event, rules) -> decisions. The only place where a lifetime begins or ends.

Pure and deterministic: the same events under the same rules give the same decisions, whichever driver feeds them. The state is
changed in place; every decision carries its reasons. Nothing that is pinned ever expires; what is preserved only when the user
says so, when the action that failed succeeds later, or (task lists) when a newer one comes.
"""

from __future__ import annotations

from . import lifetimes, parts
from .calls import verdict_of
from .classify import classify
from .context import RECENT, ContextState, Result, add
from .estimate import tokens_of

# Triggers after which the same content, fetched again, shows that the expiration was a mistake.
_CONTENT_STILL_TRUE = frozenset(("ttl_calls", "ttl_seconds", "committed", "changed_on_disk", "session_end", "manual"))


class Decision:
    """What was decided about one result, and why. `action`: expire, supersede, revive or compact."""

    __slots__ = ("action", "by", "id", "index", "reasons", "tier", "tokens", "trigger")

    def __init__(self, action, result, trigger, index, reasons, by=""):
        self.action = action
        self.id = result.id
        self.tier = result.tier
        self.tokens = result.tokens
        self.trigger = trigger
        self.index = index
        self.reasons = reasons
        self.by = by  # the call that caused it, "" for none

    def to_json(self) -> dict:
        return {name: getattr(self, name) for name in sorted(self.__slots__)}


def observe(state: ContextState, event, rules) -> list:
    """The decisions that an event brings about, in order."""
    decisions: list = []
    handler = _HANDLERS.get(event.name)
    if handler is None:
        from . import occasions  # hooks see calls; the rest happens seldom

        handler = occasions.HANDLERS[event.name]
    before = state.lifetimes
    handler(state, event, rules, decisions)
    if state.lifetimes is not before:
        _schedule(state, rules)
    return decisions


def reindex(state: ContextState, rules) -> None:
    """Builds the indexes over the live results: after a load, and whenever the rules or the pins have changed."""
    state.by_key = {}
    state.by_hash = {}
    state.timed = {}
    for result in state.live.values():
        result.pinned = is_pinned(state, result, rules)
        _enter(state, result, rules)
    _schedule(state, rules)


def _schedule(state: ContextState, rules) -> None:
    """At which call each live result ends by age: after a load, and whenever lifetimes have changed."""
    state.due = {}
    for result in state.live.values():
        _set_due(state, result, lifetimes.lifetime(result, state, rules)[0])


def _set_due(state: ContextState, result: Result, calls: int | None) -> None:
    if calls is not None:
        state.due.setdefault(max(result.index + calls, state.index + 1), {})[result.id] = result


def is_pinned(state: ContextState, result: Result, rules) -> bool:
    """Whether a pin of the user or of the configuration holds this result."""
    if result.id in state.pins or result.id in state.holds:
        return True
    # Who pins a path means what was seen of it, not the acknowledgements of its edits.
    return bool((state.pins or rules.pins) and result.kind != "ack" and rules.pinned_by(result.subjects, state.pins))


def _enter(state: ContextState, result: Result, rules) -> None:
    for part in result.parts:
        state.by_key.setdefault(part[0], {})[result.id] = result
    if result.hash and not result.error:
        state.by_hash.setdefault(result.kind + "|" + result.hash, {})[result.id] = result
    if lifetimes.lifetime(result, state, rules)[1] is not None:
        state.timed[result.id] = result


def leave(state: ContextState, result: Result) -> None:
    del state.live[result.id]
    for part in result.parts:
        _unlink(state.by_key, part[0], result.id)
    _unlink(state.by_hash, result.kind + "|" + result.hash, result.id)
    state.timed.pop(result.id, None)


def _unlink(index: dict, key: str, id: str) -> None:
    holders = index.get(key)
    if holders is not None:
        holders.pop(id, None)
        if not holders:
            del index[key]


def end(state: ContextState, result: Result, trigger: str, reasons: list, decisions: list, by: str = "") -> None:
    """Marks a live result as expired; it stays in the context until somebody clears it."""
    leave(state, result)
    action = "supersede" if trigger in ("superseded", "same_content") else "expire"
    result.ended = [trigger, state.index, state.at, by, reasons]
    state.expired[result.id] = result
    counts = state.counts
    add(counts.expired, result.tier, 1)
    add(counts.expired_tokens, result.tier, result.tokens)
    add(counts.triggers, trigger, 1)
    if action == "supersede":
        counts.superseded += 1
    if trigger in _CONTENT_STILL_TRUE and result.hash and result.kind != "ack":
        lifetimes.shorten(result, state)
        state.recent[result.kind + "|" + result.hash] = result.tier
        if len(state.recent) > RECENT:
            del state.recent[next(iter(state.recent))]
    decisions.append(Decision(action, result, trigger, state.index, reasons, by))


def may_expire(result: Result) -> bool:
    return not result.pinned and result.tier != "preserved"


# --- a tool call ---------------------------------------------------------------------------------------------------------------


def _on_call(state: ContextState, call, rules, decisions: list) -> None:
    state.index += 1
    state.at = call.at
    _forget(state, call.id)
    if state.holds:
        _release(state, rules)
    _turn_of(state, call)
    found = classify(call, state.cwd or call.cwd, rules)  # the host reports the folder that a call left behind
    state.cwd = call.cwd or state.cwd
    if found.edits:
        expire_file(state, rules, found.edits, "edited", found.label, call.id, decisions)
        _touch_turn(state)
    if found.commits:
        expire_committed(state, rules, call.committed, found.label, call.id, decisions)
    if call.outcome.unchanged:
        _touch_key(state, "read:" + found.subjects[0])
    result = _result_of(state, call, found, rules)
    _supersede(state, result, found, decisions)
    _count_false_expiration(state, result)
    expire_due(state, rules, decisions, call.id)
    add(state.counts.results, result.tier, 1)
    add(state.counts.results_tokens, result.tier, result.tokens)
    state.live[result.id] = result
    _enter(state, result, rules)
    _set_due(state, result, lifetimes.lifetime(result, state, rules)[0])


def _forget(state: ContextState, id: str) -> None:
    """A host that repeats an id replaces its result."""
    known = state.live.get(id)
    if known is not None:
        leave(state, known)
    state.expired.pop(id, None)


def _release(state: ContextState, rules) -> None:
    """Lets go of restored results whose time is over; one that has outlived its number of calls ends with this one."""
    for id in [id for id, until in state.holds.items() if state.index > until]:
        del state.holds[id]
        result = state.live.get(id)
        if result is not None:
            result.pinned = is_pinned(state, result, rules)
            calls = lifetimes.lifetime(result, state, rules)[0]
            if calls is not None and state.index >= result.index + calls:
                state.due.setdefault(state.index, {})[id] = result


def _turn_of(state: ContextState, call) -> None:
    if call.prompt_id is not None:
        changed = call.prompt_id != state.prompt_id
        state.prompt_id = call.prompt_id
    else:
        changed = state.prompted
    state.prompted = False
    if changed or state.turn == 0:
        state.turn += 1


def _result_of(state: ContextState, call, found, rules) -> Result:
    outcome = call.outcome
    tokens = tokens_of(outcome.chars, outcome.wide, found.content) + outcome.image_tokens
    result = Result(
        call.id, state.index, call.at, state.turn, call.tool, found.kind + (":" + found.family if found.family else ""), found.tier,
        found.basis, found.label, [list(part) for part in found.parts], found.subjects, tokens, outcome.content_hash, found.error,
        verdict_of(outcome.tail, outcome.exit_code) if found.error or found.kind == "run" else "",
    )  # fmt: skip
    if found.kind == "restored" and not found.error:
        state.holds[call.id] = state.index + rules.restore_hold_calls
    result.pinned = is_pinned(state, result, rules)
    return result


def _supersede(state: ContextState, new: Result, found, decisions: list) -> None:
    """A newer result of the same thing ends the earlier ones that it covers."""
    if not new.error:
        for old in list(state.by_key.get("error:" + found.action, {}).values()):
            if not old.pinned:
                end(state, old, "superseded", ["the action succeeded later: " + new.label], decisions, new.id)
    answers = not new.error or new.kind.startswith("run") or new.tier == "session"
    if answers:
        for part in new.parts:
            for old in list(state.by_key.get(part[0], {}).values()):
                _cover(state, old, part, new, decisions)
    if new.hash and not new.error:
        for earlier in list(state.by_hash.get(new.kind + "|" + new.hash, {}).values()):
            if may_expire(earlier):
                end(state, earlier, "same_content", ["the same content came again: " + new.label], decisions, new.id)


def _cover(state: ContextState, old: Result, part: list, new: Result, decisions: list) -> None:
    if old.pinned or (old.tier == "preserved" and old.kind != "tasks"):
        return
    dead = [have for have in old.parts if parts.covers(part, have)]
    if not dead:
        old.touch(state.index)  # looked at again, in part
        return
    if len(dead) < len(old.parts):
        _drop_parts(state, old, dead)
        return
    reasons = ["a newer run of the same thing: " + new.label]
    if old.verdict:
        reasons.append("it had said: " + old.verdict)
    end(state, old, "superseded", reasons, decisions, new.id)


def _drop_parts(state: ContextState, result: Result, dead: list) -> None:
    result.parts = [part for part in result.parts if part not in dead]
    result.stored = ""
    for part in dead:
        if not any(have[0] == part[0] for have in result.parts):
            _unlink(state.by_key, part[0], result.id)


def _count_false_expiration(state: ContextState, result: Result) -> None:
    if result.hash and result.kind != "ack":
        tier = state.recent.pop(result.kind + "|" + result.hash, None)
        if tier is not None:
            add(state.counts.false_expirations, tier, 1)
            lifetimes.lengthen(result, state)


# --- files ---------------------------------------------------------------------------------------------------------------------


def expire_file(state: ContextState, rules, path: str, trigger: str, why: str, by: str, decisions: list) -> None:
    """Ends what was read of a file; a result that shows other files too lives on until the last of them is gone."""
    key = "read:" + path
    for result in list(state.by_key.get(key, {}).values()):
        events_of = rules.tier_rule(result.tier).events | rules.tier_rule("medium").events
        if not may_expire(result) or ("commit" if trigger == "committed" else "edit") not in events_of:
            continue
        left = [part for part in result.parts if part[0] != key]
        if any(not part[0].startswith("search:") for part in left):  # another file, or a run: more than what was found beside it
            _drop_parts(state, result, [part for part in result.parts if part[0] == key])
        else:
            end(state, result, trigger, [_FILE_REASONS[trigger] + why], decisions, by)


_FILE_REASONS = {
    "edited": "its file was edited: ",
    "committed": "its file was committed: ",
    "changed_on_disk": "its file changed on disk: ",
}


def _touch_turn(state: ContextState) -> None:
    """An edit renews the files that were read in the same user turn."""
    for result in reversed(state.live.values()):
        if result.turn != state.turn:
            break  # turns follow each other in order of completion
        if result.kind == "read":
            result.touch(state.index)


def _touch_key(state: ContextState, key: str) -> None:
    for result in state.by_key.get(key, {}).values():
        result.touch(state.index)


def expire_committed(state: ContextState, rules, files: list | None, why: str, by: str, decisions: list) -> None:
    """Ends the reads of the files in a commit; every medium result where git cannot say what it holds."""
    if files is not None:
        for path in files:
            expire_file(state, rules, path, "committed", why, by, decisions)
        return
    for result in list(state.live.values()):
        if may_expire(result) and result.tier == "medium" and "commit" in rules.tier_rule("medium").events:
            end(state, result, "committed", ["a commit whose files git could not tell: " + why], decisions, by)


def _on_files_changed(state: ContextState, event, rules, decisions: list) -> None:
    state.at = event.at
    for path, how in event.changes.items():
        expire_file(state, rules, path, "changed_on_disk", how, "", decisions)


# --- age ----------------------------------------------------------------------------------------------------------------------


def expire_due(state: ContextState, rules, decisions: list, by: str = "") -> None:
    for result in list(state.due.pop(state.index, {}).values()):
        if state.live.get(result.id) is result and may_expire(result):
            calls = lifetimes.lifetime(result, state, rules)[0]
            age = state.index - result.index
            if age < calls:
                continue  # lengthened by this very call
            passed = "1 call has" if age == 1 else f"{age} calls have"
            end(state, result, "ttl_calls", [f"{passed} passed; {_lives(result, state, rules)} {calls}"], decisions, by)
    if state.timed:
        expire_timed(state, rules, decisions, by)


def expire_timed(state: ContextState, rules, decisions: list, by: str) -> None:
    for result in list(state.timed.values()):
        seconds = lifetimes.lifetime(result, state, rules)[1]
        if state.at - result.at >= seconds and may_expire(result):
            reason = f"{int(state.at - result.at)} s have passed; {_lives(result, state, rules)} {seconds:g} s"
            end(state, result, "ttl_seconds", [reason], decisions, by)


def _lives(result: Result, state: ContextState, rules) -> str:
    longer = lifetimes.factor_of(result, state) if rules.weighs else 1.0
    return f"{result.tier} lives" if longer == 1.0 else f"{result.tier} {lifetimes.kind_of(result)} results live here"


_HANDLERS = {"call": _on_call, "files_changed": _on_files_changed}
