"""The specification's transition query (part 5.2) and its monitoring queries (part 6.3), over a store in Neo4j.

They look at one project, or at all; nodes of others are left out. A preview is `left(…)`: the specification slices texts like lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .neo4j import Neo4jStore

_OURS = "n:PopkitItem AND ($project IS NULL OR n.project = $project)"
_TRANSITION = """
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


@dataclass(frozen=True)
class Compressed:
    """How compression works at one level: so many items, their mean tokens and score."""

    level: str
    items: int
    mean_tokens: float
    mean_score: float


def transition(store: Neo4jStore, id: str, before: str, after: str, at: float) -> bool:
    """Moves an item from one tier to another; False where it is not there, or in another tier by now."""
    return bool(store.ask(_TRANSITION, writes=True, id=id, before=before, after=after, at=at))


def tier_distribution(store: Neo4jStore, project: str | None = None) -> dict[str, int]:
    """tier -> items, the fullest first."""
    return dict(store.ask(_DISTRIBUTION, project=project))


def compression_effectiveness(store: Neo4jStore, project: str | None = None) -> list[Compressed]:
    """What compression has made, by level."""
    return [Compressed(*row) for row in store.ask(_EFFECTIVENESS, project=project)]


def demotion_candidates(store: Neo4jStore, now: float, project: str | None = None, most: int = 10) -> list[tuple[str, float, int]]:
    """HOT items that are older than 24 hours and worth less than 0.6: (id, score, accesses)."""
    return [(id, score, accesses) for id, score, accesses in store.ask(_DEMOTION, project=project, now=now, most=most)]


def archive_candidates(store: Neo4jStore, project: str | None = None, most: int = 5) -> list[tuple[str, str]]:
    """WARM items that are worth at least 0.8 and were asked for 5 times: (id, how its text begins)."""
    return [(id, preview) for id, preview in store.ask(_ARCHIVE, project=project, most=most)]
