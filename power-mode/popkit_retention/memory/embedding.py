"""Gives the items of a store the embeddings that a search compares: those of one embedder, whose name is kept in an item's `details`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from .items import EMBEDDING
from .search import context
from .stores import Change

if TYPE_CHECKING:
    from .stores import Store
    from .vectors import Embedder

BATCH = 64  # items that are embedded at once


def embed_items(store: Store, embedder: Embedder, project: str | None = None, most: int | None = None) -> int:
    """Embeds items that have no embedding of this embedder yet, at most so many (None: all); how many that were. It can be broken off and
    begun again. What is an embedding alone keeps the one it has: there is no text left to make another of."""
    lacking = (
        item
        for item in store.scan(project, marked=False)
        if item.level != EMBEDDING and not (item.embedding and item.details.get("embedder") == embedder.name)
    )
    wanted = islice(lacking, most)
    done = 0
    while batch := list(islice(wanted, BATCH)):
        places = [(item.episode, item.place - 1) for item in batch if item.episode and item.place]
        before = {(item.episode, item.place + 1): item for item in store.around(places)}
        texts = [context(item, before.get((item.episode, item.place)) if item.episode else None) for item in batch]
        embeddings = embedder.embed(texts)  # before the store is locked for writing
        done += store.change(
            Change(item.id, to={"embedding": embedding, "details": {**item.details, "embedder": embedder.name}})
            for item, embedding in zip(batch, embeddings)
        )
    return done
