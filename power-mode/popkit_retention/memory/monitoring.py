"""Monitoring: the specification's four queries (6.3) over a store of any kind. `tier_manager` has them as Cypher."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks.utils.policy.estimate import estimate_tokens

from .items import FULL, HOT, LEVELS, WARM
from .transitions import HOT_HOURS, HOT_STAYS, HOUR_S, KEY_ACCESSES, KEY_SCORE

if TYPE_CHECKING:
    from .items import Item
    from .stores import Store

MOST_DEMOTION, MOST_ARCHIVE = 10, 5  # candidates, as the specification has it
PREVIEW = 100  # characters


@dataclass(frozen=True)
class Compressed:
    """How compression works at one level: so many items, their mean tokens and score."""

    level: str
    items: int
    mean_tokens: float
    mean_score: float


@dataclass(frozen=True)
class Monitoring:
    """Items by tier, the fullest first; the levels below full; and candidates: HOT items for demotion (older than 24 hours and worth less
    than 0.6), WARM ones for ARCHIVE (worth at least 0.8, asked for five times)."""

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
    """Return the answers to the four queries, with scores as the last run of the job has left them."""
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
