"""Search items: those that answer a question best, by terms, neighbours, speaker, time or the likeness of embeddings. Pure, except for what
`search` asks of a store and of an index of vectors."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timezone

from .embeddings import HashedEmbedder, likeness
from .filters import EQUAL, matches
from .items import EMBEDDING
from .terms import rarity, terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from .embeddings import Embedder
    from .filters import Condition
    from .items import Item
    from .stores.protocol import Candidates, Store
    from .vectors.index import VectorIndex

    Found = list[tuple[Item, float]]

# What a search goes by: terms alone, vectors alone, or both.
WORDS, VECTOR, BOTH = MODES = ("words", "vector", "both")
# BM25 (Robertson and Zaragoza, 2009).
K1, B = 1.5, 0.3
# The share of its score that a turn lends to turns one and two places away. A turn mostly answers the one before, which lends more.
NEIGHBOURS = {-1: 0.45, -2: 0.225, 1: 0.3, 2: 0.15}
CANDIDATES = 100  # items that are ranked; twice as many where likeness may bring up one that shares few terms
LENDERS = 25  # the best items, whose neighbours are looked up
NAMED = 1.5  # for an item whose speaker or project the question names
DATED = 1.5  # for one of the time that the question names
ASKING = 0.8  # for a question: it is seldom an answer
LIKENESS = 0.5  # the score of the most alike item, where the one with the best terms gets 1
ALIKE = 0.3  # the least likeness at which an item that shares no term may answer
# Of reciprocal rank fusion (Cormack et al., 2009): a passed embedder's likeness has a scale that we do not know, ranks have none.
RANKS = 60
_MONTHS = "january february march april may june july august september october november december".split()
# Two months are words too.
_MONTH = re.compile(
    r"\b(?:(?i:january|february|april|june|july|august|september|october|november|december)"
    r"|March|May|(?i:in|of|since|until|last|this) (?:march|may))\b"
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def search(
    store: Store,
    words: str,
    project: str | None = None,
    most: int = 10,
    embedder: Embedder | None = None,
    where: Sequence[Condition] = (),
    now: float = 0.0,
    mode: str = BOTH,
    index: VectorIndex | None = None,
) -> Found:
    """Return the items of a store that answer best, with a score that is comparable only within one answer: those that meet all conditions
    of `where`, and have not expired at a time (seconds). `mode`: one of MODES.

    With an `index`, its vectors are compared, and both orders are fused by their ranks. Without one, items whose `details` name the same
    `embedder` are compared by their embeddings; embed them as `embedding_items.context` does. Where terms then find too few, items that are
    merely alike come last: an item that has faded to an embedding has no terms, and a model knows synonyms."""
    asked = _Question(store, words, project, where, now)
    if mode == VECTOR:
        return asked.by_index(index, most) if index is not None else asked.by_likeness(embedder or HashedEmbedder(), most)
    if index is not None and mode == BOTH:
        deep = max(most, CANDIDATES)
        return _by_ranks(asked.by_terms(None, deep), asked.by_index(index, deep))[:most]
    return asked.by_terms(embedder if mode == BOTH else None, most)


class _Question:
    """A question to a store: whatever finds an item, it is one of the project that meets the conditions."""

    def __init__(self, store: Store, words: str, project: str | None, where: Sequence[Condition], now: float) -> None:
        self.store, self.words, self.project, self.where, self.now = store, words, project, where, now

    def shown(self, items: Iterable[Item]) -> list[Item]:
        return [item for item in items if not item.has_expired(self.now) and matches(item, self.where)]

    def by_terms(self, embedder: Embedder | None, most: int) -> Found:
        store, words = self.store, self.words
        # Hashing knows no more of a text than its terms, a model does.
        by_model = embedder is not None and embedder.name != HashedEmbedder.name
        candidates = store.candidates(list(dict.fromkeys(terms_of(words))), self.project, CANDIDATES * (2 if by_model else 1), self.where)

        def around(places: Sequence[tuple[str, int]]) -> list[Item]:
            return self.shown(store.around(places))

        candidates.items = self.shown(candidates.items)
        if embedder is None:
            return rank(words, candidates, around)[:most]
        (query,) = embedder.embed([words])
        name = embedder.name

        def alike(items: Sequence[Item]) -> dict[str, float]:
            return likeness(query, {item.id: item.embedding for item in items if item.embedding and item.details.get("embedder") == name})

        results = rank(words, candidates, around, alike)[:most]
        if len(results) == most or not (by_model or any(total.level == EMBEDDING and total.items for total in store.totals(self.project))):
            return results
        found = {item.id for item, _ in results}
        scanned = self.shown(store.scan(self.project, marked=False, where=self.where))
        others = {item.id: item for item in scanned if item.embedding and item.id not in found}
        near = sorted(alike(list(others.values())).items(), key=lambda match: (-match[1], match[0]))
        least = results[-1][1] if results else 1.0
        return results + [(others[id], least * like) for id, like in near[: most - len(results)] if like >= ALIKE]

    def by_likeness(self, embedder: Embedder, most: int) -> Found:
        """Return the items whose own embeddings are nearest. Hashing is done here for items that have none: it is quick, and a kept
        embedding by hashing would say no more than the terms do."""
        items = {item.id: item for item in self.shown(self.store.scan(self.project, marked=False, where=self.where))}
        vectors = {id: item.embedding for id, item in items.items() if item.embedding and item.details.get("embedder") == embedder.name}
        if embedder.name == HashedEmbedder.name:
            lacking = [item for id, item in items.items() if id not in vectors and item.text]
            vectors.update(zip((item.id for item in lacking), embedder.embed([item.text for item in lacking])))
        (query,) = embedder.embed([self.words])
        near = sorted(likeness(query, vectors).items(), key=lambda match: (-match[1], match[0]))
        return [(items[id], like) for id, like in near[:most]]

    def by_index(self, index: VectorIndex, most: int) -> Found:
        """Return the items whose vectors in an index are nearest. The index keeps scopes apart; other conditions, marks and expiry are
        the items' own, so more are asked for until as many fit. Nothing is shown on the index's word alone."""
        within = {condition.field: str(condition.value) for condition in self.where if condition.operator == EQUAL and not condition.key}
        if self.project is not None:
            within.setdefault("project", self.project)
        query, wanted = index.query(self.words), most
        while True:
            near = index.nearest(query, wanted, within)
            there = self.shown(self.store.get([id for id, _ in near]))
            items = {item.id: item for item in there if item.marked_at is None and self.project in (None, item.project)}
            found = [(items[id], like) for id, like in near if id in items]
            if len(found) >= most or len(near) < wanted:
                return found[:most]
            wanted *= 4


def _by_ranks(*orders: Found) -> Found:
    """Fuse orders by the ranks of the items in each, ties by id."""
    items: dict[str, Item] = {}
    scores: dict[str, float] = {}
    for order in orders:
        for place, (item, _) in enumerate(order, 1):
            items[item.id] = item
            scores[item.id] = scores.get(item.id, 0.0) + 1.0 / (RANKS + place)
    return [(items[id], scores[id]) for id in sorted(scores, key=lambda key: (-scores[key], key))]


def rank(
    query: str,
    candidates: Candidates,
    around: Callable[[Sequence[tuple[str, int]]], Sequence[Item]] = lambda places: (),
    alike: Callable[[Sequence[Item]], Mapping[str, float]] = lambda items: {},
) -> list[tuple[Item, float]]:
    """Return the items that answer a query, the best first, ties by id. `around`: see `Store.around` · `alike`: the likeness of items to
    the query, by id.

    An item scores by its own terms (BM25) and by those of its neighbours in the episode; likeness is added; then the score is multiplied by
    factors for the speaker, the time, and whether the item is a question.
    """
    query_terms = dict.fromkeys(terms_of(query))
    items = [item for item in candidates.items if item.marked_at is None]
    # Speakers seldom use their own names; the others call them by them.
    of_speakers = {term for speaker in {item.speaker for item in items} for term in terms_of(speaker)}
    weights = _weights([term for term in query_terms if term not in of_speakers] or list(query_terms), candidates)
    own = {item.id: _bm25(item, weights, candidates.mean_length) for item in items}
    best = sorted(items, key=lambda item: (-own[item.id], item.id))[:LENDERS]
    held = {(item.episode, item.place) for item in items}
    wanted = dict.fromkeys((item.episode, item.place + step) for item in best if item.episode for step in NEIGHBOURS)
    for item in around([place for place in wanted if place not in held and place[1] >= 0]):
        if item.marked_at is None and item.id not in own:
            own[item.id] = _bm25(item, weights, candidates.mean_length)
            items.append(item)
    by_place: dict[tuple[str, int], float] = {}
    for item in items:
        by_place[item.episode, item.place] = max(own[item.id], by_place.get((item.episode, item.place), 0.0))
    scores = _fused({item.id: own[item.id] + _lent(item, by_place) for item in items}, alike(items))
    named = {name for name in {name for item in items for name in (item.speaker, item.project)} if _names(query_terms, name)}
    times = _Times(query)
    listed = [(item, scores[item.id] * _worth(item, named, times)) for item in items if scores[item.id] > 0]
    return sorted(listed, key=lambda match: (-match[1], match[0].id))


def _names(wanted: Container[str], name: str) -> bool:
    """Return whether a question names a speaker, or a project by the end of its name."""
    terms = terms_of(name.rpartition("/")[2])
    return bool(terms) and all(term in wanted for term in terms)


def _weights(terms: Sequence[str], candidates: Candidates) -> dict[str, float]:
    """Return the weight of each term: the fewer items have it, the more. Never below 0."""
    total = candidates.total
    return {term: rarity(total, min(candidates.holding.get(term, 0), total)) for term in terms}


def bm25(counts: Mapping[str, int], length: int, weights: Mapping[str, float], mean_length: float) -> float:
    """Return how well a text of this many terms answers a question. `counts`: how often it has each; `weights`: the weights of the
    question's terms."""
    penalty = K1 * (1 - B + B * length / (mean_length or 1.0))
    held = ((weight, counts[term]) for term, weight in weights.items() if term in counts)
    return sum(weight * count * (K1 + 1) / (count + penalty) for weight, count in held)


def _bm25(item: Item, weights: Mapping[str, float], mean_length: float) -> float:
    if item.level == EMBEDDING:
        return 0.0
    terms = terms_of(item.text)
    return bm25(Counter(terms), len(terms), weights, mean_length)


def _lent(item: Item, by_place: Mapping[tuple[str, int], float]) -> float:
    """Return what the turns around an item lend it; the items of one turn (its sentences, say) lend as much as the best of them."""
    if not item.episode:
        return 0.0
    return sum(share * by_place.get((item.episode, item.place + step), 0.0) for step, share in NEIGHBOURS.items())


def _fused(scores: Mapping[str, float], likenesses: Mapping[str, float]) -> dict[str, float]:
    """Put both kinds of evidence on one scale, on which the best of each is known."""
    if not likenesses:
        return dict(scores)
    top, most_alike = max(scores.values()) or 1.0, max(likenesses.values())
    if most_alike <= 0:
        return {id: score / top for id, score in scores.items()}
    return {id: score / top + LIKENESS * max(0.0, likenesses.get(id, 0.0)) / most_alike for id, score in scores.items()}


def _worth(item: Item, named: Container[str], times: _Times) -> float:
    worth = NAMED if item.speaker in named or item.project in named else 1.0
    if times.fit(item.created_at):
        worth *= DATED
    return worth * ASKING if item.text.endswith("?") else worth


class _Times:
    """The months and years that a question names."""

    def __init__(self, query: str) -> None:
        self.months = {_MONTHS.index(month.lower().split()[-1]) + 1 for month in _MONTH.findall(query)}
        self.years = {int(year) for year in _YEAR.findall(query)}
        for year, month in re.findall(r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])\b", query):
            self.years.add(int(year))
            self.months.add(int(month))

    def fit(self, at: float) -> bool:
        """Return whether a time (seconds; 0 for none) is one of them."""
        if not (self.months or self.years) or not at:
            return False
        day = datetime.fromtimestamp(at, timezone.utc)
        return (not self.months or day.month in self.months) and (not self.years or day.year in self.years)


def similarities(prompt: str, episodes: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> dict[str, float]:
    """Return, by id, how much the most similar of the episodes that wrote an item is about a prompt, 0 to 1 for the best: BM25 over the
    items of each. `episodes`: episode -> ids, `texts`: id -> text. Only ids above 0."""
    wanted = set(terms_of(prompt))
    counted = {name: Counter(term for id in ids for term in terms_of(texts.get(id, ""))) for name, ids in episodes.items()}
    if not wanted or not counted:
        return {}
    mean = sum(sum(terms.values()) for terms in counted.values()) / len(counted) or 1.0
    holding = Counter(term for terms in counted.values() for term in wanted & terms.keys())
    weights = {term: rarity(len(counted), held) for term, held in holding.items()}
    scores = {name: bm25(terms, sum(terms.values()), weights, mean) for name, terms in counted.items()}
    best = max(scores.values())
    similar: dict[str, float] = {}
    for name, ids in episodes.items():
        for id in ids if best and scores[name] else ():
            similar[id] = max(similar.get(id, 0.0), scores[name] / best)
    return similar
