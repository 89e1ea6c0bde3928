"""Apply the events of a context that are not calls: files change, time passes, the user decides, the session is folded or ends. Pure."""

from __future__ import annotations

from . import file_changes, lifecycle
from .context import OUTSIDE, ContextState, add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import events
    from .context import Result
    from .lifecycle import Decision
    from .ruleset import Ruleset

CLEARED_BY_USER = "cleared by the user"
# Why the host says that a session ends when its client only turns to another one, or loads the same again: nothing has ended by that.
_LEFT = ("clear", "resume")
# Results that live for the session describe a working tree that somebody works on: a day's work has pauses, and ends with the night.
RESUMED_WITHIN_S = 12 * 3600.0
_NEEDED = "needed again: it was restored"


def _on_tick(state: ContextState, event: events.Tick, rules: Ruleset, decisions: list[Decision]) -> None:
    state.at = max(state.at, event.at)
    if state.closed and state.at - state.closed >= RESUMED_WITHIN_S:
        _end_session(state, rules, decisions)
    lifecycle.expire_timed(state, rules, decisions, "")


def _on_prompted(state: ContextState, event: events.Prompted, rules: Ruleset, decisions: list[Decision]) -> None:
    state.prompted = True


def _on_compacted(state: ContextState, event: events.Compacted, rules: Ruleset, decisions: list[Decision]) -> None:
    """End everything before a compaction but what the host carried over: it is out of the context, nothing is left to reclaim."""
    state.at = event.at
    state.epoch += 1
    dropped = [result for result in state.live.values() if result.id not in event.kept]
    for result in dropped:
        lifecycle.leave(state, result)
        decisions.append(lifecycle.Decision("compact", result, "compacted", state.index, ["the conversation was compacted"]))
    state.expired = {id: result for id, result in state.expired.items() if id in event.kept}
    state.recent = {}
    turns = {str(result.turn) for result in state.live.values()}
    state.edits = {turn: index for turn, index in state.edits.items() if turn in turns}


def _on_came_back(state: ContextState, event: events.CameBack, rules: Ruleset, decisions: list[Decision]) -> None:
    """Take results in again that were out of the context; the calls are not counted again."""
    state.at = max(state.at, event.at)
    for result in event.results:
        result.stored = ""
        (state.expired if result.ended else state.live)[result.id] = result
    state.live = dict(sorted(state.live.items(), key=lambda item: item[1].index))
    lifecycle.reindex(state, rules)


def _on_client_ended(state: ContextState, event: events.ClientEnded, rules: Ruleset, decisions: list[Decision]) -> None:
    state.at = event.at
    if event.why not in _LEFT:
        state.closed = event.at


def _on_resumed(state: ContextState, event: events.Resumed, rules: Ruleset, decisions: list[Decision]) -> None:
    state.at = max(state.at, event.at)
    go_on(state, rules, decisions)


def go_on(state: ContextState, rules: Ruleset, decisions: list[Decision]) -> None:
    """End what lived for the session where it goes on so late after the end of its client that it had ended by then."""
    if state.closed and state.at - state.closed >= RESUMED_WITHIN_S:
        _end_session(state, rules, decisions)
    state.closed = 0.0


def _on_session_ended(state: ContextState, event: events.SessionEnded, rules: Ruleset, decisions: list[Decision]) -> None:
    state.at = event.at
    _end_session(state, rules, decisions)


def _end_session(state: ContextState, rules: Ruleset, decisions: list[Decision]) -> None:
    state.closed = 0.0
    for result in list(state.live.values()):
        if lifecycle.may_expire(result) and "session_end" in rules.tier_rule(result.tier).events:
            lifecycle.end(state, result, "session_end", ["the session ended"], decisions)


def _on_pinned(state: ContextState, event: events.Pinned, rules: Ruleset, decisions: list[Decision]) -> None:
    if event.target not in state.pins:
        state.pins.append(event.target)
    held = [result for result in state.expired.values() if not result.cleared and lifecycle.is_pinned(state, result, rules)]
    ends = [result.ended for result in held]
    _revive(state, held, rules, "pinned", "pinned: " + event.target, decisions)
    for result, ended in zip(held, ends):
        result.ended = ended  # for the time when nothing holds it any more


def _revive(state: ContextState, results: list[Result], rules: Ruleset, trigger: str, reason: str, decisions: list[Decision]) -> None:
    for result in results:
        del state.expired[result.id]
        result.ended = None
        result.stored = ""
        state.live[result.id] = result
        decisions.append(lifecycle.Decision("revive", result, trigger, state.index, [reason]))
    state.live = dict(sorted(state.live.items(), key=lambda item: item[1].index))  # in order of completion, as ever
    lifecycle.reindex(state, rules)


def _on_unpinned(state: ContextState, event: events.Unpinned, rules: Ruleset, decisions: list[Decision]) -> None:
    """End again, as before, what had ended before it was pinned."""
    state.pins = [target for target in state.pins if target != event.target]
    lifecycle.reindex(state, rules)
    for result in list(state.live.values()):
        if result.ended and not result.pinned:
            lifecycle.leave(state, result)
            state.expired[result.id] = result
            decisions.append(lifecycle.Decision("release", result, result.ended[0], state.index, list(result.reasons)))


def _on_manual_clear(state: ContextState, event: events.ManualClear, rules: Ruleset, decisions: list[Decision]) -> None:
    state.at = event.at
    for id in event.ids:
        result = state.live.get(id)
        if result is not None and not result.pinned:
            lifecycle.end(state, result, "manual", [event.reasons.get(id) or CLEARED_BY_USER], decisions)
        elif id in state.expired and event.reasons.get(id, "") not in ("", *state.expired[id].reasons):
            state.expired[id].reasons.append(event.reasons[id])


def _on_entered(state: ContextState, event: events.Entered, rules: Ruleset, decisions: list[Decision]) -> None:
    """Count a result that has entered shorter as what entered, from the beginning."""
    result = state.live.get(event.id) or state.expired.get(event.id)
    if result is None:
        return
    tokens = state.in_units(event.tokens)
    less = tokens - result.tokens
    add(state.counts.results_tokens, result.tier, less)
    if event.id in state.expired:
        add(state.counts.expired_tokens, result.tier, less)
    result.tokens = tokens
    result.stored = ""


def _on_cleared(state: ContextState, event: events.Cleared, rules: Ruleset, decisions: list[Decision]) -> None:
    """Take out of the context the results that placeholders have replaced, whatever their lifetimes say."""
    for id, handle in event.handles.items():
        result = state.live.get(id)
        if result is not None:
            lifecycle.end(state, result, "manual", [CLEARED_BY_USER], decisions)
        if id in state.expired:
            state.expired[id].cleared = handle


def _on_cleared_outside(state: ContextState, event: events.ClearedOutside, rules: Ruleset, decisions: list[Decision]) -> None:
    """Take out of the context what the provider or the host took out: their placeholders replace it, not ours."""
    state.at = event.at
    for id in event.ids:
        result = state.live.get(id)
        if result is not None:
            lifecycle.end(state, result, "manual", [event.how or "cleared outside the transcript"], decisions)
        if id in state.expired and not state.expired[id].cleared:
            state.expired[id].cleared = OUTSIDE


def _on_restored(state: ContextState, event: events.Restored, rules: Ruleset, decisions: list[Decision]) -> None:
    """Count an end as a mistake, whatever ended it. Back in its place the result is held for a while; a printed copy is a result of its
    own."""
    state.at = event.at
    result = state.expired.get(event.id)
    if result is None:
        return
    if _NEEDED not in result.reasons:  # asked for once more, it is still one mistake
        result.reasons.append(_NEEDED)
        add(state.counts.false_expirations, result.tier, 1)
    if event.in_place:
        result.cleared = ""
        result.touch(state.index)
        state.holds[event.id] = state.index + rules.restore_hold_calls
        _revive(state, [result], rules, "restored", "restored by the user", decisions)


def _on_undone(state: ContextState, event: events.Undone, rules: Ruleset, decisions: list[Decision]) -> None:
    """Revive what was live until the clear, which no longer counts as ended."""
    state.at = event.at
    back = [state.expired[id] for id in dict.fromkeys(event.ids) if id in state.expired]
    for result in back:
        result.cleared = ""
    alive = [result for result in back if result.ended and result.ended[0] == "manual"]
    for result in alive:
        add(state.counts.expired, result.tier, -1)
        add(state.counts.expired_tokens, result.tier, -result.tokens)
        add(state.counts.triggers, "manual", -1)
    _revive(state, alive, rules, "undone", "the clear was undone", decisions)


def _on_profile_chosen(state: ContextState, event: events.ProfileChosen, rules: Ruleset, decisions: list[Decision]) -> None:
    """Apply shorter lifetimes at once; longer ones revive nothing."""
    state.at = event.at
    state.profile = event.profile
    for result in list(state.live.values()):
        calls = rules.tier_rule(result.tier).ttl_calls
        if calls is not None and state.index >= result.index + calls and lifecycle.may_expire(result):
            lifecycle.end_by_calls(state, rules, result, decisions, under=f" under {rules.profile}")
    lifecycle.reindex(state, rules)
    lifecycle.expire_timed(state, rules, decisions, "")


HANDLERS: dict[str, lifecycle.Handler] = {
    "files_changed": file_changes.on_files_changed,
    "prompted": _on_prompted,
    "compacted": _on_compacted,
    "came_back": _on_came_back,
    "client_ended": _on_client_ended,
    "resumed": _on_resumed,
    "session_ended": _on_session_ended,
    "pinned": _on_pinned,
    "unpinned": _on_unpinned,
    "manual_clear": _on_manual_clear,
    "entered": _on_entered,
    "cleared": _on_cleared,
    "cleared_outside": _on_cleared_outside,
    "restored": _on_restored,
    "undone": _on_undone,
    "profile_chosen": _on_profile_chosen,
    "tick": _on_tick,
}
