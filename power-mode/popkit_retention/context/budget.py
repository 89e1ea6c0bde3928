"""What is used of a budget, and what remains. Pure.

People see what is *used*; what is *remaining* chooses how much enters. This is the only place that turns one into the other.
"""

from __future__ import annotations

import math


def used_percent_of(percent: float | None) -> float:
    """A used percentage as it counts: nothing is used where nobody has said, everything where it is no number; never below 0."""
    if percent is None:
        return 0.0
    return 100.0 if math.isnan(percent) or percent == math.inf else max(0.0, percent)


def remaining_of(used_percent: float | None) -> float:
    """What remains, from 0 to 100 percent."""
    return max(0.0, 100.0 - used_percent_of(used_percent))
