"""Value what it brings that results leave now, by how likely each is needed again (need_model.py). Pure.

A result that leaves while the cache is cold saves all of its writing, and its tokens with every request to come. If it is needed again,
it has to be fetched: one more request over the whole prompt, and its tokens once more. While the cache is warm nothing goes: what is
behind the first change would be written again, all messages where that is far back, and over recorded sessions every rule that was tried
for it cost more than it brought (docs/measured.md). Where the model binds its thinking, what it thought behind the first change has to be
thought again. So results are valued one by one, and the place is chosen from which on it is worth most to clear whatever has a value.
"""

from __future__ import annotations

from .economics import THINKING_AGAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .context import Result
    from .economics import Prices


# Of a miss, asking again counts more than what comes back: it interrupts the work, be the result large or small.
INTERRUPTION = 3.0
# Output tokens that asking for a missed content takes.
MISS_OUTPUT = 150
# Results of fewer tokens are not worth their placeholder.
LEAST_TOKENS = 90
# Calls for which a result stays whatever it is worth: the work is about it now.
LEAST_QUIET = 4
# What is more likely needed again than not stays, whatever it is worth: nobody would understand why it left.
MOST_NEED = 0.5
# Triggers of a newer result that is in the context.
REPLACED = ("superseded", "same_content")


class Tuning:
    """Constants chosen over recorded sessions: `ahead`, the number of requests over which savings count · `caution`: the weight of the cost
    of a miss."""

    __slots__ = ("ahead", "caution")

    def __init__(self, ahead: int, caution: float) -> None:
        self.ahead = ahead
        self.caution = caution


# For each price of a cache read and each lifetime of the cache the same came out best with at most one miss in a hundred requests:
# `python benchmarks/tuning.py --transcripts FOLDER`.
TUNED = Tuning(90, 0.7)


class Candidate:
    """A result that could go: its `tokens`, those of its `placeholder`, the chance that it is needed again (`need`, 0 to 1), and the
    `thinking` tokens behind it."""

    __slots__ = ("need", "placeholder", "result", "thinking", "tokens")

    def __init__(self, result: Result, tokens: int, placeholder: int, need: float, thinking: int) -> None:
        self.result = result
        self.tokens = tokens
        self.placeholder = placeholder
        self.need = need
        self.thinking = thinking


class Situation:
    """The moment of a decision: tokens of the `prompt` as it would go out, the Prices, and what is `tuned` for them."""

    __slots__ = ("prices", "prompt", "tuned")

    def __init__(self, prompt: int, prices: Prices, tuned: Tuning) -> None:
        self.prompt = prompt
        self.prices = prices
        self.tuned = tuned


def is_in_use(result: Result, quiet_age: int) -> bool:
    """Return whether the work is about a result now: used within the last calls, unless a newer one has replaced it."""
    return quiet_age < LEAST_QUIET and not (result.ended and result.ended[0] in REPLACED)


def value(candidate: Candidate, situation: Situation) -> float:
    """Return what clearing a result is worth when the cache is cold, in units, without the thinking behind it."""
    prices, ahead = situation.prices, situation.tuned.ahead
    carried = prices.write + prices.read * ahead
    interruption = INTERRUPTION * (prices.read * situation.prompt + MISS_OUTPUT * prices.output)
    miss = candidate.tokens * carried + interruption
    return (candidate.tokens - candidate.placeholder) * carried - situation.tuned.caution * candidate.need * miss


def choose(valued: list[tuple[Candidate, float]], situation: Situation) -> list[Candidate]:
    """Return the Candidates that are worth clearing when the cache is cold, of [(Candidate, its value above 0)] in the order of the prompt;
    none where it is not worth it."""
    if not situation.prices.bound:
        return [candidate for candidate, _ in valued]
    best, begin, total = 0.0, None, 0.0
    for at in range(len(valued) - 1, -1, -1):
        candidate, units = valued[at]
        total += units
        net = total - THINKING_AGAIN * situation.prices.output * candidate.thinking
        if net > best:
            best, begin = net, at
    return [] if begin is None else [candidate for candidate, _ in valued[begin:]]
