"""What of a memory a prompt is about: sessions that wrote of the same are likely to be gone on with. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .search import bm25
from .terms import rarity, terms_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def similarities(prompt: str, episodes: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> dict[str, float]:
    """id -> how much the most alike of the episodes that wrote an item is about a prompt, 0 to 1 for the best: BM25 over the items of each.
    `episodes`: episode -> ids, `texts`: id -> text. Only ids above 0."""
    asked = set(terms_of(prompt))
    counted = {name: Counter(term for id in ids for term in terms_of(texts.get(id, ""))) for name, ids in episodes.items()}
    if not asked or not counted:
        return {}
    mean = sum(sum(terms.values()) for terms in counted.values()) / len(counted) or 1.0
    holding = Counter(term for terms in counted.values() for term in asked & terms.keys())
    weights = {term: rarity(len(counted), held) for term, held in holding.items()}
    scores = {name: bm25(terms, sum(terms.values()), weights, mean) for name, terms in counted.items()}
    best = max(scores.values())
    found: dict[str, float] = {}
    for name, ids in episodes.items():
        for id in ids if best and scores[name] else ():
            found[id] = max(found.get(id, 0.0), scores[name] / best)
    return found
