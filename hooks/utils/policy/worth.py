"""Which results are worth clearing now: the expected value of every one, and the best place to begin. Pure.

A result that leaves saves its tokens with every request to come, and all of its writing when the cache is cold anyway. If it is needed
again, it has to be fetched: one more request over the whole prompt, and its tokens once more. While the cache is warm, what stands behind
the first result that leaves is written again, all messages where that is far back. Where the model binds its thinking, what it thought
behind that place has to be thought again. So results are valued one by one, and the place is chosen from which on it is worth most to
clear whatever has a value: early, while little lies behind it.
"""

from __future__ import annotations

from .economics import kept_prefix

# Of a miss, asking again counts more than what comes back: it interrupts the work, be the result large or small.
INTERRUPTION = 3.0
# Output tokens that asking for a missed content takes.
MISS_OUTPUT = 150
# Results of fewer tokens are not worth their placeholder.
LEAST_TOKENS = 90
# Calls for which a result stays whatever it is worth: the work is about it now.
LEAST_QUIET = 4
# What is more likely needed again than not stays, whatever it is worth: nobody would understand its going.
MOST_NEED = 0.5
# Ends by a newer result that stands in the context.
REPLACED = ("superseded", "same_content")


class Tuned:
    """What is chosen over recorded sessions for one price: `ahead`, the requests over which savings are reckoned · `caution`: a miss counts
    so many times what it costs · `rewrite_caution`: so does a rewrite, which is paid for certain and at once, while what it earns is a
    guess; None where nothing goes while the cache is warm."""

    __slots__ = ("ahead", "caution", "rewrite_caution")

    def __init__(self, ahead: int, caution: float, rewrite_caution: float | None) -> None:
        self.ahead = ahead
        self.caution = caution
        self.rewrite_caution = rewrite_caution


# (price of a cache read, lifetime of the cache) -> Tuned: by `python benchmarks/tuning.py --transcripts FOLDER`.
TUNED = {
    (0.1, 300): Tuned(45, 1.0, 2.0),
    (0.1, 3_600): Tuned(74, 1.0, 3.0),
    (0.05, 300): Tuned(45, 1.0, 2.0),
    (0.05, 3_600): Tuned(74, 1.0, 3.0),
    (0.025, 300): Tuned(45, 1.0, 2.0),
    (0.025, 3_600): Tuned(74, 1.0, 3.0),
}


def tuned_for(prices) -> Tuned:
    """What is chosen for these Prices: that of the nearest price of a cache read."""
    read = min({read for read, _ in TUNED}, key=lambda read: abs(read - prices.read))
    return TUNED[read, prices.ttl_s]


class Candidate:
    """A result that could go: its `tokens`, those of its `placeholder`, the chance that it is needed again (`need`, 0 to 1), and where it
    stands: behind `prefix` tokens, which a request ended with `requests_back` requests ago; `thinking` tokens stand behind it."""

    __slots__ = ("need", "placeholder", "prefix", "requests_back", "result", "thinking", "tokens")

    def __init__(self, result, tokens: int, placeholder: int, prefix: int, need: float, requests_back: int = 0, thinking: int = 0) -> None:
        self.result = result
        self.tokens = tokens
        self.placeholder = placeholder
        self.prefix = prefix
        self.need = need
        self.requests_back = requests_back
        self.thinking = thinking


class Situation:
    """When it is decided: tokens of the `prompt` as it would go out, of which the last request has `sent` the beginning, `base` of them
    system and tools; whether the cache is `cold`; the Prices."""

    __slots__ = ("base", "cold", "prices", "prompt", "sent", "tuned")

    def __init__(self, prompt: int, sent: int, cold: bool, prices, base: int = 0, tuned: Tuned | None = None) -> None:
        self.prompt = prompt
        self.sent = sent
        self.cold = cold
        self.prices = prices
        self.base = base
        self.tuned = tuned or tuned_for(prices)


def is_in_use(result, quiet_age: int) -> bool:
    """Whether the work is about a result now: used within the last calls, unless a newer one has replaced it."""
    return quiet_age < LEAST_QUIET and not (result.ended and result.ended[0] in REPLACED)


def value(candidate: Candidate, situation: Situation) -> float:
    """What clearing a result is worth, in units; the rewrite and the thinking behind it apart."""
    prices, ahead = situation.prices, situation.tuned.ahead
    gain = candidate.tokens - candidate.placeholder
    saved = gain * (prices.read * ahead + (prices.write if situation.cold else 0.0))
    asked = INTERRUPTION * (prices.read * situation.prompt + MISS_OUTPUT * prices.output)
    missed = candidate.tokens * (prices.write + prices.read * ahead) + asked
    return saved - situation.tuned.caution * candidate.need * missed


def choose(valued: list, situation: Situation) -> list:
    """Of [(Candidate, its value above 0)] in the order of the prompt those Candidates that are worth clearing now; none where it is not
    worth it."""
    prices, weight = situation.prices, situation.tuned.rewrite_caution
    if not situation.cold and weight is None:
        return []
    dearer = 0.0 if situation.cold else weight * (prices.write - prices.read)
    best, begin, total, leaving, staying = 0.0, None, 0.0, 0, 0
    for at in range(len(valued) - 1, -1, -1):
        candidate, units = valued[at]
        total += units
        # What the last request has not sent is written for the first time anyway.
        if candidate.prefix < situation.sent:
            leaving += min(candidate.tokens, situation.sent - candidate.prefix)
            staying += candidate.placeholder
        kept = kept_prefix(candidate.prefix, situation.base, candidate.requests_back)
        rewritten = max(0, situation.sent - kept - leaving) + staying
        net = total - dearer * rewritten - (prices.output * candidate.thinking if prices.bound else 0.0)
        if net > best:
            best, begin = net, at
    return [] if begin is None else [candidate for candidate, _ in valued[begin:]]
