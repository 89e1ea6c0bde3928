"""MemoryTierManager and the queries of Neo4j, by the specification's names: transitions of items that are dictionaries, over a client that
runs Cypher, and the transition (part 5.2) and monitoring queries (part 6.3) over a store in Neo4j.

The queries look at one project, or at all, and ignore nodes that are not ours. A preview is `left(…)`: the specification slices texts like
lists.
"""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Protocol

from .items import BY_JOB, TIERS, WARM
from .reports import Compressed
from .transitions import HOUR_S, Standing, decide
from .valuation import DAY_S, ForgettingCurveModel, ValueClassification

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .stores.neo4j import Neo4jStore

DELETED = "DELETED"
# In a store of ours, an item that is to be deleted keeps its tier and is marked; in others it gets the specification's tier.
TRANSITION = f"""
MATCH (n:KnowledgeChunk|CompressedContext) WHERE n.id = $item_id
WITH n, n:PopkitItem AND $to_tier = '{DELETED}' AS marked
FOREACH (_ IN CASE WHEN marked THEN [1] ELSE [] END |
  SET n.marked_at = datetime(), n.marked_by = '{BY_JOB}', n.terms = null)
FOREACH (_ IN CASE WHEN marked THEN [] ELSE [1] END |
  SET n.tier = $to_tier, n.tier_changed_at = datetime(), n.previous_tier = $from_tier, n.tier_score = n.composite_score)
RETURN n.id
"""


class Client(Protocol):
    """A client that runs Cypher and returns the rows: a session or a transaction of Neo4j's driver, say."""

    def run(self, cypher: str, parameters: dict[str, object]) -> Iterable[object]: ...


class MemoryTierManager:
    """Evaluates items of every level and moves them. Without a client it only evaluates. The rules are those of `transitions`, which says
    how they differ from the specification's code."""

    def __init__(self, neo4j_client: Client | None = None) -> None:
        self.neo4j = neo4j_client
        self.value_calc = ValueClassification(0, 0, 0, 0)
        self.forgetting_model = ForgettingCurveModel(fractional=True)

    def evaluate_and_transition(self, memory_item: Mapping[str, object], now: datetime | None = None) -> tuple[str, str]:
        """Return (the item's new tier, the action); the tier is `DELETED` for an item that is to be marked for deletion. Raise KeyError
        without `id` or `created_at`, ValueError for values that are not times or numbers, LookupError where the database has no such item,
        so that nothing was moved.

        Optional, with the specification's defaults: `tier`, `composite_score`, `access_count`, `last_accessed`, `reinforcement_count`,
        `recent_accesses_4h`, `accessed_after_demotion`; and `among_last_10`, `key_decision`, `held`, `previous_tier`, `tier_changed_at`,
        `last_reinforced`.
        """
        standing = self._standing(memory_item, now or datetime.now(timezone.utc))
        decision = decide(standing)
        tier = DELETED if decision.marks else decision.tier
        id, before = str(memory_item["id"]), str(memory_item.get("tier", WARM))
        if tier != before and self.neo4j is not None and not self._execute_transition(id, before, tier):
            raise LookupError(f"no KnowledgeChunk or CompressedContext has the id {id!r:.60}: it was not moved from {before} to {tier}")
        return tier, decision.action

    def _standing(self, item: Mapping[str, object], now: datetime) -> Standing:
        tier = item.get("tier", WARM)
        score = _number(item, "composite_score", 0.5)
        created, changed = _moment(item["created_at"]), item.get("tier_changed_at")
        accessed = _moment(item["last_accessed"]) if item.get("last_accessed") else created
        reinforcements = round(_number(item, "reinforcement_count", 0))
        since = (now - _moment(changed)).total_seconds() if changed else math.inf
        used = (now - _moment(item["last_reinforced"])).total_seconds() if item.get("last_reinforced") else math.inf
        age_s = max(0.0, (now - created).total_seconds())
        return Standing(
            tier=str(tier) if tier in TIERS else WARM,
            score=score,
            retention=self.forgetting_model.calculate_retention_probability(str(item["id"]), accessed, reinforcements, now),
            age_hours=min(age_s, max(0.0, since) if tier == "HOT" else math.inf) / HOUR_S,
            age_days=age_s / DAY_S,
            idle_days=max(0.0, (now - accessed).total_seconds()) / DAY_S,
            newest=bool(item.get("among_last_10", False)),
            lately=round(_number(item, "recent_accesses_4h", 0)),
            accesses=round(_number(item, "access_count", 0)),
            reinforcements=reinforcements,
            used_days=max(0.0, used) / DAY_S,
            used_here=used < since,
            accessed_here=bool(item.get("accessed_after_demotion", False)),
            fell_lately=item.get("previous_tier") == "HOT" and since < DAY_S,
            risen=item.get("previous_tier") != "HOT" or bool(item.get("accessed_after_demotion", False)),
            key=bool(item.get("key_decision", False)),
            held=bool(item.get("held", False)),
        )

    def _execute_transition(self, item_id: str, from_tier: str, to_tier: str) -> bool:
        """Move an item; return whether it exists, False without a client."""
        if self.neo4j is None:
            return False
        return len(list(self.neo4j.run(TRANSITION, {"item_id": item_id, "from_tier": from_tier, "to_tier": to_tier}))) > 0


def _number(item: Mapping[str, object], name: str, default: float) -> float:
    value = item.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r:.40}, not a number")
    return value


def _moment(value: object) -> datetime:
    """Return a time, or one in ISO 8601, with its zone; UTC if it names none."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r:.40} is not a time")
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


_OURS = "n:PopkitItem AND ($project IS NULL OR n.project = $project)"
_STORE_TRANSITION = """
MATCH (n:PopkitItem {id: $id})
SET n.locked = true
WITH n
SET n.locked = null
WITH n WHERE n.tier = $before
SET n.tier = $after, n.tier_changed_at = datetime({epochMillis: toInteger($at * 1000)}), n.previous_tier = $before,
    n.tier_score = n.composite_score
RETURN n.id
"""
_DISTRIBUTION = (
    f"MATCH (n:KnowledgeChunk|CompressedContext) WHERE {_OURS} RETURN n.tier AS tier, count(*) AS count ORDER BY count DESC, tier"
)
_EFFECTIVENESS = f"""
MATCH (n:CompressedContext) WHERE {_OURS}
RETURN n.compression_level AS level, count(*) AS count, avg(n.token_count) AS avg_tokens, avg(n.composite_score) AS avg_score
ORDER BY level
"""
_DEMOTION = f"""
MATCH (n:KnowledgeChunk) WHERE {_OURS}
  AND n.tier = 'HOT' AND n.created_at < datetime({{epochMillis: toInteger($now * 1000)}}) - duration('PT24H') AND n.composite_score < 0.6
RETURN n.id, n.composite_score, n.access_count ORDER BY n.composite_score, n.id LIMIT $most
"""
_ARCHIVE = f"""
MATCH (n:KnowledgeChunk|CompressedContext) WHERE {_OURS}
  AND n.tier = 'WARM' AND n.composite_score >= 0.8 AND n.access_count >= 5
RETURN n.id, left(n.content, 100) AS preview ORDER BY n.composite_score DESC, n.id LIMIT $most
"""


def transition(store: Neo4jStore, id: str, before: str, after: str, at: float) -> bool:
    """Move an item from one tier to another; return False where it no longer exists, or is in another tier by now."""
    return bool(store.ask(_STORE_TRANSITION, writes=True, id=id, before=before, after=after, at=at))


def tier_distribution(store: Neo4jStore, project: str | None = None) -> dict[str, int]:
    """Return the number of items by tier, the fullest first."""
    return dict(store.ask(_DISTRIBUTION, project=project))


def compression_effectiveness(store: Neo4jStore, project: str | None = None) -> list[Compressed]:
    """Return the results of compression, by level."""
    return [Compressed(*row) for row in store.ask(_EFFECTIVENESS, project=project)]


def demotion_candidates(store: Neo4jStore, now: float, project: str | None = None, most: int = 10) -> list[tuple[str, float, int]]:
    """Return HOT items that are older than 24 hours with a score below 0.6: (id, score, accesses)."""
    return [(id, score, accesses) for id, score, accesses in store.ask(_DEMOTION, project=project, now=now, most=most)]


def archive_candidates(store: Neo4jStore, project: str | None = None, most: int = 5) -> list[tuple[str, str]]:
    """Return WARM items with a score of at least 0.8 that were accessed 5 times: (id, beginning of the text)."""
    return [(id, preview) for id, preview in store.ask(_ARCHIVE, project=project, most=most)]
