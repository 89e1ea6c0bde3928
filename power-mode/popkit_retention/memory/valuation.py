"""Value items: by the specification's forgetting curve (part 2.1), its signals (1.1 to 1.3), the scores of the profiles.

Counts show which names a project needs again, and the specification's composite adds nothing to them. For prose neither helps; the
information in a sentence does. docs/measured.md has the figures. Pure: the time may be a parameter.
"""

from __future__ import annotations

import math
from datetime import datetime, timezone

from .items import ACCEPTED, CODE, SPEC, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .items import Item

DAY_S = 86_400.0


def days_between(earlier: datetime, later: datetime, fractional: bool = True) -> float:
    """Return the days from one moment to a later one, whole ones unless `fractional`; 0 where the clock was set back. A moment without a
    zone is in UTC."""
    zoned = [at if at.tzinfo else at.replace(tzinfo=timezone.utc) for at in (earlier, later)]
    span = zoned[1] - zoned[0]
    return max(0.0, span.total_seconds() / DAY_S if fractional else float(span.days))


class ForgettingCurveModel:
    """Ebbinghaus' curve with spaced repetition, over whole days. The history of reinforcements is kept in each item (`Item.reinforced`), so
    that it lasts as long as the item."""

    STRENGTH_INCREMENT = 0.5
    BASE_STRENGTH = 7.0  # days

    def calculate_memory_strength(self, item_id: str, reinforcements: int) -> float:
        """Return S in days: half as much again with every reinforcement."""
        return memory_strength(reinforcements)

    def calculate_retention_probability(
        self, item_id: str, last_accessed: datetime, reinforcements: int, now: datetime | None = None
    ) -> float:
        """Return the chance that it is still remembered, 0 to 1."""
        days = days_between(last_accessed, now or datetime.now(timezone.utc), fractional=False)
        return retention(days, self.calculate_memory_strength(item_id, reinforcements))

    def should_reinforce(
        self, item_id: str, last_accessed: datetime, current_reinforcements: int, threshold: float = 0.5, now: datetime | None = None
    ) -> bool:
        """Return whether it is about to be forgotten: the chance has fallen below the threshold."""
        return self.calculate_retention_probability(item_id, last_accessed, current_reinforcements, now) < threshold


_MOST = 1000  # reinforcements: beyond, a float overflows and the chance is 1 anyway


def retention(days: float, strength: float) -> float:
    """Return R = e^(-days/strength), to four decimals."""
    return round(math.exp(-days / strength), 4)


def memory_strength(reinforcements: int) -> float:
    """Return S in days, as `ForgettingCurveModel` calculates it."""
    return ForgettingCurveModel.BASE_STRENGTH * (1 + ForgettingCurveModel.STRENGTH_INCREMENT) ** min(reinforcements, _MOST)


def days_until(chance: float, reinforcements: int) -> float:
    """Return the number of days without an access after which the chance has fallen to this."""
    return -memory_strength(reinforcements) * math.log(chance)


WEIGHTS = {"retention_value": 0.35, "uniqueness": 0.25, "confidence": 0.20, "access_recency": 0.20}


class ValueClassification:
    """Four signals, each from 0 to 1, and their composite."""

    def __init__(self, retention_value: float, uniqueness: float, confidence: float, access_recency: float) -> None:
        self.retention_value = retention_value
        self.uniqueness = uniqueness
        self.confidence = confidence
        self.access_recency = access_recency

    def calculate_composite_score(self, weights: Mapping[str, float] | None = None) -> float:
        """Return the weighted sum, to four decimals. Raise KeyError where a weight is missing."""
        weights = WEIGHTS if weights is None else weights
        return round(sum(getattr(self, name) * weights[name] for name in WEIGHTS), 4)


class SignalCalculator:
    """The signals of an item.

    The specification counts whole days, so an item is new until its first day is over: a third of all items, and the steepest part of the
    curve. `fractional` counts parts of days; the job does so.
    """

    FORGETTING_LAMBDA = 0.1

    def __init__(self, fractional: bool = False) -> None:
        self.fractional = fractional

    def calculate_retention_value(self, access_history: Sequence[datetime], window_days: int = 30, now: datetime | None = None) -> float:
        """Return how often it was accessed, 0 to 1: 20 accesses today are 1, an older one counts e^(-0.05 · days). `window_days` is the
        specification's, which does not use it."""
        now = now or datetime.now(timezone.utc)
        weighted = sum(math.exp(-0.05 * days_between(at, now, self.fractional)) for at in access_history)
        return min(1.0, weighted / 20.0)

    def calculate_uniqueness(self, embedding: Sequence[float], all_embeddings: Sequence[Sequence[float]], top_k: int = 5) -> float:
        """Return how little it is like the `top_k` items nearest to it, 0 to 1; 1 where there is no other item. The specification's formula
        exceeds 1 where the nearest items point the other way (a negative cosine): the result is then 1."""
        if len(all_embeddings) < 2:
            return 1.0
        others = sorted((cosine(embedding, other) for other in all_embeddings if other != embedding), reverse=True)[:top_k]
        if not others:  # all are the same: the specification divides by zero
            return 0.0
        return round(min(1.0, max(0.0, 1.0 - sum(others) / len(others))), 4)

    def calculate_access_recency(self, last_accessed: datetime, reinforcement_events: int = 0, now: datetime | None = None) -> float:
        """Return how recently it was accessed, 0 to 1: e^(-0.1 · days), a tenth more for each reinforcement."""
        days = days_between(last_accessed, now or datetime.now(timezone.utc), self.fractional)
        return round(min(1.0, math.exp(-self.FORGETTING_LAMBDA * days) * (1.0 + 0.1 * reinforcement_events)), 4)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors; 0 where one has no length."""
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b)) / lengths if lengths else 0.0


# The strength that is worth a half. An item that was written once in one session is then worth less than a tenth.
HALF = 0.67
# The least worth of an item that the user has said to remember: the job never deletes it.
LEAST_OF_USER = 0.5

SIGNALS = SignalCalculator(fractional=True)


def _counted(item: Item) -> float:
    """Return how likely an item is wanted again, by counting alone."""
    return math.log(1 + item.writes) * math.log(1 + item.sessions)


def strength(item: Item) -> float:
    """Return how likely an item is wanted again, relative to its length; for ranking within one profile."""
    if item.profile == CODE:
        return _counted(item) / math.sqrt(len(item.text) + 2)
    return item.uniqueness * (1 + math.log(1 + item.access_count + item.reinforcements))


def score(item: Item, now: float) -> float:
    """Return what an item is worth, 0 to 1, to four decimals."""
    if item.profile == SPEC:
        return composite(item, now).calculate_composite_score()
    value = strength(item)
    worth = value / (value + HALF)
    return round(max(worth, LEAST_OF_USER) if item.source in (USER, ACCEPTED) else worth, 4)


def composite(item: Item, now: float) -> ValueClassification:
    """Return the specification's four signals of an item."""
    at = _moment(now)
    return ValueClassification(
        round(SIGNALS.calculate_retention_value([_moment(each) for each in item.accesses], now=at), 4),
        item.uniqueness,
        item.confidence,
        SIGNALS.calculate_access_recency(_moment(item.last_accessed), item.reinforcements, at),
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
