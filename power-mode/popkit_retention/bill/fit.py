"""How far tokens, by model and kind, move a limit's window: fitted from the user's own readings and requests. Pure.

A reading is a whole percent. Where one is higher than the one before, the point between the two was passed at an unknown request in
between, so half of the tokens in between are assumed to come before it, which is true on average. A movement is the stretch between two
such points, so how the provider rounds does not matter. The weights are the non-negative ones with the least squared difference, with a
ridge: none is likely to be larger than if its tokens alone had moved the window. The ridge hardly changes weights that the history can tell
apart; the others keep an error as wide as the whole. A model that was seen in few movements has no weights of its own: its tokens are
counted with those of all other such models, and nothing is claimed about them.

The error of a sum is the larger of two: by how far the weights are determined at all (kinds that always move together are not told
apart), and by how much they change when a block of the history is left out (effects outside the model).
"""

from __future__ import annotations

from bisect import bisect_right

from hooks.utils.policy.economics import plain
from hooks.utils.policy.limits import FIVE_HOUR, LEAST_WINDOWS, TOKEN_USES, Weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hooks.utils.policy.limits import Column, Reading

    from .digests import Digest

    Tokens = dict[Column, float]
    Vector = Sequence[float]
    Matrix = Sequence[Vector]

# A fit needs so many movements beside its LEAST_WINDOWS blocks (windows of five hours; of a longer window, days), and so does a model.
LEAST_MOVEMENTS = 24
# The largest share of all movement that may come while nothing runs on this machine.
MOST_ELSEWHERE = 0.1
OTHERS = ""  # all models without weights of their own
_STEP_S = 600  # the least duration of a movement
_LEAST_VARIANCE = 0.02  # of a movement, because the time of a point is not known better
_Z = 1.96  # of the normal distribution: 95 % of both sides
_UNIT = 1e6  # tokens
_NOTHING = 1e-12


class Movement:
    """A window's movement in `percent` between two times, the `tokens` (millions, by column) between them, and the `block` that it belongs
    to."""

    __slots__ = ("block", "percent", "tokens")

    def __init__(self, block: tuple[int, int], percent: float, tokens: Tokens) -> None:
        self.block = block
        self.percent = percent
        self.tokens = tokens


class Fit:
    """The fit of one kind of `window`: the numbers of `blocks` and `movements` · `why`: the reason without `weights`, which are None then:
    `blocks`, `movements`, `elsewhere`; else ""."""

    __slots__ = ("blocks", "movements", "weights", "why", "window")

    def __init__(self, window: str, seen: Sequence[Movement]) -> None:
        self.window = window
        self.blocks, self.movements = len({each.block for each in seen}), len(seen)
        self.why = _missing(seen, self.blocks)
        self.weights: Weights | None = None if self.why else _fitted(window, seen)


def _missing(seen: Sequence[Movement], blocks: int) -> str:
    if blocks < LEAST_WINDOWS:
        return "blocks"
    if len(seen) < LEAST_MOVEMENTS:
        return "movements"
    whole = _moved(seen)
    elsewhere = _moved(each for each in seen if not each.tokens)
    return "elsewhere" if not whole or elsewhere > MOST_ELSEWHERE * whole else ""


def _moved(seen: Iterable[Movement]) -> float:
    return sum(max(0.0, each.percent) for each in seen)


# --- movements ---------------------------------------------------------------------------------------------------------------------------


def movements(readings: Iterable[Reading], kind: str, digests: Iterable[Digest]) -> list[Movement]:
    """Return the movements of all windows of a kind, in order of time. `digests`: of all sessions since the oldest reading."""
    used: dict[int, Tokens] = {}
    for digest in digests:
        for model, rows in digest["by_model"].items():
            columns = [(plain(model), name) for name in TOKEN_USES]
            for at, *counts in rows:
                _add(used.setdefault(at, {}), {column: count / _UNIT for column, count in zip(columns, counts) if count})
    times = sorted(used)
    seen: list[Movement] = []
    for window in _windows(readings, kind):
        seen += _of_window(window, times, used)
    return seen


def _add(sums: Tokens, more: Tokens) -> None:
    for column, count in more.items():
        sums[column] = sums.get(column, 0.0) + count


def _windows(readings: Iterable[Reading], kind: str) -> list[list[Reading]]:
    windows: list[list[Reading]] = []
    for reading in sorted((each for each in readings if each.kind == kind and each.resets_at), key=lambda each: each.at):
        # A lower reading was given back, or is from a session that was idle: no request moves a window down.
        if windows and reading.is_of(windows[-1][-1]) and reading.percent >= windows[-1][-1].percent:
            windows[-1].append(reading)
        else:
            windows.append([reading])
    return windows


def _of_window(window: list[Reading], times: Sequence[int], used: Mapping[int, Tokens]) -> list[Movement]:
    kind, reset = window[0].kind, round(window[0].resets_at / 3_600)
    seen: list[Movement] = []
    tokens: Tokens = {}
    began: tuple[float, float] | None = None
    for before, reading in zip(window, window[1:]):
        between: Tokens = {}
        for at in times[bisect_right(times, before.at) : bisect_right(times, reading.at)]:
            _add(between, used[at])
        if reading.percent == before.percent or (began and reading.at - began[0] < _STEP_S):
            _add(tokens, between)
            continue
        half = {column: count / 2 for column, count in between.items()}
        level = (before.percent + reading.percent) / 2
        if began is not None:
            _add(tokens, half)
            block = (reset, 0 if kind == FIVE_HOUR else int((window[0].resets_at - began[0]) // 86_400))
            seen.append(Movement(block, level - began[1], tokens))
        began, tokens = (reading.at, level), half
    return seen


# --- weights -----------------------------------------------------------------------------------------------------------------------------


def _fitted(window: str, seen: Sequence[Movement]) -> Weights:
    seen = _merged(seen)
    columns = sorted({column for each in seen for column in each.tokens})
    whole = _moved(seen)
    # The unit of each weight: what it would be if its tokens alone had moved the window.
    most = [whole / sum(each.tokens.get(column, 0.0) for each in seen) for column in columns]
    blocks: dict[tuple[int, int], list[list[float]]] = {}
    for each in seen:  # a row ends in the movement
        row = [*(each.tokens.get(column, 0.0) * unit for column, unit in zip(columns, most)), each.percent]
        blocks.setdefault(each.block, []).append(row)
    parts = [_products(rows) for rows in blocks.values()]
    total = [[sum(cells) for cells in zip(*rows)] for rows in zip(*parts)]
    weights, variance = _solved(total, _LEAST_VARIANCE), _LEAST_VARIANCE
    squares = sum((row[-1] - dot(row, weights)) ** 2 for rows in blocks.values() for row in rows)
    variance = max(_LEAST_VARIANCE, squares / max(1, len(seen) - sum(map(bool, weights))))
    weights = _solved(total, variance)
    without = [_solved([[a - b for a, b in zip(*rows)] for rows in zip(total, part)], variance) for part in parts]
    determined = [[value * variance for value in row] for row in inverse(_ridged(total, variance))]
    freedom = len(parts) - 1
    # Student's distribution by its expansion around the normal one (Abramowitz and Stegun, 26.7.5).
    t = _Z * (1 + 1.21 / freedom + 1.44 / freedom**2)
    named = [at for at, (model, _) in enumerate(columns) if model != OTHERS]
    covariances = [[[matrix[a][b] * most[a] * most[b] for b in named] for a in named] for matrix in (determined, _jackknife(without))]
    return Weights(window, [columns[at] for at in named], [weights[at] * most[at] for at in named], (covariances[0], covariances[1]), t)


def _merged(seen: Sequence[Movement]) -> list[Movement]:
    """Return the movements, in which tokens of models with few movements are those of OTHERS."""
    times: dict[str, int] = {}
    for each in seen:
        for model in {model for model, _ in each.tokens}:
            times[model] = times.get(model, 0) + 1
    merged = []
    for each in seen:
        tokens: Tokens = {}
        for (model, kind), count in each.tokens.items():
            _add(tokens, {(model if times[model] >= LEAST_MOVEMENTS else OTHERS, kind): count})
        merged.append(Movement(each.block, each.percent, tokens))
    return merged


def _products(rows: Matrix) -> Matrix:
    """Return the products of all columns with each other, summed over the rows."""
    columns = list(zip(*rows))
    return [[dot(one, other) for other in columns] for one in columns]


def _ridged(products: Matrix, ridge: float) -> Matrix:
    """Return the products of the token columns only, with a ridge."""
    return [[value + (ridge if a == b else 0.0) for b, value in enumerate(row[:-1])] for a, row in enumerate(products[:-1])]


def _solved(products: Matrix, ridge: float) -> list[float]:
    return not_negative(_ridged(products, ridge), products[-1][:-1])


def _jackknife(without: list[list[float]]) -> Matrix:
    """Return the covariance of weights, from the weights without each block."""
    count = len(without)
    means = [sum(column) / count for column in zip(*without)]
    apart = [[value - mean for value, mean in zip(weights, means)] for weights in without]
    places = range(len(means))
    return [[(count - 1) / count * sum(row[a] * row[b] for row in apart) for b in places] for a in places]


# --- least squares whose weights are not negative, over matrices as lists of rows -------------------------------------------------------


def not_negative(matrix: Matrix, target: Vector) -> list[float]:
    """Return x >= 0 with the least x'Ax/2 - b'x. `matrix`: symmetric, positive definite. The active set of Lawson and Hanson, Solving Least
    Squares Problems, 23.3."""
    size = len(target)
    x, free = [0.0] * size, [False] * size
    for _ in range(3 * size):
        slopes = [0.0 if free[at] else target[at] - dot(matrix[at], x) for at in range(size)]
        best = max(range(size), key=lambda at: slopes[at], default=-1)
        if best < 0 or slopes[best] <= _NOTHING:
            break
        free[best] = True
        while True:
            places = [at for at in range(size) if free[at]]
            values = solved([[matrix[a][b] for b in places] for a in places], [target[at] for at in places])
            if all(value > 0 for value in values):
                break
            # As far as the first weight that would become negative, which is fixed at zero from then on.
            step, first = min((x[at] / (x[at] - value), at) for at, value in zip(places, values) if value <= 0)
            for at, value in zip(places, values):
                x[at] = max(0.0, x[at] + step * (value - x[at]))
            x[first], free[first] = 0.0, False
        for at, value in zip(places, values):
            x[at] = value
    return x


def solved(matrix: Matrix, target: Vector) -> list[float]:
    """Return x of Ax = b. `matrix`: symmetric, positive definite."""
    lower = _cholesky(matrix)
    size = len(target)
    below = [0.0] * size
    for at in range(size):
        below[at] = (target[at] - dot(lower[at][:at], below)) / lower[at][at]
    x = [0.0] * size
    for at in reversed(range(size)):
        x[at] = (below[at] - sum(lower[later][at] * x[later] for later in range(at + 1, size))) / lower[at][at]
    return x


def inverse(matrix: Matrix) -> list[list[float]]:
    """Return the inverse. `matrix`: symmetric, positive definite."""
    size = len(matrix)
    return [solved(matrix, [float(at == column) for at in range(size)]) for column in range(size)]


def dot(left: Vector, right: Vector) -> float:
    """Return the product of two vectors, as long as the shorter one."""
    return sum(a * b for a, b in zip(left, right))


def _cholesky(matrix: Matrix) -> list[list[float]]:
    """Return the lower triangle L of A = LL'."""
    lower: list[list[float]] = []
    for at, row in enumerate(matrix):
        new: list[float] = []
        for column in range(at):
            new.append((row[column] - dot(lower[column][:column], new)) / lower[column][column])
        lower.append([*new, (row[at] - dot(new, new)) ** 0.5])
    return lower
