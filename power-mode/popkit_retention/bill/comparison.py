"""The ratio of two groups of sessions with its interval: Welch's t on logarithms. Pure.

Costs of sessions are skewed and differ by factors, so their logarithms are compared, and the difference of the means is the logarithm of
the ratio of two geometric means. The groups need not vary alike (B. L. Welch, 1947; degrees of freedom by F. E. Satterthwaite, 1946).
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95
LEAST = 2  # values of a group: fewer have no variance
_POWER_Z = 1.959964 + 0.841621  # of a claim at 5 % that is made 8 times of 10
_SMALLEST, _CLOSE, _MOST_STEPS = 1e-300, 1e-12, 1_000
_LARGEST = 700.0  # that has an exponential


class Comparison:
    """How the first group stands to the second: the `ratio`, and `low` and `high`, the ends of its interval. `spread`: the variance of
    both groups' logarithms together."""

    __slots__ = ("high", "low", "ratio", "spread")

    def __init__(self, ratio: float, low: float, high: float, spread: float) -> None:
        self.ratio = ratio
        self.low = low
        self.high = high
        self.spread = spread

    @property
    def is_claimed(self) -> bool:
        """Whether the interval leaves out that nothing has changed."""
        return self.low > 1 or self.high < 1

    def needed(self, change: float) -> int:
        """Return how many values of each group it would take to claim a change (0.1: by a tenth) 8 times of 10, at this spread."""
        return max(LEAST, math.ceil(_POWER_Z**2 * self.spread / math.log(1 - change) ** 2))


def compare(first: Sequence[float], second: Sequence[float]) -> Comparison | None:
    """Return how two groups of positive values compare; None where either has fewer than LEAST."""
    if min(len(first), len(second)) < LEAST:
        return None
    (mean, variance), (other, other_variance) = (_moments([math.log(value) for value in group]) for group in (first, second))
    share, other_share = variance / len(first), other_variance / len(second)
    error2 = share + other_share
    margin = 0.0
    if error2:
        freedom = error2**2 / (share**2 / (len(first) - 1) + other_share**2 / (len(second) - 1))
        margin = quantile(0.5 + LEVEL / 2, freedom) * math.sqrt(error2)
    difference = mean - other
    ratio, low, high = (math.exp(min(_LARGEST, max(-_LARGEST, difference + side * margin))) for side in (0, -1, 1))
    return Comparison(ratio, low, high, variance + other_variance)


def _moments(values: list[float]) -> tuple[float, float]:
    """Return (mean, variance of the sample)."""
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


# --- Student's t -----------------------------------------------------------------------------------------------------------------------


def quantile(share: float, freedom: float) -> float:
    """Return the value that Student's t with so many degrees of freedom stays below in this share of cases, at least 0.5. By Newton's
    method, which comes nearer from below with every step: above 0, the distribution function is concave."""
    value = 0.0
    for _ in range(_MOST_STEPS):
        step = (share - below(value, freedom)) / _density(value, freedom)
        value += step
        if step <= _CLOSE * value:
            break
    return value


def below(value: float, freedom: float) -> float:
    """Return in which share of cases Student's t stays below a value that is not negative."""
    return 1 - _beta_share(freedom / (freedom + value * value), freedom / 2, 0.5) / 2


def _density(value: float, freedom: float) -> float:
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - (freedom + 1) / 2 * math.log1p(value * value / freedom)
    return math.exp(log) / math.sqrt(freedom * math.pi)


def _beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) (NIST's Digital Library of Mathematical Functions, 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return what its continued fraction comes to, by Lentz's method."""
    value = upper = 1.0
    lower = 0.0
    for step in range(1, _MOST_STEPS):
        half, scale = step // 2, (a + step - 1) * (a + step)
        part = -(a + half) * (a + b + half) * x / scale if step % 2 else half * (b - half) * x / scale
        lower = 1 / _apart(1 + part * lower)
        upper = _apart(1 + part / upper)
        value *= upper * lower
        if abs(upper * lower - 1) < _CLOSE:
            break
    return 1 / value


def _apart(value: float) -> float:
    """Return a value that can be divided by."""
    return value if abs(value) > _SMALLEST else _SMALLEST
