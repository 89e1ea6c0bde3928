"""The specification's four queries over a store of any kind (6.3)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from popkit_retention.core.policy.estimate import estimate_tokens

from .items import FULL, HOT, LEVELS, WARM, Item
from .reports import MOST_ARCHIVE, MOST_DEMOTION
from .tier_policies import DEFAULT
from .transitions import HOUR_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .stores.protocol import Store
    from .tier_policies import TierPolicies


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
    """Items by tier, the fullest first; the levels below full; and candidates: HOT items for demotion (old, with a score too low to
    stay), WARM ones for ARCHIVE (a score high enough, asked for often), by the bounds of `policies`."""

    tiers: dict[str, int]
    levels: list[Compressed]
    demotion: list[Item]
    archive: list[Item]
    policies: TierPolicies = DEFAULT

    def to_json(self) -> dict[str, object]:
        levels = [vars(level) for level in self.levels]
        return {"tiers": self.tiers, "levels": levels, "demotion": _listed(self.demotion), "archive": _listed(self.archive)}


def _listed(items: list[Item]) -> list[dict[str, object]]:
    return [
        {"id": item.id, "project": item.project, "score": item.score, "accesses": item.access_count, "preview": item.text[:PREVIEW]}
        for item in items
    ]


def monitor(store: Store, now: float, project: str | None = None, policies: TierPolicies = DEFAULT) -> Monitoring:
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
        if item.tier == HOT and item.created_at < now - policies.hot_hours * HOUR_S and item.score < policies.hot_stays:
            demotion.append(item)
        if item.tier == WARM and item.score >= policies.key_score and item.access_count >= policies.key_accesses:
            archive.append(item)
    levels = [
        Compressed(level, len(tokens[level]), sum(tokens[level]) / len(tokens[level]), sum(scores[level]) / len(scores[level]))
        for level in LEVELS
        if level in tokens
    ]
    demotion.sort(key=lambda item: (item.score, item.id))
    archive.sort(key=lambda item: (-item.score, item.id))
    ordered = sorted(tiers.items(), key=lambda tier: (-tier[1], tier[0]))
    return Monitoring(dict(ordered), levels, demotion[:MOST_DEMOTION], archive[:MOST_ARCHIVE], policies)
