"""Follow the windows of a plan's limits: how fast one fills, when it will be full if that goes on, and what share of it tokens are worth,
with the error of that, as a fit to one's own history has it. Pure.

A *column* is a model and how a token was used: the provider may count each differently, so what was never seen has no known weight.
"""

from __future__ import annotations

from .economics import LIKELY_REQUESTS, lifetime_of, plain, write_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .economics import Sum
    from .shapes import Share

    Column = tuple[str, str]
    Matrix = Sequence[Sequence[float]]

FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT = "five_hour", "seven_day", "spend_limit"
KINDS = (FIVE_HOUR, SEVEN_DAY, SPEND_LIMIT)
# Seconds from a window's beginning to its reset. A gateway does not say how long a spend limit runs.
LENGTHS_S = {FIVE_HOUR: 5 * 3_600, SEVEN_DAY: 7 * 86_400}
FULL = 100.0
# A fit of what tokens are worth needs so many windows of five hours (of a longer window, days).
LEAST_WINDOWS = 8
# What a pace needs: fewer readings, or readings of a shorter time, are a step of the figure and no slope.
LEAST_READINGS, LEAST_S = 3, 600.0
_MOST_FITTED = 200  # readings; every pair of them has a slope
# Resets that lie no further apart are of one window: the next one is hours later.
_SAME_S = 1_800.0


class Reading:
    """One reading of a window: its `kind`, the `percent` used, `at` which time, and when it resets (`resets_at`, 0.0 where that is not
    known). Times in seconds."""

    __slots__ = ("at", "kind", "percent", "resets_at")

    def __init__(self, kind: str, at: float, percent: float, resets_at: float) -> None:
        self.kind = kind
        self.at = at
        self.percent = percent
        self.resets_at = resets_at

    def is_of(self, other: Reading) -> bool:
        """Return whether both are of one window."""
        return self.kind == other.kind and abs(self.resets_at - other.resets_at) <= _SAME_S

    def holds(self, now: float) -> bool:
        """Return whether the window has not been reset since."""
        return not self.resets_at or now < self.resets_at


class Window:
    """The window of a kind that runs now: its `newest` reading, the `pace` in percent an hour, and when it will be full (`full_at`); None
    where that is not known, for `full_at` also where it resets before."""

    __slots__ = ("full_at", "newest", "pace")

    def __init__(self, newest: Reading, pace: float | None, full_at: float | None) -> None:
        self.newest = newest
        self.pace = pace
        self.full_at = full_at


def windows(readings: Iterable[Reading], now: float) -> list[Window]:
    """Return the windows that run now, in the order of `KINDS`. `readings`: of all kinds, in any order."""
    by_kind: dict[str, list[Reading]] = {}
    for reading in sorted(readings, key=lambda each: each.at):
        by_kind.setdefault(reading.kind, []).append(reading)
    running = []
    for kind in KINDS:
        of_kind = by_kind.get(kind)
        if of_kind and of_kind[-1].holds(now):
            newest = of_kind[-1]
            slope = pace([each for each in of_kind if each.is_of(newest)])
            running.append(Window(newest, slope, full_at(newest, slope, now)))
    return running


def count(readings: Iterable[Reading], kind: str) -> int:
    """Return how many windows of a kind readings are of."""
    before, total = None, 0
    for reading in sorted((each for each in readings if each.kind == kind), key=lambda each: each.at):
        total += before is None or not reading.is_of(before)
        before = reading
    return total


def pace(readings: Sequence[Reading]) -> float | None:
    """Return percent an hour: the median of the slopes between all pairs of readings of one window, in order of time. A few readings that
    are wrong, or a burst, do not move it. None where too little is known."""
    if len(readings) > _MOST_FITTED:
        step = (len(readings) - 1) / (_MOST_FITTED - 1)
        readings = [readings[round(number * step)] for number in range(_MOST_FITTED)]
    if len(readings) < LEAST_READINGS or readings[-1].at - readings[0].at < LEAST_S:
        return None
    slopes = sorted(
        (later.percent - earlier.percent) / (later.at - earlier.at)
        for number, later in enumerate(readings)
        for earlier in readings[:number]
        if later.at > earlier.at
    )
    middle = len(slopes) // 2
    median = slopes[middle] if len(slopes) % 2 else (slopes[middle - 1] + slopes[middle]) / 2
    return max(0.0, median * 3_600)


def full_at(newest: Reading, pace: float | None, now: float) -> float | None:
    """Return when a window will be full at a pace, never before `now` and never later than its reset; None where it resets before that, or
    where reset or pace are not known."""
    if not newest.resets_at or now >= newest.resets_at:
        return None
    if newest.percent >= FULL:
        return now
    if not pace:
        return None
    full = max(now, newest.at + (FULL - newest.percent) / pace * 3_600)
    return full if full < newest.resets_at else None


# --- what tokens are worth in a window ---------------------------------------------------------------------------------------------------

TOKEN_USES = ("plain", "read", "write_5m", "write_1h", "output")
# A sum is claimed only where its error is at most this share of it: then the intervals of two sums given as one and two do not cross.
WIDEST = 1 / 3
# However much history there is, requests and readings are not timed well enough to claim more (docs/measured.md).
LEAST_ERROR = 0.02
_MOST_COLUMNS = 100
_MOST = 1e15
_UNIT = 1e6  # tokens


def tokens_of(model: str, amounts: Mapping[str, float]) -> dict[Column, float]:
    """Return the tokens of a model's id, by TOKEN_USES, as columns."""
    return {(plain(model), kind): amount for kind, amount in amounts.items() if amount}


class Weights:
    """The fit of one kind of `window`: `values` (percent a million tokens) of its `columns`, their covariance twice, by how far they are
    `determined` at all and by how much they `varied` between parts of the history, and `t`, by which a standard deviation becomes an
    error: 95 % of such intervals hold the true value."""

    __slots__ = ("columns", "determined", "t", "values", "varied", "window")

    def __init__(
        self, window: str, columns: Sequence[Column], values: Sequence[float], covariances: tuple[Matrix, Matrix], t: float
    ) -> None:
        self.window = window
        self.columns = {column: place for place, column in enumerate(columns)}
        self.values = values
        self.determined, self.varied = covariances
        self.t = t

    def worth(self, tokens: Mapping[Column, float]) -> tuple[float, float] | None:
        """Return (percent of the window that tokens by column are, its error); None where one of the columns is unknown."""
        if any(amount and column not in self.columns for column, amount in tokens.items()):
            return None
        amounts = {self.columns[column]: amount / _UNIT for column, amount in tokens.items() if amount}
        total = sum(self.values[at] * amount for at, amount in amounts.items())
        several = [
            sum(a * b * matrix[i][j] for i, a in amounts.items() for j, b in amounts.items()) for matrix in (self.determined, self.varied)
        ]
        return total, max(self.t * max(*several, 0.0) ** 0.5, LEAST_ERROR * abs(total))

    def claimed(self, tokens: Mapping[Column, float]) -> Share | None:
        """Return the same as a claim; None also where the error is too wide to claim anything."""
        estimate = self.worth(tokens)
        if estimate is None or not estimate[0] or estimate[1] > WIDEST * abs(estimate[0]):
            return None
        return {"window": self.window, "percent": round(estimate[0], 4), "error": round(estimate[1], 4), "requests": 0}

    def to_json(self) -> dict[str, Any]:
        """Return what `weights_of` takes."""
        return {
            "window": self.window, "columns": [list(column) for column in self.columns], "values": [_short(value) for value in self.values],
            "determined": [[_short(value) for value in row] for row in self.determined],
            "varied": [[_short(value) for value in row] for row in self.varied], "t": self.t,
        }  # fmt: skip


def weights_of(stored: Any) -> Weights | None:
    """Return Weights from their JSON; None where it is anything else."""
    try:
        columns = [(model, kind) for model, kind in stored["columns"] if isinstance(model, str) and kind in TOKEN_USES]
        rows = [stored["values"], *stored["determined"], *stored["varied"], [stored["t"]]]
        numbers = [value for row in rows for value in row]
        sizes = [len(row) for row in rows]
    except (KeyError, TypeError, ValueError):
        return None
    size = len(columns)
    if not 0 < size <= _MOST_COLUMNS or sizes != [size] * (1 + 2 * size) + [1] or not all(map(_is_number, numbers)):
        return None
    return Weights(str(stored.get("window")), columns, stored["values"], (stored["determined"], stored["varied"]), stored["t"])


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < _MOST  # type: ignore[arg-type]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


# --- what something is worth -------------------------------------------------------------------------------------------------------------


def share_of_amounts(several: Iterable[Weights], model: str, amounts: Mapping[str, float], requests: int = 0) -> Share | None:
    """Return what tokens of a model, by TOKEN_USES, are of the first window of which that can be claimed; None where it can be of none.
    `requests`: over how many that is, where it is over any."""
    share = share_of(several, tokens_of(model, amounts))
    return share and {**share, "requests": requests}


def share_of(several: Iterable[Weights], tokens: Mapping[Column, float]) -> Share | None:
    """Return the same of tokens by column."""
    claims = (weights.claimed(tokens) for weights in several)
    return next((claim for claim in claims if claim is not None), None)


def share_of_clear(several: Iterable[Weights], sum: Sum, thinking: float = 0.0) -> Share | None:
    """Return what a clear leaves in a window, less what it takes of it, over the requests that usually follow while the cache is warm;
    thinking that leaves is reckoned as if it were all thought again. `thinking`: tokens of it beside those of the sum."""
    requests = LIKELY_REQUESTS[sum.cache_ttl_s]
    removed = sum.leaves + sum.thinking if sum.leaves > 0 else 0
    write = write_kind(sum.cache_ttl_s)
    amounts: dict[str, float] = {write: removed, "read": removed * (requests - 1)}
    if sum.warm:
        amounts = {write: -sum.rewritten, "read": sum.rewritten + removed * requests}
    return share_of_amounts(several, sum.model, {**amounts, "output": -sum.thinking - thinking}, requests)


def share_of_reads(several: Iterable[Weights], model: str, ttl_s: float, tokens: int) -> Share | None:
    """Return what so many tokens fewer in each prompt leave in a window, over the requests that usually follow while the cache is warm."""
    requests = LIKELY_REQUESTS[lifetime_of(ttl_s)]
    return share_of_amounts(several, model, {"read": tokens * requests}, requests)
