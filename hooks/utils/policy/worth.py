"""Estimate how likely a result is to be needed again, to choose the results worth clearing now. Pure.

The forgetting curve of the context is a logistic model over what the engine knows of a result: what it is, how long it has been quiet, its
size, what ended it. Its weights are learnt from recorded sessions (`benchmarks/lab/fitting.py`), where needed means: the assistant later
wrote a string that only this result held.

A result that leaves while the cache is cold saves all of its writing, and its tokens with every request to come. If it is needed again,
it has to be fetched: one more request over the whole prompt, and its tokens once more. While the cache is warm nothing goes: what is
behind the first change would be written again, all messages where that is far back, and over recorded sessions every rule that was tried
for it cost more than it brought (docs/measured.md). Where the model binds its thinking, what it thought behind the first change has to be
thought again. So results are valued one by one, and the place is chosen from which on it is worth most to clear whatever has a value.
"""

from __future__ import annotations

from math import exp, log, log1p

from . import kinds
from .economics import THINKING_AGAIN
from .tools import DELEGATE, FETCH, SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .context import ContextState, Result
    from .economics import Prices
    from .tools import Tools


# --- how likely it is needed again ---

SCHEMA = 2
_LEAST_TOKENS = 20
# Triggers of the engine, by what they say of a later need.
_ENDINGS = {
    "edited": "edited",
    "superseded": "replaced",
    "same_content": "replaced",
    "ttl_calls": "old",
    "ttl_seconds": "old",
    "committed": "settled",
    "changed_on_disk": "settled",
    "session_end": "settled",
}
_FAR = (DELEGATE, FETCH)

FEATURES = (
    "bias",
    *("kind " + kind for kind in kinds.LEARNT),
    *("quiet " + kind for kind in kinds.LEARNT),
    "quiet", "quiet squared", "age", "size", "quiet x size", "error", "touched", "calls", "turns",
    "edited", "since edited", "replaced", "since replaced", "old", "settled", "far", "shell read",
)  # fmt: skip


def features(result: Result, state: ContextState, tools: Tools) -> list[tuple[str, float]]:
    """Return [(name of FEATURES, value)] of a Result in a ContextState, zeros left out; `tools` of its host. Ages are in calls; ages and
    sizes as logarithms."""
    kind = kinds.learnt_as(result.kind)
    quiet = log1p(max(0, state.quiet_age(result)))
    size = log(max(_LEAST_TOKENS, result.tokens))
    values = [
        ("bias", 1.0), ("kind " + kind, 1.0), ("quiet " + kind, quiet), ("quiet", quiet), ("quiet squared", quiet * quiet),
        ("age", log1p(max(0, state.index - result.index))), ("size", size), ("quiet x size", quiet * size),
        ("calls", log1p(state.index)), ("turns", log1p(max(0, state.turn - result.turn))),
    ]  # fmt: skip
    if result.error:
        values.append(("error", 1.0))
    if state.touched(result):
        values.append(("touched", 1.0))
    operation = tools.of(result.tool).operation
    if operation in _FAR:
        values.append(("far", 1.0))
    elif kind == kinds.READ and operation == SHELL:
        values.append(("shell read", 1.0))
    if result.ended:
        ending = _ENDINGS.get(result.ended[0], "settled")
        values.append((ending, 1.0))
        if ending in ("edited", "replaced"):
            values.append(("since " + ending, log1p(max(0, state.index - result.ended[1]))))
    return values


class NeedModel:
    """Weights of the features; a weight that is missing is zero."""

    __slots__ = ("weights",)

    def __init__(self, weights: dict[str, float]):
        self.weights = weights

    def probability(self, result: Result, state: ContextState, tools: Tools) -> float:
        """Return how likely the result is needed again, from 0 to 1."""
        return self.probability_of(features(result, state, tools))

    def probability_of(self, values: list[tuple[str, float]]) -> float:
        """Return how likely a result with these `features` is needed again."""
        weights = self.weights
        total = sum([weights.get(name, 0.0) * value for name, value in values])
        return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, total))))

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "weights": {name: round(self.weights[name], 4) for name in FEATURES if self.weights.get(name)}}


def model_of(value: object) -> NeedModel:
    """Return a model from its plain values; ValueError when they are not one."""
    weights = value.get("weights") if isinstance(value, dict) and value.get("schema") == SCHEMA else None
    if not isinstance(weights, dict) or not weights:
        raise ValueError("not a model of need of schema " + str(SCHEMA))
    for name, weight in weights.items():
        if name not in FEATURES or isinstance(weight, bool) or not isinstance(weight, (int, float)) or not abs(weight) < 1e3:
            raise ValueError("not a weight: " + str(name)[:40])
    return NeedModel(weights)


# --- what its going is worth ---

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


class Tuned:
    """Constants chosen over recorded sessions: `ahead`, the number of requests over which savings count · `caution`: the weight of the cost
    of a miss."""

    __slots__ = ("ahead", "caution")

    def __init__(self, ahead: int, caution: float) -> None:
        self.ahead = ahead
        self.caution = caution


# For each price of a cache read and each lifetime of the cache the same came out best with at most one miss in a hundred requests:
# `python benchmarks/tuning.py --transcripts FOLDER`.
TUNED = Tuned(90, 0.7)


class Candidate:
    """A result that could go: its `tokens`, those of its `placeholder`, the chance that it is needed again (`need`, 0 to 1), and the
    `thinking` tokens behind it."""

    __slots__ = ("need", "placeholder", "result", "thinking", "tokens")

    def __init__(self, result: Result, tokens: int, placeholder: int, need: float, thinking: int = 0) -> None:
        self.result = result
        self.tokens = tokens
        self.placeholder = placeholder
        self.need = need
        self.thinking = thinking


class Situation:
    """The moment of a decision: tokens of the `prompt` as it would go out, the Prices, and what is `tuned` for them."""

    __slots__ = ("prices", "prompt", "tuned")

    def __init__(self, prompt: int, prices: Prices, tuned: Tuned = TUNED) -> None:
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
