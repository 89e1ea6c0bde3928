"""Laws of the bound: what has been looked up makes less leave, and later; far from it nothing changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.bound import CAUTION, REQUESTS, WARM_COST, Bound

MOST = st.floats(0, 100)
COUNTS = st.integers(0, 2_000)
TAKEN = st.floats(0, 50)


@given(MOST, COUNTS, COUNTS, COUNTS, TAKEN, st.booleans())
def test_more_look_ups_never_let_more_leave_and_more_requests_never_less(
    most: float, requests: int, few: int, more: int, taken: float, is_cold: bool
):
    stays = Bound(most, few, requests, taken).stays(is_cold)
    assert 0 <= stays <= Bound(most, few + more, requests, taken).stays(is_cold) <= 1
    assert Bound(most, few, requests + more, taken).stays(is_cold) <= stays
    assert Bound(most + more, few, requests, taken).stays(is_cold) <= stays


@given(MOST, COUNTS, COUNTS, TAKEN, TAKEN)
def test_what_has_left_and_was_not_looked_up_lets_more_leave_and_so_does_a_pause(
    most: float, look_ups: int, requests: int, taken: float, more: float
):
    stays = Bound(most, look_ups, requests, taken).stays(is_cold=False)
    assert Bound(most, look_ups, requests, taken + more).stays(is_cold=False) <= stays
    assert Bound(most, look_ups, requests, taken).stays(is_cold=True) <= stays


@given(MOST, COUNTS, COUNTS, TAKEN, st.booleans())
def test_what_has_to_be_expected_to_be_looked_up_fits_into_the_bound(
    most: float, look_ups: int, requests: int, taken: float, is_cold: bool
):
    bound = Bound(most, look_ups, requests, taken)
    expected = (1 - bound.stays(is_cold)) * bound.cost(is_cold)
    assert expected == 0 or look_ups + expected <= most * max(requests, REQUESTS) / 100 + 1e-6


@given(COUNTS, TAKEN, st.booleans())
def test_within_a_bound_of_none_nothing_leaves_and_far_from_any_all_may(requests: int, taken: float, is_cold: bool):
    assert Bound(0, 0, requests, taken).stays(is_cold) == 1
    assert Bound(2, 0, requests + round(50 * CAUTION * WARM_COST), taken).stays(is_cold) == 0


def test_once_the_bound_is_reached_nothing_leaves_before_more_requests_have_come():
    assert [Bound(2, 4, requests, 1.0).stays(is_cold=True) == 1 for requests in (100, 200, 2_000)] == [True, True, False]
