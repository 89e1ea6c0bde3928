"""Stores of vectors for memories, which come with the package alone."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .in_memory import InMemoryVectorStore
    from .pgvector import PgVectorStore
    from .sqlite_vec import SqliteVecStore

__all__ = ["InMemoryVectorStore", "PgVectorStore", "SqliteVecStore"]
_HOMES = {"InMemoryVectorStore": "in_memory", "PgVectorStore": "pgvector", "SqliteVecStore": "sqlite_vec"}


def __getattr__(name: str) -> object:
    """Return what the package exports, which is loaded when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
