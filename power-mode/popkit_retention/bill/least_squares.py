"""Least squares whose weights are not negative, over matrices as lists of rows. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Vector = Sequence[float]
    Matrix = Sequence[Vector]

_NOTHING = 1e-12


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
            found = solved([[matrix[a][b] for b in places] for a in places], [target[at] for at in places])
            if all(value > 0 for value in found):
                break
            # As far as the first weight that would become negative, which is held at nothing from then on.
            step, first = min((x[at] / (x[at] - value), at) for at, value in zip(places, found) if value <= 0)
            for at, value in zip(places, found):
                x[at] = max(0.0, x[at] + step * (value - x[at]))
            x[first], free[first] = 0.0, False
        for at, value in zip(places, found):
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
