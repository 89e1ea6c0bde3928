"""Laws of the bound: what has been looked up makes less leave, and later; far from it nothing changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy.bound import CAUTION, COST, REQUESTS, Bound

MOST = st.floats(0, 100)
COUNTS = st.integers(0, 2_000)
TAKEN = st.floats(0, 50)


@given(MOST, COUNTS, COUNTS, COUNTS, TAKEN)
def test_more_look_ups_never_let_more_leave_and_more_requests_never_less(most: float, requests: int, few: int, more: int, taken: float):
    stays = Bound(most, few, requests, taken).stays
    assert 0 <= stays <= Bound(most, few + more, requests, taken).stays <= 1
    assert Bound(most, few, requests + more, taken).stays <= stays
    assert Bound(most + more, few, requests, taken).stays <= stays


@given(MOST, COUNTS, COUNTS, TAKEN, TAKEN)
def test_what_has_left_and_was_not_looked_up_lets_more_leave(most: float, look_ups: int, requests: int, taken: float, more: float):
    assert Bound(most, look_ups, requests, taken + more).stays <= Bound(most, look_ups, requests, taken).stays


@given(MOST, COUNTS, COUNTS, TAKEN)
def test_what_is_expected_to_be_looked_up_fits_into_the_bound(most: float, look_ups: int, requests: int, taken: float):
    bound = Bound(most, look_ups, requests, taken)
    expected = (1 - bound.stays) * bound.cost
    assert expected == 0 or look_ups + expected <= most * max(requests, REQUESTS) / 100 + 1e-6


@given(COUNTS, TAKEN)
def test_within_a_bound_of_none_nothing_leaves_and_far_from_any_all_may(requests: int, taken: float):
    assert Bound(0, 0, requests, taken).stays == 1
    assert Bound(2, 0, requests + round(50 * CAUTION * COST), taken).stays == 0


def test_once_the_bound_is_reached_nothing_leaves_before_more_requests_have_come():
    assert [Bound(2, 4, requests, 1.0).stays for requests in (100, 200, 400)] == [1.0, 1.0, pytest.approx(1 - 4 / 9)]
