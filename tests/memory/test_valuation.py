"""Signals, score and forgetting: the specification's formulas; and the policies of the tiers: its names, its values but for those that
docs/design/memory.md explains, and all of them in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention import memory
from popkit_retention.memory.items import ARCHIVE, COLD, HOT, WARM
from popkit_retention.memory.tier_manager import DELETED
from popkit_retention.memory.transitions import Standing, decide, entry
from popkit_retention.memory.valuation import (
    ForgettingCurveModel,
    SignalCalculator,
    ValueClassification,
    days_between,
    days_until,
    memory_strength,
    retention,
)

from .spec_code import block_with
from .test_transitions import FRESH

NOW = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
unit = st.floats(0, 1)
days = st.integers(0, 4000)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@given(unit, unit, unit, unit)
def test_the_score_is_the_specifications(a: float, b: float, c: float, d: float):
    theirs = block_with("ValueClassification")["ValueClassification"](a, b, c, d)
    ours = ValueClassification(a, b, c, d)
    assert ours.calculate_composite_score() == pytest.approx(theirs.calculate_composite_score(), abs=1e-4)
    weights = {"retention_value": 0.1, "uniqueness": 0.2, "confidence": 0.3, "access_recency": 0.4}
    assert ours.calculate_composite_score(weights) == pytest.approx(theirs.calculate_composite_score(weights), abs=1e-4)


@given(st.lists(days, max_size=30), days, st.integers(0, 12))
def test_the_signals_are_the_specifications_on_whole_days(accesses: list[int], last: int, reinforcements: int):
    theirs = block_with("SignalCalculator")["SignalCalculator"]()
    ours = SignalCalculator()
    now = datetime.now(timezone.utc)
    history = [now - timedelta(days=each) for each in accesses]
    assert ours.calculate_retention_value(history) == pytest.approx(theirs.calculate_retention_value(history), abs=1e-4)
    at = now - timedelta(days=last)
    assert ours.calculate_access_recency(at, reinforcements) == theirs.calculate_access_recency(at, reinforcements)


vectors = st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=0, max_size=8, unique_by=tuple)


@given(vectors)
def test_uniqueness_is_the_specifications_up_to_one(embeddings: list[list[float]]):
    theirs = block_with("SignalCalculator")["SignalCalculator"]()
    mine = embeddings[0] if embeddings else [1.0, 0.0, 0.0]
    ours = SignalCalculator().calculate_uniqueness(mine, embeddings)
    assert ours == pytest.approx(min(1.0, theirs.calculate_uniqueness(mine, embeddings)), abs=1e-4)
    assert 0.0 <= ours <= 1.0


def test_a_note_that_points_the_other_way_than_all_others_is_as_unique_as_can_be():
    assert SignalCalculator().calculate_uniqueness([1.0, 0.0], [[1.0, 0.0], [-1.0, 0.1]]) == 1.0


def test_uniqueness_of_what_is_there_twice_and_alone_is_none():
    assert SignalCalculator().calculate_uniqueness([1.0, 0.0], [[1.0, 0.0], [1.0, 0.0]]) == 0.0


@given(days, st.integers(0, 12))
def test_forgetting_is_the_specifications_on_whole_days(last: int, reinforcements: int):
    theirs = block_with("ForgettingCurveModel")["ForgettingCurveModel"]()
    ours = ForgettingCurveModel()
    at = datetime.now(timezone.utc) - timedelta(days=last)
    assert ours.calculate_memory_strength("m", reinforcements) == pytest.approx(theirs.calculate_memory_strength("m", reinforcements))
    assert ours.calculate_retention_probability("m", at, reinforcements) == theirs.calculate_retention_probability("m", at, reinforcements)
    assert ours.should_reinforce("m", at, reinforcements) == theirs.should_reinforce("m", at, reinforcements)


@pytest.mark.parametrize(
    ("reinforcements", "strength", "after_30"), [(0, 7, 0.0138), (1, 10.5, 0.0574), (2, 15.75, 0.1489), (3, 23.625, 0.2809)]
)
def test_the_reinforcement_schedule_is_the_specifications(reinforcements: int, strength: float, after_30: float):
    model = ForgettingCurveModel()
    assert model.calculate_memory_strength("m", reinforcements) == pytest.approx(strength)
    assert model.calculate_retention_probability("m", ago(30), reinforcements, NOW) == after_30


def test_parts_of_a_day_count_where_they_are_asked_for():
    assert SignalCalculator().calculate_access_recency(ago(0.9), now=NOW) == 1.0
    assert SignalCalculator(fractional=True).calculate_access_recency(ago(0.9), now=NOW) == 0.9139
    assert ForgettingCurveModel().calculate_retention_probability("m", ago(0.9), 0, NOW) == 1.0


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.integers(0, 2000))
def test_what_was_asked_for_later_or_reinforced_more_is_remembered_better(a: float, b: float, reinforcements: int):
    near, far = sorted((a, b))
    assert retention(near, memory_strength(reinforcements)) >= retention(far, memory_strength(reinforcements))
    assert retention(far, memory_strength(reinforcements + 1)) >= retention(far, memory_strength(reinforcements))


@given(st.floats(0.01, 1), st.integers(0, 10))
def test_days_until_is_when_the_chance_is_reached(chance: float, reinforcements: int):
    assert retention(days_until(chance, reinforcements), memory_strength(reinforcements)) == pytest.approx(chance, abs=1e-4)


def test_a_clock_that_leaps_back_makes_nothing_older():
    assert days_between(NOW + timedelta(days=3), NOW) == 0
    assert days_between(datetime(2026, 11, 21, 12), NOW) == 1  # noqa: DTZ001  without a zone it is of UTC


# --- the tiers' policies ------------------------------------------------------------------------------------------------------------------

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "design" / "memory.md"
NAMES = ("HOT_TIER_POLICY", "WARM_TIER_POLICY", "COLD_TIER_POLICY", "ARCHIVE_TIER_POLICY")
HOT_POLICY, WARM_POLICY, COLD_POLICY, ARCHIVE_POLICY = (getattr(memory, name) for name in NAMES)
# Of the specification's, that are others here.
OTHERS = {"COLD_TIER_POLICY.compression_levels", "ARCHIVE_TIER_POLICY.compression_levels"}


def leaves(policy: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in policy.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{before}.{name}")
        else:
            yield f"{before}.{name}", list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_cannot_be_changed(name: str):
    """The rules have taken its numbers: a change would look as if it were in force."""
    policy = getattr(memory, name)
    for part in (policy, *(value for value in policy.values() if isinstance(value, Mapping))):
        with pytest.raises(TypeError, match="does not support item assignment"):
            part["max_age_hours"] = 1


@pytest.mark.parametrize("name", NAMES)
def test_what_is_in_a_policy_is_the_specifications_or_explained(name: str):
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
