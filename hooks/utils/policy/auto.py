"""Which results are worth clearing now: the expected value of every one, and the best place to begin. Pure.

A result that leaves saves its tokens with every request to come, and all of its writing when the cache is cold anyway. If it is needed
again, it has to be fetched: one more request over the whole prompt, and its tokens once more. While the cache is warm everything behind
the first result that leaves is written again. So results are valued one by one, and where the cache is warm the place is chosen from
which on it is worth most to clear whatever has a value: early, while little lies behind it.
"""

from __future__ import annotations

from .economics import PRICE_READ, lifetime_of, write_price

# Requests over which savings are reckoned, by the lifetime of the cache: chosen with the cautions below over recorded sessions, for what
# came of it. From any request 32 and 57 follow in the mean before the cache goes cold, a compaction or the end
# (`python benchmarks/remaining_requests.py --transcripts FOLDER`); more where there is much to clear, for those sessions are long.
REQUESTS_AHEAD = {300: 45, 3_600: 74}
# A miss counts this many times what it costs: more carries more and misses less. Chosen where misses stay near one in a hundred requests.
CAUTION = {300: 1.0, 3_600: 1.0}
# Of a miss, asking again counts more than what comes back: it interrupts the work, be the result large or small.
INTERRUPTION = 3.0
# A rewrite counts this many times what it costs: it is paid for certain and at once, what it earns is a guess about what follows.
REWRITE_CAUTION = {300: 2.0, 3_600: 3.0}
# Output tokens that asking for a missed content takes, at five units each.
MISS_OUTPUT_UNITS = 150 * 5.0
# Results of fewer tokens are not worth their placeholder.
LEAST_TOKENS = 90
# Calls for which a result stays whatever it is worth: the work is about it now.
LEAST_QUIET = 4
# What is more likely needed again than not stays, whatever it is worth: nobody would understand its going.
MOST_NEED = 0.5
# Ends by a newer result that stands in the context.
REPLACED = ("superseded", "same_content")


class Candidate:
    """A result that could go: its `tokens`, those of its `placeholder`, the `prefix` of the prompt before it (tokens), and the chance
    that it is needed again (`need`, 0 to 1)."""

    __slots__ = ("need", "placeholder", "prefix", "result", "tokens")

    def __init__(self, result, tokens: int, placeholder: int, prefix: int, need: float):
        self.result = result
        self.tokens = tokens
        self.placeholder = placeholder
        self.prefix = prefix
        self.need = need


class Situation:
    """When it is decided: tokens of the `prompt` as it would go out, of which the last request has `sent` the beginning; whether the cache
    is `cold`; its lifetime."""

    __slots__ = ("cold", "prompt", "sent", "ttl_s")

    def __init__(self, prompt: int, sent: int, cold: bool, ttl_s: float):
        self.prompt = prompt
        self.sent = sent
        self.cold = cold
        self.ttl_s = lifetime_of(ttl_s)


def may_go(result, state) -> bool:
    """Whether a result that the model has seen may be cleared unasked: not what is pinned, preserved, cleared already, or in use."""
    if result.pinned or result.cleared or (result.tier == "preserved" and result.ended is None):
        return False
    return state.quiet_age(result) >= LEAST_QUIET or bool(result.ended and result.ended[0] in REPLACED)


def value(candidate: Candidate, situation: Situation, caution: float | None = None) -> float:
    """What clearing a result is worth, in units, the rewrite of what stands behind it apart."""
    follow = REQUESTS_AHEAD[situation.ttl_s]
    write = write_price(situation.ttl_s)
    gain = candidate.tokens - candidate.placeholder
    saved = gain * (PRICE_READ * follow + (write if situation.cold else 0.0))
    asked = INTERRUPTION * (PRICE_READ * situation.prompt + MISS_OUTPUT_UNITS)
    missed = candidate.tokens * (write + PRICE_READ * follow) + asked
    return saved - (CAUTION[situation.ttl_s] if caution is None else caution) * candidate.need * missed


def worth_more_gone(candidates: list, situation: Situation, caution: float | None = None) -> list:
    """The candidates whose clearing has a value, the rewrite apart, in the order given."""
    return [candidate for candidate, _ in _valued(candidates, situation, caution)]


def _valued(candidates: list, situation: Situation, caution: float | None) -> list:
    fit = [candidate for candidate in candidates if candidate.tokens >= LEAST_TOKENS and candidate.need <= MOST_NEED]
    worth = [(candidate, value(candidate, situation, caution)) for candidate in fit]
    return [(candidate, units) for candidate, units in worth if units > 0]


def choose(candidates: list, situation: Situation, caution: float | None = None) -> list:
    """The candidates that are worth clearing now, in the order given, which is that of the prompt; none where it is not worth it."""
    worth = _valued(candidates, situation, caution)
    if situation.cold:
        return [candidate for candidate, _ in worth]
    dearer = REWRITE_CAUTION[situation.ttl_s] * (write_price(situation.ttl_s) - PRICE_READ)
    best, begin, total, leaving, staying = 0.0, None, 0.0, 0, 0
    for place in range(len(worth) - 1, -1, -1):
        candidate, units = worth[place]
        total += units
        # What the last request has not sent is written for the first time anyway.
        if candidate.prefix < situation.sent:
            leaving += min(candidate.tokens, situation.sent - candidate.prefix)
            staying += candidate.placeholder
        rewritten = max(0, situation.sent - candidate.prefix - leaving) + staying
        if total - dearer * rewritten > best:
            best, begin = total - dearer * rewritten, place
    return [] if begin is None else [candidate for candidate, _ in worth[begin:]]
