"""The policies of the tiers: the specification's names, its values but for those that docs/memory.md explains, and all of them in force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from popkit_retention import memory
from popkit_retention.memory.items import ARCHIVE, COLD, HOT, WARM
from popkit_retention.memory.tier_manager import DELETED
from popkit_retention.memory.transitions import Standing, decide, entry

from .spec_code import block_with
from .test_transitions import FRESH

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "memory.md"
NAMES = ("HOT_TIER_POLICY", "WARM_TIER_POLICY", "COLD_TIER_POLICY", "ARCHIVE_TIER_POLICY")
HOT_POLICY, WARM_POLICY, COLD_POLICY, ARCHIVE_POLICY = (getattr(memory, name) for name in NAMES)
# Of the specification's, that are others here.
OTHERS = {"COLD_TIER_POLICY.compression_levels", "ARCHIVE_TIER_POLICY.compression_levels"}


def leaves(policy: dict[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in policy.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{before}.{name}")
        else:
            yield f"{before}.{name}", value


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_in_a_policy_is_the_specifications_or_explained(name: str):
    theirs = dict(leaves(block_with(name)[name], name))
    ours = dict(leaves(getattr(memory, name), name))
    assert {key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]} == {key for key in OTHERS if key in ours}
    explained = DOCUMENT.read_text(encoding="utf-8")
    for key in (ours.keys() ^ theirs.keys()) | (OTHERS & ours.keys()):
        assert f"`{key.rpartition('.')[2]}`" in explained, key


def tier(standing: Standing) -> str:
    decision = decide(standing)
    return DELETED if decision.marks else decision.tier


WARMED, OLD = replace(FRESH, tier=WARM, score=0.4), replace(FRESH, tier=COLD, age_days=90, score=0.0, retention=0.0)
GONE = COLD_POLICY["delete_if"]
LEAVES = replace(FRESH, age_hours=99, score=0.0, retention=0.0)
BACK, STAYS, ENTRY = WARM_POLICY["promotion_criteria"], HOT_POLICY["retention_criteria"], WARM_POLICY["entry_criteria"]
KEY = ARCHIVE_POLICY["entry_criteria"]


@pytest.mark.parametrize(
    ("standing", "field", "bound", "at", "beyond", "step"),
    [
        (FRESH, "age_hours", HOT_POLICY["max_age_hours"], WARM, HOT, -0.1),
        (FRESH, "score", STAYS["composite_score_minimum"], HOT, WARM, -0.01),
        (LEAVES, "used_days", STAYS["reinforced_within_days"], HOT, COLD, 0.1),
        (LEAVES, "score", ENTRY["composite_score_minimum"], WARM, COLD, -0.01),
        (LEAVES, "retention", ENTRY["retention_probability_minimum"], WARM, COLD, -0.01),
        (WARMED, "idle_days", WARM_POLICY["max_age_days"], WARM, COLD, 0.1),
        (WARMED, "score", WARM_POLICY["min_composite_score"], WARM, COLD, -0.01),
        (WARMED, "lately", BACK["access_count_in_hot_window"], HOT, WARM, -1),
        (WARMED, "score", BACK["composite_score_rises_above"], HOT, WARM, -0.01),
        (replace(WARMED, used_here=True, used_days=0), "reinforcements", BACK["reinforcement_count_minimum"], HOT, WARM, -1),
        (replace(WARMED, reinforcements=99), "idle_days", COLD_POLICY["max_age_days"], WARM, COLD, 0.1),
        (OLD, "age_days", GONE["age_days"], DELETED, COLD, -0.1),
        (OLD, "score", GONE["composite_score_below"], COLD, DELETED, -0.01),
        (OLD, "accesses", GONE["access_count"], DELETED, COLD, 1),
        (OLD, "retention", GONE["retention_probability_below"], COLD, DELETED, -0.01),
        (replace(OLD, accesses=9), "score", KEY["composite_score_minimum"], ARCHIVE, COLD, -0.01),
        (replace(OLD, score=0.9), "accesses", KEY["access_count_minimum"], ARCHIVE, COLD, -1),
    ],
)
def test_every_bound_of_a_policy_is_in_force(standing: Standing, field: str, bound: float, at: str, beyond: str, step: float):
    assert tier(replace(standing, **{field: bound})) == at
    assert tier(replace(standing, **{field: bound + step})) == beyond


def test_a_new_item_is_hot_from_the_score_of_its_policy_on():
    bound = HOT_POLICY["min_composite_score"]
    assert [entry(score, newest=False).tier for score in (bound, bound - 0.01)] == [HOT, WARM]
