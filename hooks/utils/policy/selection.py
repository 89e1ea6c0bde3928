"""Which results a clear takes. Pure.

Under a profile of fixed lifetimes what has expired and is past its grace: the chance that a result is needed again falls with its quiet
age, and what was superseded by something that stands in the context needs none. Under `auto` what is worth more gone than kept, live or
expired (auto.py). A tier or ids force: they take live results too, preserved ones only when these are named. What is pinned never goes,
nor what is hardly larger than its placeholder.
"""

from __future__ import annotations

from . import auto, globs
from .context import ContextState, Result
from .estimate import estimate_tokens
from .outline import most_tokens
from .placeholder import placeholder

# In a few words, for the placeholder: why a result went.
_WHY = {
    "edited": "edited later",
    "committed": "committed later",
    "changed_on_disk": "changed on disk later",
    "superseded": "a newer one follows",
    "same_content": "the same follows",
    "ttl_calls": "old",
    "ttl_seconds": "old",
    "session_end": "an earlier session",
    "manual": "by the user",
}
# Tokens: for less, a placeholder is more to read than what it saves, unless the user forces it.
LEAST_GAIN = 50


class Asked:
    """What the user asked a clear to take: a tier, ids, or a path pattern ("" and () for none); `now` overrides the grace."""

    __slots__ = ("ids", "now", "pattern", "tier")

    def __init__(self, tier: str = "", ids: tuple = (), pattern: str = "", now: bool = False):
        self.tier = tier
        self.ids = ids
        self.pattern = pattern
        self.now = now

    @property
    def forces(self) -> bool:
        return bool(self.tier or self.ids)


class Selection:
    """Results that go, expired ones that are held back for now, those not worth a placeholder, and those that a pin holds. `needs`: id of a
    result that was weighed -> how likely it is needed again."""

    __slots__ = ("early", "going", "needs", "pinned", "small")

    def __init__(self):
        self.going: list = []
        self.early: list = []
        self.small: list = []
        self.pinned: list = []
        self.needs: dict = {}


def select(state: ContextState, rules, asked: Asked) -> Selection:
    """What a clear of this context takes, in order of completion, by lifetime and grace, or by force. Results that placeholders stand for
    already are not looked at."""
    chosen = Selection()
    for result in _in_order(state):
        if result.cleared or not _is_meant(result, asked):
            continue
        if result.pinned:
            chosen.pinned.append(result)
        elif gain(result, state.calibration, rules) < (1 if asked.forces else LEAST_GAIN):
            chosen.small.append(result)
        elif not (asked.forces or asked.now) and state.quiet_age(result) < grace(result, rules):
            chosen.early.append(result)
        else:
            chosen.going.append(result)
    return chosen


def weigh(state: ContextState, rules, asked: Asked, situation: auto.Situation, prefixes: dict, model) -> tuple:
    """(Selection, whether it pays) by expected value: what is worth clearing now, else, as what does not pay, what is worth it but for the
    rewrite; with `now` that and all that has expired. `prefixes`: id of a result that the model has seen -> tokens of the prompt before it;
    `model` says how likely one is needed again."""
    chosen, eligible = Selection(), []
    for result in _in_order(state):
        if result.cleared or (asked.pattern and not _matches(result, asked.pattern)):
            continue
        if result.pinned:
            if result.ended or asked.pattern:
                chosen.pinned.append(result)
        elif gain(result, state.calibration, rules) < LEAST_GAIN:
            if result.ended:
                chosen.small.append(result)
        else:
            eligible.append(result)
    free = [result for result in eligible if result.id in prefixes and auto.may_go(result, state)]
    chosen.needs = {result.id: model.probability(result, state) for result in free}
    candidates = [_candidate(result, state, rules, prefixes[result.id], chosen.needs[result.id]) for result in free]
    worth = auto.choose(candidates, situation)
    picked = {candidate.result.id for candidate in worth or auto.worth_more_gone(candidates, situation)}
    for result in eligible:
        if result.id in picked or (asked.now and result.ended and result.id in prefixes):
            chosen.going.append(result)
        elif result.ended:
            chosen.early.append(result)
    return chosen, bool(worth)


def _candidate(result: Result, state: ContextState, rules, prefix: int, need: float) -> auto.Candidate:
    stays = placeholder_tokens(result, state.calibration, rules)
    return auto.Candidate(result, round(result.tokens * state.calibration), stays, prefix, need)


def _in_order(state: ContextState) -> list:
    return sorted([*state.live.values(), *state.expired.values()], key=lambda result: result.index)


def _is_meant(result: Result, asked: Asked) -> bool:
    if asked.ids:
        return result.id in asked.ids
    if asked.tier:
        return result.tier == asked.tier
    if result.ended is None:
        return bool(result.pinned and asked.pattern and _matches(result, asked.pattern))
    return not asked.pattern or _matches(result, asked.pattern)


def _matches(result: Result, pattern: str) -> bool:
    return any(globs.matches(pattern, subject) for subject in result.subjects)


def grace(result: Result, rules) -> int:
    """The quiet age, in calls, that an expired result must have before it goes unasked."""
    if result.ended is None or result.ended[0] in auto.REPLACED:
        return 0
    kind = result.kind.partition(":")[0]
    return rules.grace_calls.get(kind, rules.grace_calls["other"])


def why(result: Result, quiet_age: int | None = None) -> str:
    """Why a result goes, in a few words; `quiet_age` of a live one that nobody named."""
    if result.ended:
        return _WHY.get(result.ended[0], "expired")
    return _WHY["manual"] if quiet_age is None else f"unused for {quiet_age} call{'' if quiet_age == 1 else 's'}"


def placeholder_tokens(result: Result, calibration: float, rules) -> int:
    """Estimated tokens of what takes a result's place: under `auto` with an outline, counted as long as it may be."""
    kept = most_tokens(round(result.tokens * calibration)) if rules.weighs else 0
    return kept + estimate_tokens(placeholder(result.label, why(result), "a" * 8))


def gain(result: Result, calibration: float, rules) -> int:
    """Tokens that leave the context with a result, what takes its place counted."""
    return round(result.tokens * calibration) - placeholder_tokens(result, calibration, rules)
