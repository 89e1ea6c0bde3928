"""How memories fade: R = e^(-t/S), a strength S that grows with every reinforcement. The specification's part 2.1. Pure: the time may be
passed in."""

from __future__ import annotations

import math
from datetime import datetime, timezone

DAY_S = 86_400.0


def days_between(earlier: datetime, later: datetime, fractional: bool = True) -> float:
    """Days from one moment to a later one, whole ones unless `fractional`; none where a clock has leapt back. A moment without a zone is
    one of UTC."""
    zoned = [at if at.tzinfo else at.replace(tzinfo=timezone.utc) for at in (earlier, later)]
    span = zoned[1] - zoned[0]
    return max(0.0, span.total_seconds() / DAY_S if fractional else float(span.days))


class ForgettingCurveModel:
    """Ebbinghaus' curve with spaced repetition. `fractional` as of SignalCalculator."""

    STRENGTH_INCREMENT = 0.5
    BASE_STRENGTH = 7.0  # days

    def __init__(self, fractional: bool = False) -> None:
        self.fractional = fractional
        self.reinforcement_history: dict[str, list[datetime]] = {}

    def calculate_memory_strength(self, item_id: str, reinforcements: int) -> float:
        """S in days: half as much again with every reinforcement."""
        return strength(reinforcements)

    def calculate_retention_probability(
        self, item_id: str, last_accessed: datetime, reinforcements: int, now: datetime | None = None
    ) -> float:
        """The chance that it is still remembered, 0 to 1."""
        days = days_between(last_accessed, now or datetime.now(timezone.utc), self.fractional)
        return retention(days, self.calculate_memory_strength(item_id, reinforcements))

    def should_reinforce(
        self, item_id: str, last_accessed: datetime, current_reinforcements: int, threshold: float = 0.5, now: datetime | None = None
    ) -> bool:
        """Whether it is about to be forgotten: the chance has fallen below the threshold."""
        return self.calculate_retention_probability(item_id, last_accessed, current_reinforcements, now) < threshold


_MOST = 1000  # reinforcements: beyond, a float overflows and the chance is 1 anyway


def retention(days: float, strength: float) -> float:
    """R = e^(-days/strength), to four decimals."""
    return round(math.exp(-days / strength), 4)


def strength(reinforcements: int) -> float:
    """S in days, as `ForgettingCurveModel` reckons it."""
    return ForgettingCurveModel.BASE_STRENGTH * (1 + ForgettingCurveModel.STRENGTH_INCREMENT) ** min(reinforcements, _MOST)


def days_until(chance: float, reinforcements: int) -> float:
    """After how many days without an access the chance has fallen to this."""
    return -strength(reinforcements) * math.log(chance)
