"""Weights for tests: what tokens of a model are worth in a window, as closely as a test wants."""

from __future__ import annotations

from hooks.utils.policy.limits import FIVE_HOUR, TOKEN_USES, Weights

MODEL = "claude-opus-4-8"
PERCENT = dict(zip(TOKEN_USES, (4.0, 0.4, 5.0, 8.0, 20.0)))  # a million tokens


def weights(error: float = 0.1, model: str = MODEL, window: str = FIVE_HOUR) -> Weights:
    """Weights of which each has so large an error, as a share of it."""
    columns = [(model, kind) for kind in TOKEN_USES]
    values = list(PERCENT.values())
    covariance = [[(error * value / 2) ** 2 if a == b else 0.0 for b in range(len(TOKEN_USES))] for a, value in enumerate(values)]
    return Weights(window, columns, values, (covariance, [[0.0] * len(TOKEN_USES)] * len(TOKEN_USES)), 2.0)
