"""Add embeddings to the items of a store, by the best embedder that is installed."""

from __future__ import annotations

from itertools import islice

from .embeddings import Embedder, EmbeddingsUnavailable, HashedEmbedder
from .items import EMBEDDING
from .minilm import MiniLmEmbedder
from .stores.protocol import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .items import Item
    from .stores.protocol import Store


def best() -> Embedder:
    """Return the extra's model where it is installed and usable, else hashing."""
    try:
        return MiniLmEmbedder()
    except EmbeddingsUnavailable:
        return HashedEmbedder()


BATCH = 64  # items that are embedded at once


def context(item: Item, before: Item | None = None) -> str:
    """Return the text by which an item is embedded: its own, its speaker's name, and the turn before. A turn alone often does not say what
    it is about."""
    turn = f"{item.speaker}: {item.text}" if item.speaker else item.text
    return f"{context(before)} {turn}" if before else turn


def contexts(store: Store, items: Sequence[Item]) -> list[str]:
    """Return the text by which each of these items is embedded."""
    places = [(item.episode, item.place - 1) for item in items if item.episode and item.place]
    before = {(item.episode, item.place + 1): item for item in (store.around(places) if places else ())}
    return [context(item, before.get((item.episode, item.place)) if item.episode else None) for item in items]


def embed_items(store: Store, embedder: Embedder, project: str | None = None, most: int | None = None) -> int:
    """Embed at most this many items (None: all) that have no embedding of this embedder yet; return how many. It can be interrupted and
    started again. An item of which only an embedding is left keeps it: there is no text to embed again."""
    lacking = (
        item
        for item in store.scan(project, marked=False)
        if item.level != EMBEDDING and not (item.embedding and item.details.get("embedder") == embedder.name)
    )
    wanted = islice(lacking, most)
    done = 0
    while batch := list(islice(wanted, BATCH)):
        embeddings = embedder.embed(contexts(store, batch))  # before the store is locked for writing
        done += store.change(
            Change(item.id, to={"embedding": embedding, "details": {**item.details, "embedder": embedder.name}})
            for item, embedding in zip(batch, embeddings)
        )
    return done
