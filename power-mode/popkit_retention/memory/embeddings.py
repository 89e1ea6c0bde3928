"""Embeddings of texts (DIMENSIONS floats each): by hashing, with the standard library alone, or by an author's own function.

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
from typing import Any, Protocol, cast

from popkit_retention.core import units
from popkit_retention.core.errors import PopkitError

from .items import DIMENSIONS
from .terms import terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Union

    # Texts to vectors of one length, which may be that of any model.
    Function = Callable[[Sequence[str]], Sequence[Sequence[float]]]
    Embedding = Union[Function, "Embedder"]


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


class BadEmbedding(PopkitError, ValueError):
    """An embedder cannot be used, or has returned no embeddings; the message says why, and what to do."""


class HashedEmbedder:
    """Feature hashing (Weinberger et al., ICML 2009) of terms and of their pieces: texts that share words are near each other and, less so,
    texts that share parts of words. The result depends on no seed, process or version of Python."""

    name = "hashed-1"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [_hashed(text) for text in texts]


class FunctionEmbedder:
    """An embedder made of a function: texts to as many vectors, all of one length, which is noticed at the first answer (`dimension`, 0
    until then). `name`: says which embeddings can be compared, so change it with the model; by default the function's own `name`, or where
    it is defined. BadEmbedding for a function without any name, and for answers that are not such vectors."""

    def __init__(self, function: Function, name: str = "") -> None:
        self.name = name or _name_of(function)
        self.dimension = 0
        self._function = function

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return embeddings as items keep them: of DIMENSIONS floats. Zeros behind a shorter vector change no cosine; a longer one is
        refused, because what is cut off would be missed."""
        vectors = self.vectors(texts)
        if self.dimension > DIMENSIONS:
            raise BadEmbedding(
                f"{self.name} returns {self.dimension:,} numbers for a text, and an item keeps {DIMENSIONS}. "
                "Pass a vector store, too: vectors=SqliteVecStore(…)"
            )
        return [vector + [0.0] * (DIMENSIONS - len(vector)) for vector in vectors]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return vectors of unit length (zeros for zeros), as long as the function makes them."""
        if not texts:
            return []
        vectors = [[float(number) for number in vector] for vector in self._function(list(texts))]
        if len(vectors) != len(texts):
            raise BadEmbedding(f"{self.name} returned {units.counted(len(vectors), 'vector')} for {units.counted(len(texts), 'text')}")
        self.dimension = self.dimension or len(vectors[0])
        for vector in vectors:
            if len(vector) != self.dimension or not vector:
                raise BadEmbedding(f"{self.name} returned a vector of {len(vector):,} numbers; its first one had {self.dimension:,}")
            if not all(map(math.isfinite, vector)):
                raise BadEmbedding(f"{self.name} returned a vector with a number that is not finite")
        return [_of_unit_length(vector) for vector in vectors]


def _name_of(function: Function) -> str:
    named = getattr(function, "name", "") or getattr(function, "__qualname__", "")
    if not isinstance(named, str) or not named:
        raise BadEmbedding("the embedder has no name, which says what embeddings can be compared. Pass FunctionEmbedder(function, name=…)")
    module = getattr(function, "__module__", None)
    return named if getattr(function, "name", "") or not module else f"{module}.{named}"


def embedder_of(given: Embedding) -> Embedder:
    """Return the embedder that was given, or one that is made of a function. Raise BadEmbedding for anything else."""
    if hasattr(given, "embed"):
        return cast("Embedder", given)
    if not callable(given):
        raise BadEmbedding(f"an embedder is a function of texts to vectors, not {type(given).__name__}")
    return FunctionEmbedder(given)


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
    # Numbers below one: squares of the largest floats are infinite.
    largest = max(map(abs, numbers), default=0.0)
    numbers = [number / largest for number in numbers] if largest > 1e100 else numbers
    length = math.sqrt(sum(number * number for number in numbers))
    return array("f", [number / length for number in numbers] if length else numbers).tolist()


def likeness(query: Sequence[float], embeddings: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the cosine between a query and each embedding, -1 to 1; all of unit length."""
    numpy: Any = sys.modules.get("numpy")  # loaded where a model was run
    if numpy is None or not embeddings:
        return {id: sum(a * b for a, b in zip(query, embedding)) for id, embedding in embeddings.items()}
    matrix = numpy.array(list(embeddings.values()), dtype=numpy.float32)
    return dict(zip(embeddings, (matrix @ numpy.array(query, dtype=numpy.float32)).tolist()))
