"""Which of several limits holds, and what is left of a budget. Pure.

People see what is *used*; what is *remaining* chooses how much enters. This is the only place that turns one into the other.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Limit(NamedTuple):
    """A limit of tokens and what of it is used; `limit` None or not above 0: there is none. `name` says which (session, month)."""

    name: str
    limit: float | None
    used: float


class Budget(NamedTuple):
    """The most restrictive limit: percent of it that are used (above 100 when it is exceeded), and its name, "" where there is no limit."""

    used_percent: float
    name: str = ""

    @property
    def remaining_percent(self) -> float:
        return remaining_of(self.used_percent)


def budget_of(*limits: Limit) -> Budget:
    """The Budget under these limits: of several the one of which the greatest share is used."""
    found = Budget(0.0)
    for name, limit, used in limits:
        if limit is not None and limit > 0 and math.isfinite(limit):
            percent = used_percent_of(100.0 * used / limit)
            if percent > found.used_percent or not found.name:
                found = Budget(percent, name)
    return found


def used_percent_of(percent: float | None) -> float:
    """A used percentage as it counts: nothing is used where nobody has said, everything where it is no number; never below 0."""
    if percent is None:
        return 0.0
    return 100.0 if math.isnan(percent) or percent == math.inf else max(0.0, percent)


def remaining_of(used_percent: float | None) -> float:
    """What remains, from 0 to 100 percent."""
    return max(0.0, 100.0 - used_percent_of(used_percent))
