"""The losses of compression: the specification's metrics (3.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from popkit_retention.core.policy.estimate import estimate_tokens

from . import compression, search
from .compression import at_level, keywords
from .embeddings import likeness
from .items import EMBEDDING, FULL, KEYWORDS, SUMMARY, Item
from .sentences import Corpus
from .stores.opening import empty_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .stores.protocol import Store

    Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
    Find = Callable[[Mapping[str, str]], Callable[[str], Sequence[str]]]


# The loss report searches every text for every other: more take minutes.
SAMPLES = 100


def loss_of(
    store: Store,
    project: str,
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]],
    summarise: Callable[[str], str] | None = None,
    most: int = SAMPLES,
) -> list[Loss]:
    """Return what the levels lose, measured on at most this many of a project's longer texts."""
    texts: dict[str, str] = {}
    for item in store.scan(project, marked=False):
        full = (store.original(item.id) or item.text) if item.original else item.text
        if estimate_tokens(full) > compression.TOKENS[KEYWORDS]:
            texts[item.id] = full
        if len(texts) == most:
            break
    return report(texts, embed, _finder, summarise)


def _finder(texts: Mapping[str, str]) -> Callable[[str], list[str]]:
    """Return a function that searches these texts as a memory is searched."""
    store = empty_store()
    store.add([Item(id, text or "-", level=FULL) for id, text in texts.items()])
    return lambda query: [item.id for item, _ in search.search(store, query, most=RESULTS)]


RESULTS = 10  # of a query are compared
QUERY_TOKENS = 10  # of the keywords of a query for an item


class InformationLossMetrics:
    """The specification's metrics, to its fourth decimal. ValueError says what is wrong with the input."""

    def calculate_semantic_preservation(self, original_embedding: Sequence[float], compressed_embedding: Sequence[float]) -> float:
        """Return the cosine of two embeddings; 0.0 where one of them is all zeros."""
        if len(original_embedding) != len(compressed_embedding):
            raise ValueError(f"embeddings of {len(original_embedding)} and {len(compressed_embedding)} numbers cannot be compared")
        original, compressed = _of_unit_length(original_embedding), _of_unit_length(compressed_embedding)
        return round(sum(a * b for a, b in zip(original, compressed)), 4)

    def calculate_token_efficiency(self, original_tokens: int, compressed_tokens: int, semantic_preservation: float) -> float:
        """Return how many times shorter a text has become, times the share of its meaning that is preserved. No tokens count as one."""
        if original_tokens < 0 or compressed_tokens < 0:
            raise ValueError(f"{min(original_tokens, compressed_tokens)} is not a number of tokens")
        return round(original_tokens / max(1, compressed_tokens) * semantic_preservation, 4)

    def estimate_query_accuracy(
        self, test_queries: Sequence[str], original_results: Sequence[Sequence[str]], compressed_results: Sequence[Sequence[str]]
    ) -> dict[str, float]:
        """Return the mean precision and recall of queries' results after compression against those before, and the F1 of these means.
        Without results after it precision is 0, without results before it recall is 1; without queries everything is 0."""
        if not len(test_queries) == len(original_results) == len(compressed_results):
            counts = f"{len(original_results)} results before and {len(compressed_results)} after"
            raise ValueError(f"{len(test_queries)} queries have {counts} compression; there must be one of each for every query")
        if not test_queries:
            return {"precision": 0.0, "recall": 0.0, "f1_score": 0.0}
        pairs = [(set(original), set(compressed)) for original, compressed in zip(original_results, compressed_results)]
        precision = _mean(len(after & before) / len(after) if after else 0.0 for before, after in pairs)
        recall = _mean(len(after & before) / len(before) if before else 1.0 for before, after in pairs)
        both = precision + recall
        f1_score = 2 * precision * recall / both if both else 0.0
        return {"precision": round(precision, 4), "recall": round(recall, 4), "f1_score": round(f1_score, 4)}


def _of_unit_length(vector: Sequence[float]) -> list[float]:
    if not all(map(math.isfinite, vector)):
        raise ValueError("an embedding holds finite numbers only")
    largest = max(map(abs, vector), default=0.0)
    if not largest:
        return [0.0] * len(vector)
    scaled = [x / largest for x in vector]  # else the squares of large numbers would be infinite
    length = math.sqrt(sum(x * x for x in scaled))
    return [x / length for x in scaled]


@dataclass(frozen=True)
class Loss:
    """The loss of a level over `items` texts: their tokens before and at the level, means of semantic preservation and token efficiency,
    and how the results of queries compare with those on the full texts."""

    level: str
    items: int
    tokens: int
    tokens_at_level: int
    semantic_preservation: float
    token_efficiency: float
    precision: float
    recall: float
    f1_score: float


def report(samples: Mapping[str, str], embed: Embed, find: Find, summarise: Callable[[str], str] | None = None) -> list[Loss]:
    """Return a Loss for each level below full, over full texts by id; none without samples. Query every text by its own keywords: the best
    ten of the full corpus are compared with the best ten of the compressed one. Find a text at the embedding level by the likeness of its
    vector, which is that of the full text, so that only its words are lost."""
    if not samples:
        return []
    ids, texts = list(samples), list(samples.values())
    corpus = Corpus(texts)
    queries = [keywords(text, QUERY_TOKENS, corpus) for text in texts]
    vectors = [list(vector) for vector in embed(texts)]
    before = _results_of(find(samples), queries)
    losses = []
    for level in (SUMMARY, KEYWORDS, EMBEDDING):
        compressed = [at_level(text, level, summarise) for text in texts]
        if level == EMBEDDING:
            shortened, after = vectors, _nearest(ids, vectors, embed(queries))
        else:
            shortened = [list(vector) for vector in embed(compressed)]
            after = _results_of(find(dict(zip(ids, compressed))), queries)
        losses.append(_loss(level, texts, compressed, vectors, shortened, METRICS.estimate_query_accuracy(queries, before, after)))
    return losses


METRICS = InformationLossMetrics()


def _loss(
    level: str,
    texts: Sequence[str],
    compressed: Sequence[str],
    vectors: Sequence[Sequence[float]],
    shortened: Sequence[Sequence[float]],
    accuracy: Mapping[str, float],
) -> Loss:
    sizes = [(estimate_tokens(text), estimate_tokens(short)) for text, short in zip(texts, compressed)]
    preserved = [METRICS.calculate_semantic_preservation(vector, short) for vector, short in zip(vectors, shortened)]
    efficiency = [METRICS.calculate_token_efficiency(*size, each) for size, each in zip(sizes, preserved)]
    return Loss(
        level=level,
        items=len(texts),
        tokens=sum(full for full, _ in sizes),
        tokens_at_level=sum(short for _, short in sizes),
        semantic_preservation=round(_mean(preserved), 4),
        token_efficiency=round(_mean(efficiency), 4),
        **accuracy,
    )


def _results_of(ask: Callable[[str], Sequence[str]], queries: Sequence[str]) -> list[list[str]]:
    return [list(ask(query))[:RESULTS] for query in queries]


def _nearest(ids: Sequence[str], vectors: Sequence[Sequence[float]], queries: Sequence[Sequence[float]]) -> list[list[str]]:
    """Return the ids whose vectors are most like each query's."""
    units = [_of_unit_length(vector) for vector in vectors]
    nearest = []
    for query in map(_of_unit_length, queries):
        alike = likeness(query, dict(zip(ids, units)))
        nearest.append([id for _, id in sorted((-value, id) for id, value in alike.items())[:RESULTS]])
    return nearest


def _mean(values: Iterable[float]) -> float:
    """Return the mean of some numbers, at least one."""
    known = list(values)
    return math.fsum(known) / len(known)
