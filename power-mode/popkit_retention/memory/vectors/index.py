"""The index of a memory's items in a store of vectors, kept up to date."""

from __future__ import annotations

import hashlib
from itertools import islice

from ..embedding_items import BATCH, contexts
from ..embeddings import FunctionEmbedder
from ..items import DIMENSIONS, EMBEDDING, FULL
from .protocol import PLACES, Vector, can_be_kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..embeddings import Embedder
    from ..items import Item
    from ..stores.protocol import Store
    from .protocol import VectorStore


_PLACED = 16  # characters of a stamp that are of the embedder and the place; as many are of the text


class VectorIndex:
    """The items of a store that are neither marked nor expired, in a store of vectors.

    The items decide: a vector has a stamp of the text, the place and the embedder that it was made of, and `sync` makes again what has
    another one. So what a crash, another process or a change of the embedder has left behind is right after the next run. Until then
    vectors of another embedder, or of one that returns another number of numbers, are not compared: an embedder that was changed finds
    nothing by vector before the run, rather than something wrong. `embedder`: returns it, when it is first needed."""

    def __init__(self, vectors: VectorStore, embedder: Callable[[], Embedder]) -> None:
        self.vectors = vectors
        self._embedder = embedder

    def query(self, words: str) -> list[float]:
        """Return the vector of a question."""
        return _embedded(self._embedder(), [words])[0]

    def nearest(self, query: Sequence[float], most: int, within: Mapping[str, str]) -> list[tuple[str, float]]:
        """Return the ids of the nearest items within these places, each with its cosine: see `VectorStore.nearest`. What else `within`
        names is left to the caller."""
        within = {field: value for field, value in within.items() if field in PLACES}
        if most < 1 or not can_be_kept(within):
            return []
        return self.vectors.nearest(query, self._space(), most, within)

    def refresh(self, store: Store, ids: Sequence[str], now: float) -> None:
        """Bring the vectors of these items up to date at a time (seconds)."""
        items = [item for item in store.get(ids) if _is_shown(item, now)]
        there = {item.id for item in items}
        gone = [id for id in ids if id not in there]
        if gone:
            self.vectors.remove(gone)
        if items:
            self._put(store, items, self.vectors.stamps([item.id for item in items]))

    def sync(self, store: Store, now: float) -> None:
        """Bring all vectors up to date at a time (seconds). It can be interrupted and started again."""
        # Read before the items: what others add meanwhile is not taken for something that has no item.
        known = self.vectors.stamps()
        wanted = (item for item in store.scan(marked=False) if _is_shown(item, now))
        gone = set(known)
        while batch := list(islice(wanted, BATCH)):
            self._put(store, batch, known)
            gone.difference_update(item.id for item in batch)
        if gone:
            self.vectors.remove(sorted(gone))

    def _put(self, store: Store, items: Sequence[Item], known: Mapping[str, str]) -> None:
        """Embed those of these items whose stamp is not the known one. A compressed item keeps the vector of its full text; one of which
        only an embedding is left keeps whatever it has, since there is no text to embed again."""
        space = self._space()
        stamped = [(item, text, _stamp(space, item, text)) for item, text in zip(items, contexts(store, items)) if item.level != EMBEDDING]
        compared = {item.id: len(stamp) if item.level == FULL else _PLACED for item, _, stamp in stamped}
        new = [row for row in stamped if known.get(row[0].id, "")[: compared[row[0].id]] != row[2][: compared[row[0].id]]]
        if new:
            numbers = _embedded(self._embedder(), [text for _, text, _ in new])
            self.vectors.put([_vector(item, vector, space, stamp) for (item, _, stamp), vector in zip(new, numbers)])

    def _space(self) -> str:
        """Return what vectors have to share to be compared: the embedder's name, and the number of numbers, for which a function is asked
        with one word where it has not been asked yet."""
        embedder = self._embedder()
        if not isinstance(embedder, FunctionEmbedder):
            return f"{embedder.name}/{DIMENSIONS}"
        if not embedder.dimension:
            embedder.vectors(["word"])
        return f"{embedder.name}/{embedder.dimension}"


def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    return embedder.vectors(texts) if isinstance(embedder, FunctionEmbedder) else embedder.embed(texts)


def _is_shown(item: Item, now: float) -> bool:
    return item.marked_at is None and not item.has_expired(now)


def _stamp(space: str, item: Item, text: str) -> str:
    placed = "\0".join([space, *(getattr(item, field) for field in PLACES)])
    return "".join(hashlib.sha256(part.encode()).hexdigest()[:_PLACED] for part in (placed, text))


def _vector(item: Item, numbers: Sequence[float], space: str, stamp: str) -> Vector:
    return Vector(item.id, numbers, space, stamp, item.project, item.user_id, item.agent_id, item.session_id)
