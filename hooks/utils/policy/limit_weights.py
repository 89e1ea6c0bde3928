"""What tokens are worth in a window of the plan, in percent of it and with the error of that, as a fit to one's own history has it. Pure.

A *column* is a model and how a token was used: the provider may count each differently, so what was never seen has no known weight.
"""

from __future__ import annotations

from .economics import LIKELY_REQUESTS, lifetime_of, write_kind
from .models import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .economics import Sum
    from .shapes import Share

    Column = tuple[str, str]
    Matrix = Sequence[Sequence[float]]

KINDS = ("plain", "read", "write_5m", "write_1h", "output")
# A sum is claimed only where its error is at most this share of it: then of two that are told as one and two, the intervals do not cross.
WIDEST = 1 / 3
# However much history there is, requests and readings are not timed so well that more could be told (docs/measured.md).
LEAST_ERROR = 0.02
_MOST_COLUMNS = 100
_MOST = 1e15
_UNIT = 1e6  # tokens


def tokens_of(model: str, amounts: Mapping[str, float]) -> dict[Column, float]:
    """Return the tokens of a model's id, by KINDS, as columns."""
    return {(plain(model), kind): amount for kind, amount in amounts.items() if amount}


class Weights:
    """The fit of one kind of `window`: `values` (percent a million tokens) of its `columns`, their covariance twice, by how far they are
    `determined` at all and by how much they `varied` between parts of the history, and `t`, by which a standard deviation becomes an
    error: 95 % of such intervals hold what is so."""

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
        found = sum(self.values[at] * amount for at, amount in amounts.items())
        several = [
            sum(a * b * matrix[i][j] for i, a in amounts.items() for j, b in amounts.items()) for matrix in (self.determined, self.varied)
        ]
        return found, max(self.t * max(*several, 0.0) ** 0.5, LEAST_ERROR * abs(found))

    def claimed(self, tokens: Mapping[Column, float]) -> Share | None:
        """Return the same as a claim; None also where the error is too wide to claim anything."""
        found = self.worth(tokens)
        if found is None or not found[0] or found[1] > WIDEST * abs(found[0]):
            return None
        return {"window": self.window, "percent": round(found[0], 4), "error": round(found[1], 4), "requests": 0}

    def to_json(self) -> dict[str, Any]:
        """Return what `weights_of` takes."""
        return {
            "window": self.window, "columns": [list(column) for column in self.columns], "values": [_short(value) for value in self.values],
            "determined": [[_short(value) for value in row] for row in self.determined],
            "varied": [[_short(value) for value in row] for row in self.varied], "t": self.t,
        }  # fmt: skip


def weights_of(told: Any) -> Weights | None:
    """Return Weights from their JSON; None where it is anything else."""
    try:
        columns = [(model, kind) for model, kind in told["columns"] if isinstance(model, str) and kind in KINDS]
        rows = [told["values"], *told["determined"], *told["varied"], [told["t"]]]
        numbers = [value for row in rows for value in row]
        sizes = [len(row) for row in rows]
    except (KeyError, TypeError, ValueError):
        return None
    size = len(columns)
    if not 0 < size <= _MOST_COLUMNS or sizes != [size] * (1 + 2 * size) + [1] or not all(map(_is_number, numbers)):
        return None
    return Weights(str(told.get("window")), columns, told["values"], (told["determined"], told["varied"]), told["t"])


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < _MOST  # type: ignore[arg-type]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


# --- what something is worth -------------------------------------------------------------------------------------------------------------


def share(several: Iterable[Weights], model: str, amounts: Mapping[str, float], requests: int = 0) -> Share | None:
    """Return what tokens of a model, by KINDS, are of the first window of which that can be claimed; None where it can be of none.
    `requests`: over how many that is, where it is over any."""
    found = share_of(several, tokens_of(model, amounts))
    return found and {**found, "requests": requests}


def share_of(several: Iterable[Weights], tokens: Mapping[Column, float]) -> Share | None:
    """Return the same of tokens by column."""
    claims = (weights.claimed(tokens) for weights in several)
    return next((claim for claim in claims if claim is not None), None)


def share_of_clear(several: Iterable[Weights], sum: Sum, thinking: float = 0.0) -> Share | None:
    """Return what a clear leaves in a window, less what it takes of it, over the requests that usually follow while the cache is warm;
    thinking that leaves is reckoned as if it were all thought again. `thinking`: tokens of it beside those of the sum."""
    requests = LIKELY_REQUESTS[sum.cache_ttl_s]
    gone = sum.leaves + sum.thinking if sum.leaves > 0 else 0
    write = write_kind(sum.cache_ttl_s)
    amounts: dict[str, float] = {write: gone, "read": gone * (requests - 1)}
    if sum.warm:
        amounts = {write: -sum.rewritten, "read": sum.rewritten + gone * requests}
    return share(several, sum.model, {**amounts, "output": -sum.thinking - thinking}, requests)


def share_of_reads(several: Iterable[Weights], model: str, ttl_s: float, tokens: int) -> Share | None:
    """Return what so many tokens fewer in each prompt leave in a window, over the requests that usually follow while the cache is warm."""
    requests = LIKELY_REQUESTS[lifetime_of(ttl_s)]
    return share(several, model, {"read": tokens * requests}, requests)
