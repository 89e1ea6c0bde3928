"""Laws of the bound: what is likely to be needed again, and what has been looked up, makes less leave, and later; far from it all may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.bound import CAUTION, REQUESTS, Bound

MOST = st.floats(0, 100)
COUNTS = st.integers(0, 2_000)
TAKEN = st.floats(0, 50)
NEEDS = st.floats(0, 200)


@given(MOST, COUNTS, COUNTS, COUNTS, TAKEN, NEEDS)
def test_more_look_ups_never_let_more_leave_and_more_requests_never_less(
    most: float, requests: int, few: int, more: int, taken: float, needs: float
):
    stays = Bound(most, few, requests, taken).stays(needs)
    assert 0 <= stays <= Bound(most, few + more, requests, taken).stays(needs) <= 1
    assert Bound(most, few, requests + more, taken).stays(needs) <= stays
    assert Bound(most + more, few, requests, taken).stays(needs) <= stays


@given(MOST, COUNTS, COUNTS, TAKEN, TAKEN, NEEDS, NEEDS)
def test_what_left_and_was_not_looked_up_lets_more_leave_and_more_needs_less(
    most: float, look_ups: int, requests: int, taken: float, more: float, needs: float, others: float
):
    stays = Bound(most, look_ups, requests, taken).stays(needs)
    assert Bound(most, look_ups, requests, taken + more).stays(needs) <= stays
    assert stays <= Bound(most, look_ups, requests, taken).stays(needs + others)


@given(MOST, COUNTS, COUNTS, TAKEN, NEEDS)
def test_what_has_to_be_expected_to_be_looked_up_fits_into_the_bound(most: float, look_ups: int, requests: int, taken: float, needs: float):
    bound = Bound(most, look_ups, requests, taken)
    expected = (1 - bound.stays(needs)) * bound.cost(needs)
    assert expected == 0 or look_ups + expected <= most * max(requests, REQUESTS) / 100 + 1e-6


@given(COUNTS, TAKEN, NEEDS)
def test_within_a_bound_of_none_nothing_leaves_and_far_from_any_all_may(requests: int, taken: float, needs: float):
    assert Bound(0, 0, requests, taken).stays(needs) == 1
    assert Bound(2, 0, requests + round(50 * CAUTION * (1 + needs)), taken).stays(needs) == 0


@pytest.mark.parametrize(
    ("look_ups", "requests", "taken", "needs", "stays"),
    [
        (0, 10, 0.0, 8.0, 2 / 3),
        (0, 200, 0.0, 8.0, 1 / 3),
        (0, 200, 1.0, 8.0, 0.0),
        (4, 200, 1.0, 8.0, 1 / 3),
        (0, 10, 0.0, 2.0, 0.0),
        (0, 10, 0.0, 14.0, 1.0),
    ],
)
def test_a_third_of_what_the_bound_has_left_may_be_expected(look_ups: int, requests: int, taken: float, needs: float, stays: float):
    assert Bound(8, look_ups, requests, taken).stays(needs) == pytest.approx(stays)


def test_once_the_bound_is_reached_nothing_leaves_before_more_requests_have_come():
    assert [Bound(2, 4, requests, 1.0).stays(1.5) == 1 for requests in (100, 200, 2_000)] == [True, True, False]
