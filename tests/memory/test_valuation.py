"""Signals, score and forgetting: the specification's formulas."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
