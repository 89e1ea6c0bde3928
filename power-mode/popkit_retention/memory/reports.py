"""Reports on a memory: why an item is where it is, the status of a project, the specification's four queries over a store of any kind
(6.3), and what compression loses (its metrics, 3.3)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

from hooks.utils.policy.estimate import estimate_tokens

from . import compression, holds, job, learning, search, transitions, valuation
from .compression import at_level, keywords
from .embeddings import likeness
from .items import EMBEDDING, FULL, HOT, KEYWORDS, LEVELS, SUMMARY, TIERS, WARM, Item
from .sentences import Corpus
from .stores.opening import empty_store
from .transitions import HOT_HOURS, HOT_STAYS, HOUR_S, KEY_ACCESSES, KEY_SCORE
from .valuation import DAY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .stores.protocol import Store, Total
    from .transitions import Decision, Moment

    Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
    Find = Callable[[Mapping[str, str]], Callable[[str], Sequence[str]]]

# The loss report searches every text for every other: more take minutes.
SAMPLES = 100


def why(store: Store, item: Item, moment: Moment) -> dict[str, object]:
    """Explain an item: `item`, `signals` (the specification's), `profile`, `strength`, `score`, `retention`, `decision` (the change that is
    due: tier, action, marks, reasons), `next` (the next one, with `at`; None where nothing comes), `hold` (who wants it kept, "" for
    nobody), `log`, and `taught_in`: the checkouts whose sessions taught it."""
    score = valuation.score(item, moment.now)
    decision = transitions.decide(transitions.standing_of(item, moment, score))
    following = transitions.foresee(item, moment, lambda at: valuation.score(item, at))
    signals = valuation.composite(item, moment.now)
    hold = holds.read(store, moment.now).on(item)
    return {
        "item": item.to_json(),
        "signals": {**vars(signals), "composite": signals.calculate_composite_score()},
        "profile": item.profile,
        "strength": round(valuation.strength(item), 4),
        "score": score,
        "retention": transitions.retention_of(item, moment),
        "decision": _decision(decision),
        "next": {**_decision(following.decision), "at": following.at} if following else None,
        "hold": holds.in_words(hold) if hold else "",
        "log": store.logged(item.id, 20),
        "taught_in": learning.checkouts_of(store, item),
    }


def status(store: Store, project: str, now: float) -> dict[str, object]:
    """Return the status of a project. `tiers` and `levels`: name -> items and tokens · `items`, `tokens`, `marked`, and `told`, the marks
    that the user is notified of: see `holds.notices` · `waiting`: how many an agent has added that are not accepted yet · `asked`: accesses
    of the last 7 days · `sessions`: how many have taught something, and in how many of them something was `used` from memory · `run`: the
    job's last, None before the first · `alerts`: those of this project."""
    totals = store.totals(project)
    marked = accesses = waiting = 0
    week = now - 7 * DAY_S
    for item in store.scan(project):
        marked += item.marked_at is not None
        waiting += item.waits and item.marked_at is None
        accesses += sum(at >= week for at in item.accesses)
    run = job.last_run(store)
    alerts = run.get("alerts") if run else None
    known = [alert for alert in alerts if isinstance(alert, dict)] if isinstance(alerts, list) else []
    taught = learning.lessons_of(store, project).values()
    return {
        "project": project,
        "tiers": {tier: _sum(total for total in totals if total.tier == tier) for tier in TIERS},
        "levels": {level: _sum(total for total in totals if total.level == level) for level in sorted({total.level for total in totals})},
        **_sum(totals),
        "marked": marked,
        "waiting": waiting,
        "told": holds.notices(store, project),
        "asked": accesses,
        "sessions": len(taught),
        "used": sum(bool(lesson.get("used")) for lesson in taught),
        "run": run,
        "alerts": [alert for alert in known if alert.get("project") == project],
    }


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


def _decision(decision: Decision) -> dict[str, object]:
    return {"tier": decision.tier, "action": decision.action, "marks": decision.marks, "reasons": list(decision.reasons)}


def _sum(totals: Iterable[Total]) -> dict[str, int]:
    counted = list(totals)
    return {"items": sum(total.items for total in counted), "tokens": sum(total.tokens for total in counted)}


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


# --- monitoring ---

MOST_DEMOTION, MOST_ARCHIVE = 10, 5  # candidates, as the specification has it
PREVIEW = 100  # characters


@dataclass(frozen=True)
class Compressed:
    """The state of one level: its number of items, their mean tokens and score."""

    level: str
    items: int
    mean_tokens: float
    mean_score: float


@dataclass(frozen=True)
class Monitoring:
    """Items by tier, the fullest first; the levels below full; and candidates: HOT items for demotion (older than 24 hours with a score
    below 0.6), WARM ones for ARCHIVE (a score of at least 0.8, asked for five times)."""

    tiers: dict[str, int]
    levels: list[Compressed]
    demotion: list[Item]
    archive: list[Item]

    def to_json(self) -> dict[str, object]:
        levels = [vars(level) for level in self.levels]
        return {"tiers": self.tiers, "levels": levels, "demotion": _listed(self.demotion), "archive": _listed(self.archive)}


def _listed(items: list[Item]) -> list[dict[str, object]]:
    return [
        {"id": item.id, "project": item.project, "score": item.score, "accesses": item.access_count, "preview": item.text[:PREVIEW]}
        for item in items
    ]


def monitor(store: Store, now: float, project: str | None = None) -> Monitoring:
    """Return the answers to the four queries, with scores as of the last run of the job."""
    tiers: Counter[str] = Counter()
    tokens: dict[str, list[int]] = defaultdict(list)
    scores: dict[str, list[float]] = defaultdict(list)
    demotion, archive = [], []
    for item in store.scan(project, bare=True):
        tiers[item.tier] += 1
        if item.level != FULL:
            tokens[item.level].append(estimate_tokens(item.text))
            scores[item.level].append(item.score)
        if item.tier == HOT and item.created_at < now - HOT_HOURS * HOUR_S and item.score < HOT_STAYS:
            demotion.append(item)
        if item.tier == WARM and item.score >= KEY_SCORE and item.access_count >= KEY_ACCESSES:
            archive.append(item)
    levels = [
        Compressed(level, len(tokens[level]), sum(tokens[level]) / len(tokens[level]), sum(scores[level]) / len(scores[level]))
        for level in LEVELS
        if level in tokens
    ]
    demotion.sort(key=lambda item: (item.score, item.id))
    archive.sort(key=lambda item: (-item.score, item.id))
    ordered = sorted(tiers.items(), key=lambda tier: (-tier[1], tier[0]))
    return Monitoring(dict(ordered), levels, demotion[:MOST_DEMOTION], archive[:MOST_ARCHIVE])


def _mean(values: Iterable[float]) -> float:
    """Return the mean of some numbers, at least one."""
    known = list(values)
    return math.fsum(known) / len(known)
