"""Plan which results leave the conversation before the next request. Pure.

Under a profile of fixed lifetimes what has expired goes once it is past its grace. Under `auto` what costs more to keep than to clear goes,
live or expired (worth.py), once the cache is cold; while it is warm, that waits. Where there is a goal, what leaves a cold cache goes on
as a compaction does: what has expired, then what is needed least (least_needed.py). A tier or ids force: they take live results
too, preserved ones only when these are named. What is pinned never goes, nor what is hardly larger than its placeholder, but pictures in
place: a conversation that is built again holds text alone, so they go with whatever goes. Unasked the newest run of a thing stays where no
line says how it went, because its command did other things as well.
"""

from __future__ import annotations

from . import globs, kinds, least_needed, worth
from .economics import LIKELY_REQUESTS, Change, Prices, Sum, pays
from .placeholder import placeholder_tokens
from .plans import CLEAR, HOLD, KEEP, Decision, Plan, Selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .context import Result
    from .conversation import Conversation
    from .least_needed import Goal
    from .need_model import NeedModel
    from .ruleset import Ruleset


# Tokens: for less, a placeholder is more to read than what it saves, unless the user forces it.
LEAST_GAIN = 50
_LINE_AND_RUN = 2  # subjects of a command line that does one thing
# A placeholder takes at most this share of its result, and this where the user forces it.
MOST_SHARE, MOST_FORCED = 0.5, 0.75


def plan(
    conversation: Conversation, selection: Selection, now: float, model: NeedModel, prices: Prices, cold: bool | None = None,
    tuned: worth.Tuning = worth.TUNED, in_place: bool = False, goal: Goal | None = None,
) -> Plan:  # fmt: skip
    """Return what a clear of this conversation takes at `now` (seconds). `model` says how likely a result is needed again; `cold`: whether
    the next request finds no cache, None for what the clock says; `tuned`: other constants than those that are shipped. `in_place`: as a
    compaction, after which all messages are written again and no thinking is left. `goal`: what stays where what is needed least may go,
    too; None where a clear takes nothing but what it is to take."""
    if cold is None:
        cold = not conversation.last.is_warm(now)
    rules, state = conversation.rules, conversation.state
    decisions = []
    for result in conversation.results():
        if not result.cleared:
            tokens = round(result.tokens * state.calibration)
            decisions.append(Decision(result, KEEP, "live", tokens, placeholder_tokens(result, state.calibration, rules)))
    plan = Plan(selection, prices, decisions)
    if selection.forces or not rules.weighs:
        _by_lifetime(conversation, selection, decisions)
        _hold_what_is_leaned_on(conversation, decisions)
    else:
        _settle(plan, conversation, model, tuned, cold, in_place)
        plan.likely_requests = tuned.ahead
    if in_place and not plan.is_empty:
        _take_pictures(conversation, plan)
    plan.sum = _sum(conversation, plan, cold, in_place)
    if selection.forces or not rules.weighs:
        plan.likely_requests = LIKELY_REQUESTS[prices.ttl_s]
        plan.pays = pays(plan.sum, plan.likely_requests)
    if goal is not None and in_place and not (selection.forces or selection.pattern) and goal.applies(conversation, cold):
        _go_on(plan, conversation, model, tuned, goal, cold)
    return plan


def _by_lifetime(conversation: Conversation, selection: Selection, decisions: list[Decision]) -> None:
    last = last_words(conversation)
    for decision in decisions:
        result = decision.result
        if result.pinned:
            decision.reason = "pinned"
        elif not _is_meant(result, selection):
            decision.reason = "preserved" if result.tier == "preserved" and not result.ended else "live"
        elif _is_small(decision, selection):
            decision.reason = "small"
        elif not selection.forces and result.id in last:
            decision.reason = "last_word"
        elif not (selection.forces or selection.now) and conversation.state.quiet_age(result) < grace(result, conversation.rules):
            decision.action, decision.reason = HOLD, "grace"
        else:
            decision.action, decision.reason = CLEAR, "asked" if selection.forces else "expired"


def _is_small(decision: Decision, selection: Selection) -> bool:
    return is_small(decision.result, decision.tokens, decision.placeholder, selection.forces)


def is_small(result: Result, tokens: int, placeholder: int, forced: bool = False) -> bool:
    """Return whether a result of so many `tokens` is hardly larger than its `placeholder`; `forced`: the user wants it to go."""
    share, least = (MOST_FORCED, 1) if forced else (MOST_SHARE, LEAST_GAIN)
    # The share is of what was estimated: a calibration would favour the result.
    return tokens - placeholder < least or placeholder > result.tokens * share


def last_words(conversation: Conversation) -> set[str]:
    """Ids of the newest run of each thing whose verdict may be another command's: its line did more than this run."""
    newest: dict[str, Result] = {}
    for result in conversation.results():
        for part in result.parts:
            if part[0].startswith("run:"):
                newest[part[0]] = result
    return {result.id for result in newest.values() if len(result.subjects) > _LINE_AND_RUN}


def _is_meant(result: Result, selection: Selection) -> bool:
    if selection.ids:
        return result.id in selection.ids
    if selection.tier:
        return result.tier == selection.tier
    return result.ended is not None and (not selection.pattern or matches(result, selection.pattern))


def matches(result: Result, pattern: str) -> bool:
    """Return whether a path pattern means a result."""
    return any(globs.matches(pattern, subject) for subject in result.subjects)


def grace(result: Result, rules: Ruleset) -> int:
    """Return the quiet age, in calls, that an expired result must have before it goes by itself under a profile of fixed lifetimes."""
    if result.ended is None or result.ended[0] in worth.REPLACED:
        return 0
    return rules.grace_calls.get(kinds.name_of(result.kind), rules.grace_calls[kinds.OTHER])


def _settle(plan: Plan, conversation: Conversation, model: NeedModel, tuned: worth.Tuning, cold: bool, in_place: bool) -> None:
    """Decide by worth. In place, what a first look takes changes what the rest is worth: the prompt is shorter, no thinking is left, what
    referred to others is gone. So the look is repeated until it takes no more, for a clear that follows would take it at once."""
    thinking: int | None = conversation.thinking if in_place else None
    prompt = conversation.prompt
    while True:
        taken = len(plan.going)
        situation = worth.Situation(prompt, plan.prices, tuned)
        plan.pays = _by_worth(conversation, plan.selection, plan.decisions, model, situation, cold, thinking)
        _hold_what_is_leaned_on(conversation, plan.decisions)
        if not in_place or len(plan.going) <= taken:
            return
        going = {result.id for result in plan.going}
        most = sum([decision.tokens for decision in plan.decisions if decision.result.id in going])  # placeholders may be shorter
        thought = conversation.thinking if plan.prices.bound else 0
        prompt, thinking = max(0, conversation.prompt - thought - most), 0


def _go_on(plan: Plan, conversation: Conversation, model: NeedModel, tuned: worth.Tuning, goal: Goal, cold: bool) -> None:
    """Let a plan go on to what a compaction takes, where either pays: as soon as anything leaves, no thinking is left, so
    what leaves with it costs no more of that."""
    room = least_needed.room(conversation, plan.decisions, plan.prices, goal, cold)
    plan.needs = sum([model.probability(one.result, conversation.state, conversation.rules.tools) for one in plan.decisions])
    if plan.pays and cold:
        plan.share = 1.0
    if not (room.sum.leaves >= plan.sum.leaves + LEAST_GAIN if plan.pays else room.pays(LEAST_GAIN)):
        return
    plan.tokens, plan.least = room.tokens, 0 if plan.pays else round(room.least)
    thought = conversation.thinking if plan.prices.bound else 0
    # So much may leave, for placeholders are shorter than they are reckoned: what is worth clearing once it has is so at once.
    most, taken = (1 - room.share) * room.tokens, -1
    while len(plan.going) > taken:
        taken = len(plan.going)
        if conversation.rules.weighs:
            prompt = max(0, conversation.prompt - thought - round(most))
            _by_worth(conversation, plan.selection, plan.decisions, model, worth.Situation(prompt, plan.prices, tuned), True, 0)
        for decision in plan.decisions:
            if decision.action != CLEAR and _has_ended(decision) and conversation.state.index - decision.result.index >= worth.LEAST_QUIET:
                decision.action, decision.reason = CLEAR, "with_others"
        _hold_what_is_leaned_on(conversation, plan.decisions)
        most = max(most, sum([decision.tokens for decision in plan.having(CLEAR)]))
    _take_pictures(conversation, plan)
    further = room.sum.leaves - sum([decision.gain for decision in plan.having(CLEAR)])
    plan.further, plan.share = (further, room.share) if further >= LEAST_GAIN else (0, 1.0)
    plan.pays = not plan.is_empty
    plan.sum = _sum(conversation, plan, cold, True)


def _take_pictures(conversation: Conversation, plan: Plan) -> None:
    """Let what shows more than text leave with what leaves, even where it is pinned."""
    action = HOLD if plan.going and not plan.having(CLEAR) else CLEAR
    for decision in plan.decisions:
        if decision.result.id in conversation.pictures:
            decision.action, decision.reason = action, "not_text"


def _by_worth(
    conversation: Conversation, selection: Selection, decisions: list[Decision], model: NeedModel, situation: worth.Situation, cold: bool,
    thinking: int | None,
) -> bool:  # fmt: skip
    """Fill in the decisions and return whether anything is worth clearing now. `thinking`: tokens of it that leave with any result; None
    for those behind it."""
    valued, last = [], last_words(conversation)
    for decision in decisions:
        decision.action, decision.reason = KEEP, _why_it_stays(decision, conversation, selection, last)
        if not decision.reason:
            candidate = _candidate(decision, conversation, model, thinking)
            decision.value = worth.value(candidate, situation)
            if candidate.need > worth.MOST_NEED:
                decision.reason = "likely"
            elif decision.value <= 0:
                decision.reason = "worth_keeping"
            else:
                decision.action, decision.reason = HOLD, "waits"
                valued.append((candidate, decision.value))
    chosen = {candidate.result.id for candidate in worth.choose(valued, situation)}
    for decision in decisions:
        if decision.action == HOLD and decision.result.id not in chosen:
            decision.action, decision.reason = KEEP, "thinking"
        elif decision.action == HOLD and cold:
            decision.action, decision.reason = CLEAR, "worth"
        if decision.action != CLEAR and selection.now and (decision.action == HOLD or _has_ended(decision)):
            decision.action, decision.reason = CLEAR, "asked"
    return bool(chosen) and cold


def _why_it_stays(decision: Decision, conversation: Conversation, selection: Selection, last: set[str]) -> str:
    """Return why a result stays whatever it is worth; "" where it may go."""
    result = decision.result
    if result.pinned:
        return "pinned"
    if selection.pattern and not matches(result, selection.pattern):
        return "live"
    if result.tier == "preserved" and result.ended is None:
        return "preserved"
    if not conversation.is_seen(result.id):
        return "unseen"
    if _is_small(decision, selection) or decision.tokens < worth.LEAST_TOKENS:
        return "small"
    if result.id in last:
        return "last_word"
    return "in_use" if worth.is_in_use(result, conversation.state.quiet_age(result)) else ""


def _candidate(decision: Decision, conversation: Conversation, model: NeedModel, thinking: int | None) -> worth.Candidate:
    if decision.need is None:
        decision.need = model.probability(decision.result, conversation.state, conversation.rules.tools)
    if thinking is None:
        thinking = conversation.thinking_behind(decision.result.id)
    return worth.Candidate(decision.result, decision.tokens, decision.placeholder, decision.need, thinking)


def _has_ended(decision: Decision) -> bool:
    """Return whether a result that stays has expired, and may go when the user says now."""
    return decision.result.ended is not None and decision.reason not in ("pinned", "small", "unseen", "live", "last_word")


def _hold_what_is_leaned_on(conversation: Conversation, decisions: list[Decision]) -> None:
    """Keep each result that one that stays refers to, even where the user named it; both may go at once."""
    ranks = {KEEP: 0, HOLD: 1, CLEAR: 2}
    leaning = [(decision, conversation.entered[decision.result.id].leans_on) for decision in decisions
               if decision.result.id in conversation.entered]  # fmt: skip
    by_id = {decision.result.id: decision for decision in decisions}
    for decision, leans_on in reversed(leaning):  # references look back: the newest first
        for id in leans_on:
            below = by_id.get(id)
            if below is not None and ranks[below.action] > ranks[decision.action]:
                below.action, below.reason = decision.action, "leaned_on"


def _sum(conversation: Conversation, plan: Plan, cold: bool, in_place: bool) -> Sum:
    going, decisions, prices = plan.going, plan.decisions, plan.prices
    ids = {result.id for result in going}
    chosen = [decision for decision in decisions if decision.result.id in ids]
    leaving, staying = (sum([getattr(decision, name) for decision in chosen]) for name in ("tokens", "placeholder"))
    prompt, prefix, back, thinking = conversation.stands, 0, 0, 0
    first = next((result for result in going if result.id in conversation.places), None)
    if first is not None:
        # Measured, but never so much that the results which stay behind would not fit.
        behind = [decision.tokens for decision in decisions if decision.result.index > first.index and decision.result.id not in ids]
        prefix = min(conversation.places[first.id].prefix, max(0, prompt - leaving - sum(behind)))
        back, thinking = conversation.requests_behind(first.id), conversation.thinking_behind(first.id)
    if in_place and not plan.is_empty:
        prefix, thinking = min(conversation.base, prompt), conversation.thinking
    change = Change(prompt, leaving + plan.further, staying, prefix, not cold, conversation.base, back, thinking if prices.bound else 0)
    return Sum(change, prices)
