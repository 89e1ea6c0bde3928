"""A memory stays within its bounds, whoever wrote what is in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.memory import Bounds, InMemoryStore, Item, Memory
from popkit_retention.memory.bounds import UNBOUNDED, excess
from tests.memory.remembering import DAY, NOW

ITEMS = st.lists(
    st.builds(
        Item,
        id=st.uuids().map(str),
        text=st.text("ab ", min_size=1, max_size=90),
        score=st.floats(0, 1),
        last_accessed=st.floats(NOW - 90 * DAY, NOW),
        held=st.booleans(),
    ),
    max_size=30,
    unique_by=lambda item: item.id,
)


@pytest.mark.parametrize("bounds", [Bounds(items=-1), Bounds(tokens=-1), Bounds(days=float("nan"))])
def test_a_bound_that_is_no_amount_is_refused_before_anything_is_deleted(bounds: Bounds) -> None:
    with pytest.raises(ValueError, match="a bound is a number from 0 on"):
        Memory(InMemoryStore(), bounds=bounds)


@given(items=ITEMS, most=st.integers(0, 30), tokens=st.integers(0, 400), days=st.floats(0, 90))
def test_what_stays_is_within_the_bounds_unless_it_may_not_go(items: list[Item], most: int, tokens: int, days: float) -> None:
    bounds = Bounds(most, tokens, days)
    going = {item.id for item, _ in excess(items, bounds, NOW, lambda item: not item.held)}
    staying = [item for item in items if item.id not in going]
    free = [item for item in staying if not item.held]
    assert not any(item.held for item in items if item.id in going)
    assert all(NOW - item.last_accessed <= days * DAY for item in free)
    if free:
        assert len(staying) <= most
        assert sum(estimate_tokens(item.text) for item in staying) <= tokens


@given(items=ITEMS, most=st.integers(0, 30))
def test_what_goes_is_worth_least(items: list[Item], most: int) -> None:
    going = {item.id for item, _ in excess(items, Bounds(most), NOW, lambda item: not item.held)}
    free = [item for item in items if not item.held]
    assert max((item.score for item in free if item.id in going), default=0) <= min(
        (item.score for item in free if item.id not in going), default=1
    )
    assert excess(items, UNBOUNDED, NOW, lambda item: True) == []


def _tokens(items: list[Item]) -> int:
    return sum(estimate_tokens(item.text) for item in items)


@pytest.mark.parametrize(
    ("bounds", "measure", "most"),
    [(Bounds(60), len, 66), (Bounds(None, tokens=700), _tokens, 850), (Bounds(None, days=30), len, 66)],
    ids=["items", "tokens", "days"],
)
def test_notes_that_come_every_day_stay_within_the_bounds(bounds: Bounds, measure: Callable[[list[Item]], int], most: int) -> None:
    """Two notes a day that nobody asks for; every tenth is pinned, and stays."""
    now = [NOW]
    memory = Memory(InMemoryStore(), "shop", lambda: now[0], bounds=bounds)
    pinned = []
    for day in range(60):
        for turn in range(2):
            item = memory.add(f"Day {day}, note {turn}: customer {day * 7 % 91} asked for the article {turn + day % 13}.")
            if day % 10 == 0 and turn == 0:
                pinned.append(memory.pin([item.id])[0].id)
        now[0] += DAY
        if day % 5 == 4:
            memory.run(force=True)
    left = memory.list(most=None)
    assert {item.id for item in left} >= set(pinned)
    assert measure(left) <= most
    now[0] += 2 * DAY
    memory.run(force=True)
    assert measure(memory.list(marked=None, most=None)) <= most, "what was marked is deleted a day later"
