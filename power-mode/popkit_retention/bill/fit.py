"""How many tokens of a kind move a limit's window by how much: fitted from one's own readings and requests. Pure.

A reading is a whole percent, and requests are known to ten minutes. So a movement is taken between times at which the readings around agree
within `_MOST_DOUBT`, of one window, and laid beside the tokens between them. The weights are those of the least squared difference that are
not negative. The error of a sum is the larger of two: by how far the weights are determined at all (kinds that always move together are
not told apart), and by how much they change when a block of the history is left out (what the weights do not know of, as another model).
"""

from __future__ import annotations

from hooks.utils.policy.limits import FIVE_HOUR

from .digests import SLOT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hooks.utils.policy.limits import Reading

    from .digests import Digest

    Vector = Sequence[float]

KINDS = ("plain", "read", "written", "output")
# A sum is claimed only where its error is at most this share of it: then of two that are told as one and two, the intervals do not cross.
WIDEST = 1 / 3
# A fit needs so many blocks (windows of five hours; of a longer window, days) and so many movements.
LEAST_BLOCKS, LEAST_MOVEMENTS = 8, 24
# Of all movement, the share at most that may come while nothing runs on this machine.
MOST_ELSEWHERE = 0.1
# What a cache that went cold takes: this prompt is written again where it would have been read.
COLD = {"written": 100_000.0, "read": -100_000.0}
_STEP_S = 1_800  # between two times; a multiple of SLOT_S
_MOST_DOUBT = 2.0  # percent
_ROUNDING = 1 / 6  # the variance of a difference of two figures that are rounded to one
_T = 2.4  # of Student's distribution: 95 % of both sides with seven degrees of freedom
_UNIT = 1e6  # tokens
_SINGULAR = 1e-9


class Movement:
    """A window's movement in `percent` between two times, the `tokens` (millions, by KINDS) between them, and the `block` it is of."""

    __slots__ = ("block", "percent", "tokens")

    def __init__(self, block: tuple[int, int], percent: float, tokens: list[float]) -> None:
        self.block = block
        self.percent = percent
        self.tokens = tokens


class Fit:
    """`blocks` and `movements` that were seen · `why`: `blocks`, `movements`, `elsewhere`, "" where there are `weights` (percent a million
    tokens, by KINDS)."""

    __slots__ = ("_covariance", "_without", "blocks", "movements", "weights", "why")

    def __init__(self, seen: list[Movement]) -> None:
        names = sorted({each.block for each in seen})
        self.blocks, self.movements = len(names), len(seen)
        self.why = _missing(seen, len(names))
        self.weights: list[float] = [] if self.why else _weights(seen)
        self._without = [_weights([each for each in seen if each.block != name]) for name in names] if self.weights else []
        self._covariance = _covariance(seen, self.weights) if self.weights else None

    def worth(self, tokens: Mapping[str, float]) -> tuple[float, float] | None:
        """Return (percent of the window that tokens by KINDS are, its error: 95 % of such intervals hold what is so); None where nothing
        can be said."""
        if self._covariance is None:
            return None
        amounts = [tokens.get(kind, 0) / _UNIT for kind in KINDS]
        if any(amount and not row[at] for at, (amount, row) in enumerate(zip(amounts, self._covariance))):
            return None  # a kind that was never used
        determined = _dot(amounts, [_dot(row, amounts) for row in self._covariance])
        several = [_dot(amounts, weights) for weights in self._without]
        mean = sum(several) / len(several)
        varied = (len(several) - 1) / len(several) * sum((each - mean) ** 2 for each in several)
        return _dot(amounts, self.weights), _T * max(determined, varied, 0.0) ** 0.5

    def claimed(self, tokens: Mapping[str, float]) -> tuple[float, float] | None:
        """Return the same; None also where the error is too wide to claim anything."""
        found = self.worth(tokens)
        return found if found and found[0] > 0 and found[1] <= WIDEST * found[0] else None


def _missing(seen: list[Movement], blocks: int) -> str:
    if blocks < LEAST_BLOCKS:
        return "blocks"
    if len(seen) < LEAST_MOVEMENTS:
        return "movements"
    whole = sum(max(0.0, each.percent) for each in seen)
    elsewhere = sum(max(0.0, each.percent) for each in seen if not any(each.tokens))
    return "elsewhere" if not whole or elsewhere > MOST_ELSEWHERE * whole else ""


# --- movements ---------------------------------------------------------------------------------------------------------------------------


def movements(readings: Iterable[Reading], kind: str, digests: Iterable[Digest]) -> list[Movement]:
    """Return the movements of all windows of a kind, in order of time. `digests`: of all sessions since the oldest reading."""
    slots: dict[int, list[float]] = {}
    for digest in digests:
        for at, *counts, _ in digest["by_time"]:
            sums = slots.setdefault(at, [0.0] * len(KINDS))
            for place, count in enumerate(counts):
                sums[place] += count / _UNIT
    found: list[Movement] = []
    for window in _windows(readings, kind):
        found += _of_window(window, slots)
    return found


def _windows(readings: Iterable[Reading], kind: str) -> list[list[Reading]]:
    windows: list[list[Reading]] = []
    for reading in sorted((each for each in readings if each.kind == kind and each.resets_at), key=lambda each: each.at):
        # What fell was given back, or is of a session that rested: no request moves a window down.
        if windows and reading.is_of(windows[-1][-1]) and reading.percent >= windows[-1][-1].percent:
            windows[-1].append(reading)
        else:
            windows.append([reading])
    return windows


def _of_window(window: list[Reading], slots: Mapping[int, list[float]]) -> list[Movement]:
    kind, reset = window[0].kind, round(window[0].resets_at / 3_600)
    found: list[Movement] = []
    began: tuple[int, float] | None = None
    upper = 0
    for at in range(-(-int(window[0].at) // _STEP_S) * _STEP_S, int(window[-1].at) + 1, _STEP_S):
        while upper < len(window) - 1 and window[upper].at < at:
            upper += 1
        high = window[upper].percent
        low = high if window[upper].at == at else window[max(0, upper - 1)].percent
        if high - low > _MOST_DOUBT:
            continue
        if began is not None:
            since, before = began
            tokens = [sum(slots[slot][place] for slot in range(since, at, SLOT_S) if slot in slots) for place in range(len(KINDS))]
            block = (reset, 0 if kind == FIVE_HOUR else int((window[0].resets_at - since) // 86_400))
            if any(tokens) or (low + high) / 2 > before:
                found.append(Movement(block, (low + high) / 2 - before, tokens))
        began = at, (low + high) / 2
    return found


# --- weights -----------------------------------------------------------------------------------------------------------------------------


def _weights(seen: list[Movement]) -> list[float]:
    """Return the least squares that are not negative, by going down one weight at a time."""
    normal, target = _normal(seen)
    weights = [0.0] * len(KINDS)
    for _ in range(2_000):
        moved = 0.0
        for at, row in enumerate(normal):
            if row[at] <= _SINGULAR:
                continue
            weight = max(0.0, weights[at] + (target[at] - _dot(row, weights)) / row[at])
            moved = max(moved, abs(weight - weights[at]) / (1e-9 + weight + weights[at]))
            weights[at] = weight
        if moved < 1e-9:
            break
    return weights


def _normal(seen: list[Movement]) -> tuple[list[list[float]], list[float]]:
    places = range(len(KINDS))
    normal = [[sum(each.tokens[a] * each.tokens[b] for each in seen) for b in places] for a in places]
    return normal, [sum(each.tokens[a] * each.percent for each in seen) for a in places]


def _covariance(seen: list[Movement], weights: Vector) -> list[list[float]] | None:
    """Return the covariance of the weights; rows of zeros for a kind that was never used, None where kinds cannot be told apart at all."""
    normal, _ = _normal(seen)
    used = [at for at in range(len(KINDS)) if normal[at][at] > _SINGULAR]
    inverse = _inverse([[normal[a][b] for b in used] for a in used])
    if inverse is None:
        return None
    squares = sum((each.percent - _dot(each.tokens, weights)) ** 2 for each in seen)
    variance = max(_ROUNDING, squares / max(1, len(seen) - len(used)))
    whole = [[0.0] * len(KINDS) for _ in KINDS]
    for a, row in zip(used, inverse):
        for b, value in zip(used, row):
            whole[a][b] = value * variance
    return whole


def _inverse(matrix: list[list[float]]) -> list[list[float]] | None:
    """Return the inverse of a symmetric matrix by elimination, scaled to a diagonal of ones; None where it is singular."""
    size = len(matrix)
    scale = [matrix[at][at] ** 0.5 for at in range(size)]
    rows = [[matrix[a][b] / scale[a] / scale[b] for b in range(size)] + [float(a == b) for b in range(size)] for a in range(size)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        if abs(rows[pivot][at]) < _SINGULAR:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for other in range(size):
            if other != at:
                factor = rows[other][at]
                rows[other] = [value - factor * own for value, own in zip(rows[other], rows[at])]
    return [[rows[a][size + b] / scale[a] / scale[b] for b in range(size)] for a in range(size)]


def _dot(left: Vector, right: Vector) -> float:
    return sum(a * b for a, b in zip(left, right))
