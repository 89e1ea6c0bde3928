"""Embeddings of DIMENSIONS floats: made of texts by hashing, with the standard library alone, compared, and given to the items of a store.
`minilm` makes better ones.

An embedding is a list of floats of unit length (of zeros where a text says nothing), each as 32 bits can say it, so that it comes back from
a store as it was. Embeddings of two embedders say nothing about each other: an item's `details` keep the embedder's name beside its own.
"""

from __future__ import annotations

import hashlib
import math
import sys
from array import array
from collections import Counter
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from .items import DIMENSIONS, EMBEDDING
from .stores import Change
from .terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .items import Item
    from .stores import Store

_GRAMS = (3, 4, 5)  # lengths of the pieces of a term
_GRAMS_WEIGHT = 0.5  # of all pieces of a term together, beside 1 for the term


class Embedder(Protocol):
    """What makes embeddings. Equal texts have equal embeddings, up to rounding."""

    name: str

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return an embedding for each text."""
        ...


class EmbeddingsUnavailable(Exception):
    """The model of the extra is not there, or not the one that we know; the message says what to do."""


class HashedEmbedder:
    """Feature hashing (Weinberger et al., ICML 2009) of terms and of the pieces that these are made of: texts that share words are near
    each other, and so, less, are those that share parts of words. It depends on no seed, process or version of Python."""

    name = "hashed-1"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [_hashed(text) for text in texts]


def _hashed(text: str) -> list[float]:
    sums = [0.0] * DIMENSIONS
    for term, count in Counter(terms_of(text)).items():
        weight = 1.0 + math.log(count)
        for at, share in _features(term):
            sums[at] += weight * share
    return _of_unit_length(sums)


@lru_cache(maxsize=1 << 14)
def _features(term: str) -> tuple[tuple[int, float], ...]:
    """Return where a term is counted, and how much: its own place, and those of its pieces."""
    whole = f"<{term}>"
    pieces = [whole[at : at + length] for length in _GRAMS for at in range(len(whole) - length + 1) if length < len(whole)]
    features = [_place(term, 1.0)]
    return tuple(features + [_place("#" + piece, _GRAMS_WEIGHT / math.sqrt(len(pieces))) for piece in pieces])


def _place(feature: str, share: float) -> tuple[int, float]:
    digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
    return (digest >> 1) % DIMENSIONS, share if digest & 1 else -share


def _of_unit_length(numbers: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(number * number for number in numbers))
    return array("f", [number / length for number in numbers] if length else numbers).tolist()


def best() -> Embedder:
    """Return the model of the extra where it is installed and usable, else hashing."""
    from .minilm import MiniLmEmbedder

    try:
        return MiniLmEmbedder()
    except EmbeddingsUnavailable:
        return HashedEmbedder()


def likeness(asked: Sequence[float], embeddings: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the cosine between one embedding and each of others, -1 to 1; all of unit length."""
    numpy: Any = sys.modules.get("numpy")  # where a model was run it is there
    if numpy is None or not embeddings:
        return {id: sum(a * b for a, b in zip(asked, embedding)) for id, embedding in embeddings.items()}
    matrix = numpy.array(list(embeddings.values()), dtype=numpy.float32)
    return dict(zip(embeddings, (matrix @ numpy.array(asked, dtype=numpy.float32)).tolist()))


_BATCH = 64  # items that are embedded at once


def context(item: Item, before: Item | None = None) -> str:
    """Return the text by which an item is embedded: its own, its speaker's name, and the turn before. A turn alone often does not say
    what it is about."""
    turn = f"{item.speaker}: {item.text}" if item.speaker else item.text
    return f"{context(before)} {turn}" if before else turn


def embed_items(store: Store, embedder: Embedder, project: str | None = None, most: int | None = None) -> int:
    """Embed items that have no embedding of this embedder yet, at most so many (None: all); return how many. It can be interrupted and
    started again. An item of which only an embedding is left keeps the one it has: there is no text to make another of."""
    lacking = (
        item
        for item in store.scan(project, marked=False)
        if item.level != EMBEDDING and not (item.embedding and item.details.get("embedder") == embedder.name)
    )
    wanted = islice(lacking, most)
    done = 0
    while batch := list(islice(wanted, _BATCH)):
        places = [(item.episode, item.place - 1) for item in batch if item.episode and item.place]
        before = {(item.episode, item.place + 1): item for item in store.around(places)}
        texts = [context(item, before.get((item.episode, item.place)) if item.episode else None) for item in batch]
        embeddings = embedder.embed(texts)  # before the store is locked for writing
        done += store.change(
            Change(item.id, to={"embedding": embedding, "details": {**item.details, "embedder": embedder.name}})
            for item, embedding in zip(batch, embeddings)
        )
    return done
