"""The share of a budget that remains, in percent. Pure.

People see what is *used*; what is *remaining* chooses how much enters. This is the only place that turns one into the other.
"""

from __future__ import annotations

import math

# (the least remaining percent, the specification's name of the range), from the most generous down.
RANGES = ((80.0, ">80%"), (60.0, "60-80%"), (40.0, "40-60%"))
LEAST = "<40%"


def used_percent_of(percent: float | None) -> float:
    """Return a used percentage in its bounds: 0 for None and for negative numbers, 100 where it is no finite number."""
    if percent is None:
        return 0.0
    return 100.0 if math.isnan(percent) or percent == math.inf else max(0.0, percent)


def remaining_of(used_percent: float | None) -> float:
    """Return what remains, from 0 to 100 percent."""
    return max(0.0, 100.0 - used_percent_of(used_percent))


def range_of(remaining_percent: float) -> str:
    """Return the name of the range of a remaining percentage; the lowest for NaN."""
    return next((name for least, name in RANGES if remaining_percent >= least), LEAST)
