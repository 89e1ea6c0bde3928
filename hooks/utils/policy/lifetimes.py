"""How long results live by age: as their tier says, and under `auto` longer where their kind was needed again after it had expired. Pure.

Each such false expiration (fetched again unchanged, or restored) makes the kind live a quarter longer, up to nearly four times as long: in
its tier's TTL, and in the quiet age by which it is judged whether it is needed again (need.py). So many that expire and are not needed take
one back: what lasts is a share of false expirations, not a count that only rises. Every profile learns, `auto` goes by it.
"""

from __future__ import annotations

LONGER = 1.25
# Points of a false expiration; a result that expires takes one.
POINTS = 20
MOST_POINTS = 6 * POINTS
LONGEST = LONGER ** (MOST_POINTS // POINTS)


def kind_of(result) -> str:
    """The kind of a result without its family."""
    return result.kind.partition(":")[0]


def factor(points: int) -> float:
    """How many times as long a kind with so many points lives."""
    return LONGER ** (min(points, MOST_POINTS) / POINTS)


def factor_of(result, state) -> float:
    """How many times as long results like this one live in this context."""
    return factor(state.lifetimes.get(kind_of(result), 0)) if state.lifetimes else 1.0


def lifetime(result, state, rules) -> tuple:
    """(calls, seconds) after which a result ends by age, None for never."""
    rule = rules.tier_rule(result.tier)
    if not state.lifetimes or not rules.weighs:
        return rule.ttl_calls, rule.ttl_s
    longer = factor_of(result, state)
    return rule.ttl_calls and int(rule.ttl_calls * longer), rule.ttl_s and int(rule.ttl_s * longer)


def lengthen(result, state) -> None:
    """A result was needed again after it had expired: its kind lives longer from now on."""
    state.lifetimes = changed(state.lifetimes, {kind_of(result): POINTS})


def shorten(result, state) -> None:
    """A result has expired; until it is needed again, that was right."""
    if state.lifetimes:
        state.lifetimes = changed(state.lifetimes, {kind_of(result): -1})


def changed(points: dict, by: dict) -> dict:
    """kind -> points, changed by so many each."""
    new = {kind: max(0, min(MOST_POINTS, points.get(kind, 0) + by.get(kind, 0))) for kind in {**points, **by}}
    return {kind: have for kind, have in new.items() if have}


def understood(value: object) -> dict:
    """kind -> points, from plain values; what is not understood is left out."""
    items = value.items() if isinstance(value, dict) else ()
    return {kind: points for kind, points in items if isinstance(kind, str) and type(points) is int and 0 < points <= MOST_POINTS}
