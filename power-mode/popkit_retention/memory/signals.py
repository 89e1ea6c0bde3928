"""The four signals of an item's value, and their weighted sum: the specification's parts 1.1 to 1.3. Pure: the time may be passed in."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .forgetting import days_between

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WEIGHTS = {"retention_value": 0.35, "uniqueness": 0.25, "confidence": 0.20, "access_recency": 0.20}


class ValueClassification:
    """Four signals, each from 0 to 1, and what they come to."""

    def __init__(self, retention_value: float, uniqueness: float, confidence: float, access_recency: float) -> None:
        self.retention_value = retention_value
        self.uniqueness = uniqueness
        self.confidence = confidence
        self.access_recency = access_recency

    def calculate_composite_score(self, weights: Mapping[str, float] | None = None) -> float:
        """The weighted sum, to four decimals. KeyError where a weight is missing."""
        weights = WEIGHTS if weights is None else weights
        return round(sum(getattr(self, name) * weights[name] for name in WEIGHTS), 4)


class SignalCalculator:
    """The signals, from what is known of an item.

    The specification counts whole days, under which an item is new until its first day is over: a third of all items, and the steepest part
    of the curve. `fractional` counts parts of days; the job does.
    """

    FORGETTING_LAMBDA = 0.1

    def __init__(self, fractional: bool = False) -> None:
        self.fractional = fractional

    def calculate_retention_value(self, access_history: Sequence[datetime], window_days: int = 30, now: datetime | None = None) -> float:
        """How often it was asked for, 0 to 1: 20 accesses today are 1, an older one counts e^(-0.05 · days). `window_days` is the
        specification's, which does not use it."""
        now = now or datetime.now(timezone.utc)
        weighted = sum(math.exp(-0.05 * days_between(at, now, self.fractional)) for at in access_history)
        return min(1.0, weighted / 20.0)

    def calculate_uniqueness(self, embedding: Sequence[float], all_embeddings: Sequence[Sequence[float]], top_k: int = 5) -> float:
        """How little it is like the `top_k` items nearest to it, 0 to 1; 1 where there is nothing else."""
        if len(all_embeddings) < 2:
            return 1.0
        others = sorted((cosine(embedding, other) for other in all_embeddings if other != embedding), reverse=True)[:top_k]
        if not others:  # all are the same: the specification divides by zero
            return 0.0
        return round(max(0.0, 1.0 - sum(others) / len(others)), 4)

    def calculate_access_recency(self, last_accessed: datetime, reinforcement_events: int = 0, now: datetime | None = None) -> float:
        """How lately it was asked for, 0 to 1: e^(-0.1 · days), a tenth more for each reinforcement."""
        days = days_between(last_accessed, now or datetime.now(timezone.utc), self.fractional)
        return round(min(1.0, math.exp(-self.FORGETTING_LAMBDA * days) * (1.0 + 0.1 * reinforcement_events)), 4)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of the angle between two vectors; 0 where one has no length."""
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b)) / lengths if lengths else 0.0
