"""The policies of the memory tiers, by the specification's names and in its form (4.2 to 4.5): what `transitions`, `job` and `exchange` do
is read from here.

Nothing stands here that nothing reads. Where a value is not the specification's, or one of its keys is missing, docs/memory.md says why.
"""

from __future__ import annotations

from typing import Any

from .items import EMBEDDING, FULL, KEYWORDS, SUMMARY

HOT_TIER_POLICY: dict[str, Any] = {
    "max_age_hours": 24,
    "max_messages": 10,
    "min_composite_score": 0.7,
    "compression_allowed": False,
    # What stays once it is there.
    "retention_criteria": {"composite_score_minimum": 0.6, "reinforced_within_days": 3},
}

WARM_TIER_POLICY: dict[str, Any] = {
    "max_age_days": 7,  # since the last access, and longer for what was reinforced
    "min_composite_score": 0.3,
    "compression_levels": [FULL, SUMMARY],
    # To HOT.
    "promotion_criteria": {
        "accessed_within_hours": 4,
        "access_count_in_hot_window": 3,
        "composite_score_rises_above": 0.75,
        "reinforcement_count_minimum": 2,
    },
    # From HOT, where any of it holds.
    "entry_criteria": {"composite_score_minimum": 0.5, "retention_probability_minimum": 0.5},
}

COLD_TIER_POLICY: dict[str, Any] = {
    "max_age_days": 30,
    "compression_levels": [FULL, SUMMARY, KEYWORDS, EMBEDDING],
    # To WARM.
    "promotion_criteria": {"accessed_after_demotion": True},
    "deletion_allowed": True,
    "delete_if": {"age_days": 30, "composite_score_below": 0.1, "access_count": 0, "retention_probability_below": 0.05},
}

ARCHIVE_TIER_POLICY: dict[str, Any] = {
    "compression_levels": [FULL, SUMMARY],
    "backup_frequency": "weekly",
    # Any tier's way here; a key decision needs none of it.
    "entry_criteria": {"composite_score_minimum": 0.8, "access_count_minimum": 5},
}

_POLICIES = {"HOT": HOT_TIER_POLICY, "WARM": WARM_TIER_POLICY, "COLD": COLD_TIER_POLICY, "ARCHIVE": ARCHIVE_TIER_POLICY}


def levels_of(tier: str) -> list[str]:
    """Return the levels that items of a tier may be compressed to."""
    policy = _POLICIES[tier]
    return policy["compression_levels"] if policy.get("compression_allowed", True) else []
