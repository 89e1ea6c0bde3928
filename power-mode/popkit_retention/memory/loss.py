"""What compression loses: the specification's metrics (3.3), and a report of them over real texts. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from hooks.utils.policy.estimate import estimate_tokens

from .compression import at_level, keywords
from .information import Corpus
from .items import EMBEDDING, KEYWORDS, SUMMARY
from .vectors import likeness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
    # Texts by id -> a query -> ids, best first.
    Find = Callable[[Mapping[str, str]], Callable[[str], Sequence[str]]]

RESULTS = 10  # of a query are compared
QUERY_TOKENS = 10  # of keywords ask for an item


class InformationLossMetrics:
    """The specification's metrics, to its fourth decimal. ValueError says what of the input makes no sense."""

    def calculate_semantic_preservation(self, original_embedding: Sequence[float], compressed_embedding: Sequence[float]) -> float:
        """The cosine of two embeddings; 0.0 where one of them is all zeros."""
        if len(original_embedding) != len(compressed_embedding):
            raise ValueError(f"embeddings of {len(original_embedding)} and {len(compressed_embedding)} numbers cannot be compared")
        original, compressed = _of_unit_length(original_embedding), _of_unit_length(compressed_embedding)
        return round(sum(a * b for a, b in zip(original, compressed)), 4)

    def calculate_token_efficiency(self, original_tokens: int, compressed_tokens: int, semantic_preservation: float) -> float:
        """How many times shorter a text has become, times what is preserved of its meaning. No tokens count as one."""
        if original_tokens < 0 or compressed_tokens < 0:
            raise ValueError(f"{min(original_tokens, compressed_tokens)} is not a number of tokens")
        return round(original_tokens / max(1, compressed_tokens) * semantic_preservation, 4)

    def estimate_query_accuracy(
        self, test_queries: Sequence[str], original_results: Sequence[Sequence[str]], compressed_results: Sequence[Sequence[str]]
    ) -> dict[str, float]:
        """Mean precision and recall of queries' results after compression against those before, and the F1 of these means. Where nothing
        was found precision is 0, where nothing was to be found recall is 1; of no queries everything is 0."""
        if not len(test_queries) == len(original_results) == len(compressed_results):
            counts = f"{len(original_results)} results before and {len(compressed_results)} after"
            raise ValueError(f"{len(test_queries)} queries have {counts} compression; there must be one of each for every query")
        if not test_queries:
            return {"precision": 0.0, "recall": 0.0, "f1_score": 0.0}
        pairs = [(set(original), set(compressed)) for original, compressed in zip(original_results, compressed_results)]
        precision = fmean(len(after & before) / len(after) if after else 0.0 for before, after in pairs)
        recall = fmean(len(after & before) / len(before) if before else 1.0 for before, after in pairs)
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
    """What a level does to `items` texts: their tokens before and at the level, means of semantic preservation and token efficiency, and
    how the results of queries compare with those on the full texts."""

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
    """A Loss for each level below full, over full texts by id. Every text is asked for by its own keywords: the best ten of the full corpus
    against the best ten of the compressed one. As an embedding a text is found by the likeness of its vector, which is that of the full
    text, so that only its words are lost. Nothing where there are no samples."""
    if not samples:
        return []
    ids, texts = list(samples), list(samples.values())
    corpus = Corpus(texts)
    queries = [keywords(text, QUERY_TOKENS, corpus) for text in texts]
    vectors = [list(vector) for vector in embed(texts)]
    before = _asked(find(samples), queries)
    losses = []
    for level in (SUMMARY, KEYWORDS, EMBEDDING):
        compressed = [at_level(text, level, summarise) for text in texts]
        if level == EMBEDDING:
            kept, after = vectors, _nearest(ids, vectors, embed(queries))
        else:
            kept = [list(vector) for vector in embed(compressed)]
            after = _asked(find(dict(zip(ids, compressed))), queries)
        losses.append(_loss(level, texts, compressed, vectors, kept, METRICS.estimate_query_accuracy(queries, before, after)))
    return losses


METRICS = InformationLossMetrics()


def _loss(
    level: str,
    texts: Sequence[str],
    compressed: Sequence[str],
    vectors: Sequence[Sequence[float]],
    kept: Sequence[Sequence[float]],
    accuracy: Mapping[str, float],
) -> Loss:
    sizes = [(estimate_tokens(text), estimate_tokens(short)) for text, short in zip(texts, compressed)]
    preserved = [METRICS.calculate_semantic_preservation(vector, short) for vector, short in zip(vectors, kept)]
    efficiency = [METRICS.calculate_token_efficiency(*size, each) for size, each in zip(sizes, preserved)]
    return Loss(
        level=level,
        items=len(texts),
        tokens=sum(full for full, _ in sizes),
        tokens_at_level=sum(short for _, short in sizes),
        semantic_preservation=round(fmean(preserved), 4),
        token_efficiency=round(fmean(efficiency), 4),
        **accuracy,
    )


def _asked(ask: Callable[[str], Sequence[str]], queries: Sequence[str]) -> list[list[str]]:
    return [list(ask(query))[:RESULTS] for query in queries]


def _nearest(ids: Sequence[str], vectors: Sequence[Sequence[float]], queries: Sequence[Sequence[float]]) -> list[list[str]]:
    """The ids whose vectors are most like each query's."""
    units = [_of_unit_length(vector) for vector in vectors]
    found = []
    for query in map(_of_unit_length, queries):
        alike = likeness(query, dict(zip(ids, units)))
        found.append([id for _, id in sorted((-value, id) for id, value in alike.items())[:RESULTS]])
    return found
