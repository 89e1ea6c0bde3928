"""Embeddings of texts (DIMENSIONS floats each), made by hashing, with the standard library alone.

An embedding is a list of floats of unit length (zeros where a text says nothing), each rounded to 32 bits, so that a store returns it
unchanged. Embeddings of two embedders cannot be compared: an item's `details` name the embedder of its own.
"""

from __future__ import annotations

import hashlib
import math
import sys
from array import array
from collections import Counter
from functools import lru_cache
from typing import Any, Protocol

from popkit_retention.core.errors import PopkitError

from .items import DIMENSIONS
from .terms import terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_GRAMS = (3, 4, 5)  # lengths of the pieces of a term
_GRAMS_WEIGHT = 0.5  # of all pieces of a term together, beside 1 for the term


class Embedder(Protocol):
    """An embedder. Equal texts have equal embeddings, up to rounding."""

    name: str

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return an embedding for each text."""
        ...


class EmbeddingsUnavailable(PopkitError):
    """The extra's model is missing, or is not the one that we know; the message says what to do."""


class HashedEmbedder:
    """Feature hashing (Weinberger et al., ICML 2009) of terms and of their pieces: texts that share words are near each other and, less so,
    texts that share parts of words. The result depends on no seed, process or version of Python."""

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


def likeness(query: Sequence[float], embeddings: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the cosine between a query and each embedding, -1 to 1; all of unit length."""
    numpy: Any = sys.modules.get("numpy")  # loaded where a model was run
    if numpy is None or not embeddings:
        return {id: sum(a * b for a, b in zip(query, embedding)) for id, embedding in embeddings.items()}
    matrix = numpy.array(list(embeddings.values()), dtype=numpy.float32)
    return dict(zip(embeddings, (matrix @ numpy.array(query, dtype=numpy.float32)).tolist()))
