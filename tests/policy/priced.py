"""Prices for tests: those of models that exist, by what they take for a cache read."""

from __future__ import annotations

from popkit_retention.core.policy.economics import Prices

READS = (0.1, 0.05, 0.025)
LIFETIMES = (300, 3_600)


def prices(ttl_s: float = 300, read: float = 0.1, bound: bool = False) -> Prices:
    """Those of a model whose cache reads cost so much, with a lifetime of the cache."""
    return Prices(read, 2.0 if ttl_s >= 3_600 else 1.25, 5.0, ttl_s, bound)
