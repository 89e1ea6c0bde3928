"""Estimate how likely a result is needed again. Pure.

The forgetting curve of the context is a logistic model over what the engine knows of a result: what it is, how long it has been quiet, its
size, what ended it. Its weights are learnt from recorded sessions (`benchmarks/lab/fitting.py`), where needed means: the assistant later
wrote a string that only this result held.
"""

from __future__ import annotations

from math import exp, log, log1p

from . import kinds
from .tools import DELEGATE, FETCH, SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .context import ContextState, Result
    from .tools import Tools


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
_OF_KINDS = {kind: ("kind " + kind, "quiet " + kind) for kind in kinds.LEARNT}
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
    index, touched = state.index, state.touched(result)
    quiet = log1p(max(0, index - max(result.index, touched)))
    size = log(max(_LEAST_TOKENS, result.tokens))
    of_kind, quiet_of_kind = _OF_KINDS[kind]
    values = [
        ("bias", 1.0), (of_kind, 1.0), (quiet_of_kind, quiet), ("quiet", quiet), ("quiet squared", quiet * quiet),
        ("age", log1p(max(0, index - result.index))), ("size", size), ("quiet x size", quiet * size),
        ("calls", log1p(index)), ("turns", log1p(max(0, state.turn - result.turn))),
    ]  # fmt: skip
    if result.error:
        values.append(("error", 1.0))
    if touched:
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

    def to_json(self) -> dict[str, object]:
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
