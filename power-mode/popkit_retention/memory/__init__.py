"""Long-term memory: what sessions teach outlives them, within bounds, until it is forgotten.

    from popkit_retention.memory import Memory

    memory = Memory.of(os.environ, folder)                      # of a repository, as the user has configured it
    with Memory(SqliteStore("/path/of/a.sqlite"), "agent", job="hourly") as memory: ...  # of an agent of your own

`Memory` is the interface to all of it; the names of the specification (`ValueClassification`, `MemoryTierManager`, …) are here too. Each is
loaded on first use.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "ARCHIVE_TIER_POLICY": "tier_policies",
    "AsyncMemory": "asynchronous",
    "BadEmbedding": "embeddings",
    "BadFilter": "filters",
    "BadItem": "items",
    "BadTierPolicy": "tier_policies",
    "Bounds": "bounds",
    "COLD_TIER_POLICY": "tier_policies",
    "CompressionPolicy": "compression",
    "DuplicateId": "stores.protocol",
    "ForgettingCurveModel": "valuation",
    "FunctionEmbedder": "embeddings",
    "HOT_TIER_POLICY": "tier_policies",
    "InMemoryStore": "stores.in_memory",
    "InformationLossMetrics": "information_loss",
    "Item": "items",
    "ItemNotFound": "memory",
    "ItemOnHold": "holds",
    "JobRunning": "memory",
    "Lesson": "lessons",
    "Memory": "memory",
    "MemoryTierManager": "tier_manager",
    "Observation": "lessons",
    "SignalCalculator": "valuation",
    "SqliteStore": "stores.sqlite",
    "StoreUnavailable": "stores.protocol",
    "ValueClassification": "valuation",
    "Vector": "vectors.protocol",
    "VectorStore": "vectors.protocol",
    "WARM_TIER_POLICY": "tier_policies",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .asynchronous import AsyncMemory
    from .bounds import Bounds
    from .compression import CompressionPolicy
    from .embeddings import BadEmbedding, FunctionEmbedder
    from .filters import BadFilter
    from .holds import ItemOnHold
    from .information_loss import InformationLossMetrics
    from .items import BadItem, Item
    from .lessons import Lesson, Observation
    from .memory import ItemNotFound, JobRunning, Memory
    from .stores.in_memory import InMemoryStore
    from .stores.protocol import DuplicateId, StoreUnavailable
    from .stores.sqlite import SqliteStore
    from .tier_manager import MemoryTierManager
    from .tier_policies import ARCHIVE_TIER_POLICY, COLD_TIER_POLICY, HOT_TIER_POLICY, WARM_TIER_POLICY, BadTierPolicy
    from .valuation import ForgettingCurveModel, SignalCalculator, ValueClassification
    from .vectors.protocol import Vector, VectorStore

__all__ = [
    "ARCHIVE_TIER_POLICY",
    "COLD_TIER_POLICY",
    "HOT_TIER_POLICY",
    "WARM_TIER_POLICY",
    "AsyncMemory",
    "BadEmbedding",
    "BadFilter",
    "BadItem",
    "BadTierPolicy",
    "Bounds",
    "CompressionPolicy",
    "DuplicateId",
    "ForgettingCurveModel",
    "FunctionEmbedder",
    "InMemoryStore",
    "InformationLossMetrics",
    "Item",
    "ItemNotFound",
    "ItemOnHold",
    "JobRunning",
    "Lesson",
    "Memory",
    "MemoryTierManager",
    "Observation",
    "SignalCalculator",
    "SqliteStore",
    "StoreUnavailable",
    "ValueClassification",
    "Vector",
    "VectorStore",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOMES[name], __name__), name)
