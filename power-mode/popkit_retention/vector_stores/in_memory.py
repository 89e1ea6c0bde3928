"""The reference implementation of a store of vectors, in this process's memory. Other stores answer as this one does."""

from __future__ import annotations

import threading
from array import array

from ..memory.embeddings import likeness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..memory.vectors.protocol import Vector


class InMemoryVectorStore:
    """Exact, and gone with the process: the next run of the memory's job embeds all items again."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vector] = {}
        self._lock = threading.Lock()

    def put(self, vectors: Sequence[Vector]) -> None:
        kept = {vector.id: vector._replace(numbers=array("f", vector.numbers)) for vector in vectors}
        with self._lock:
            self._vectors.update(kept)

    def remove(self, ids: Sequence[str]) -> None:
        with self._lock:
            for id in ids:
                self._vectors.pop(id, None)

    def stamps(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        with self._lock:
            return {id: self._vectors[id].stamp for id in (self._vectors if ids is None else ids) if id in self._vectors}

    def nearest(self, numbers: Sequence[float], embedder: str, most: int, within: Mapping[str, str]) -> list[tuple[str, float]]:
        with self._lock:
            fitting = {
                vector.id: vector.numbers
                for vector in self._vectors.values()
                if vector.embedder == embedder and all(getattr(vector, field) == value for field, value in within.items())
            }
        return sorted(likeness(numbers, fitting).items(), key=lambda match: (-match[1], match[0]))[:most]

    def close(self) -> None:
        """Keep all: the process does."""
