"""MemoryTierManager, by the specification's name (part 5.2): the tiers of items that are dictionaries, by the rules of `transitions`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Protocol

from .items import BY_JOB, TIERS, WARM, Item
from .tier_policies import DEFAULT, Policy, TierPolicies, policies_of
from .transitions import Moment, Standing, decide, standing_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    """Evaluates items of every level and moves them. Without a client it only evaluates. `policies`: see `tier_policies`, BadTierPolicy
    for a wrong one. `transitions` says how its rules differ from the
    specification's code."""

    def __init__(self, neo4j_client: Client | None = None, policies: Mapping[str, Policy] | None = None) -> None:
        self.neo4j = neo4j_client
        self.policies = policies_of(policies)

    def evaluate_and_transition(self, memory_item: Mapping[str, object], now: datetime | None = None) -> tuple[str, str]:
        """Return (the item's new tier, the action); the tier is `DELETED` for an item that is to be marked for deletion. Raise KeyError
        without `id` or `created_at`, ValueError for values that are not times or numbers, LookupError where the database has no such item,
        so that nothing was moved.

        Optional, with the specification's defaults: `tier`, `composite_score`, `access_count`, `last_accessed`, `reinforcement_count`,
        `recent_accesses_4h`, `accessed_after_demotion`.
        """
        decision = decide(standing_in(memory_item, (now or datetime.now(timezone.utc)).timestamp(), self.policies))
        tier = DELETED if decision.marks else decision.tier
        id, before = str(memory_item["id"]), str(memory_item.get("tier", WARM))
        if tier != before and self.neo4j is not None:
            parameters: dict[str, object] = {"item_id": id, "from_tier": before, "to_tier": tier}
            if not list(self.neo4j.run(TRANSITION, parameters)):
                raise LookupError(f"no KnowledgeChunk or CompressedContext has the id {id!r:.60}: it was not moved from {before} to {tier}")
        return tier, decision.action


def standing_in(known: Mapping[str, object], now: float, policies: TierPolicies = DEFAULT) -> Standing:
    """Return the standing of an item of the specification's; KeyError or ValueError as above."""
    created = known["created_at"]
    item = Item(
        str(known["id"]), "", created_at=_seconds(created), last_accessed=_seconds(known.get("last_accessed") or created),
        tier=next((tier for tier in TIERS if tier == known.get("tier")), WARM), access_count=int(_number(known, "access_count", 0)),
        reinforcements=int(_number(known, "reinforcement_count", 0)),
    )  # fmt: skip
    standing = standing_of(item, Moment(now, policies=policies), _number(known, "composite_score", 0.5))
    lately, accessed_here = int(_number(known, "recent_accesses_4h", 0)), bool(known.get("accessed_after_demotion"))
    return replace(standing, lately=lately, accessed_here=accessed_here)


def _number(known: Mapping[str, object], name: str, default: float) -> float:
    value = known.get(name, default)
    if not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} is {value!r:.40}, not a number")
    return value


def _seconds(value: object) -> float:
    """Return the seconds of a time, or of one in ISO 8601, with its zone; UTC if it names none."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r:.40} is not a time")
    return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
