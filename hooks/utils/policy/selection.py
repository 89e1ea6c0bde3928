"""Which results a clear takes. Pure.

By default what has expired and is past its grace: the chance that a result is needed again falls with its quiet age, and what was
superseded by something that stands in the context needs none. A tier or ids force: they take live results too, preserved ones only
when these are named. What is pinned never goes, nor what is hardly larger than its placeholder.
"""

from __future__ import annotations

from . import globs
from .context import ContextState, Result
from .estimate import estimate_tokens
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
# The newer result that ended these stands in the context.
_REPLACED = ("superseded", "same_content")


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
    """Results that go, those that grace still holds back, those not worth a placeholder, and those that a pin holds."""

    __slots__ = ("early", "going", "pinned", "small")

    def __init__(self):
        self.going: list = []
        self.early: list = []
        self.small: list = []
        self.pinned: list = []


def select(state: ContextState, rules, asked: Asked) -> Selection:
    """What a clear of this context takes, in order of completion. Results that placeholders stand for already are not looked at."""
    chosen = Selection()
    both = sorted([*state.live.values(), *state.expired.values()], key=lambda result: result.index)
    for result in both:
        if result.cleared or not _is_meant(result, asked):
            continue
        if result.pinned:
            chosen.pinned.append(result)
        elif gain(result, state.calibration) < (1 if asked.forces else LEAST_GAIN):
            chosen.small.append(result)
        elif not (asked.forces or asked.now) and state.quiet_age(result) < grace(result, rules):
            chosen.early.append(result)
        else:
            chosen.going.append(result)
    return chosen


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
    if result.ended is None or result.ended[0] in _REPLACED:
        return 0
    kind = result.kind.partition(":")[0]
    return rules.grace_calls.get(kind, rules.grace_calls["other"])


def why(result: Result) -> str:
    """Why a result goes, in a few words."""
    return _WHY.get(result.ended[0], "expired") if result.ended else _WHY["manual"]


def placeholder_tokens(result: Result) -> int:
    """Estimated tokens of the placeholder that takes a result's place."""
    return estimate_tokens(placeholder(result.label, why(result), "a" * 8))


def gain(result: Result, calibration: float) -> int:
    """Tokens that leave the context with a result, its placeholder counted."""
    return round(result.tokens * calibration) - placeholder_tokens(result)
