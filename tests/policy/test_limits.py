"""When a limit's window will be full: what holds of every history, and the cases that a person would check."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.limits import FIVE_HOUR, LEAST_S, SEVEN_DAY, Reading, full_at, pace, windows

T = 1_800_000_000.0
HOUR = 3_600.0


def history(steps: list[tuple[float, float]], resets_at: float = T + 5 * HOUR, kind: str = FIVE_HOUR) -> list[Reading]:
    """Readings of one window: [(seconds since T, percent)]."""
    return [Reading(kind, T + at, percent, resets_at) for at, percent in steps]


STEPS = st.lists(st.tuples(st.floats(0, 5 * HOUR - 1), st.floats(0, 100)), min_size=1, max_size=30).map(
    lambda steps: list(zip(sorted(at for at, _ in steps), sorted(percent for _, percent in steps)))
)


@given(STEPS, st.floats(0, 6 * HOUR))
def test_it_is_never_full_before_now_nor_after_the_reset(steps: list[tuple[float, float]], later: float):
    now = T + steps[-1][0] + later
    for window in windows(history(steps), now):
        assert now < window.newest.resets_at
        assert window.full_at is None or now <= window.full_at <= window.newest.resets_at


@given(STEPS, st.floats(0, 50))
def test_the_more_is_used_the_earlier_it_is_full(steps: list[tuple[float, float]], more: float):
    (*before, (at, percent)), now = steps, T + steps[-1][0]
    (less_used,) = windows(history(steps), now)
    (more_used,) = windows(history([*before, (at, min(100.0, percent + more))]), now)
    assert (more_used.pace or 0) >= (less_used.pace or 0)
    if less_used.full_at is not None:
        assert more_used.full_at is not None
        assert more_used.full_at <= less_used.full_at + 1e-3


@given(st.floats(0, LEAST_S - 1), st.floats(0, 100))
def test_too_short_a_time_has_no_pace(later: float, percent: float):
    assert pace(history([(0, 0)])) is None
    assert pace(history([(0, 0), (later, percent)])) is None


def test_a_steady_use_goes_on():
    (window,) = windows(history([(0, 20), (600, 24), (1_800, 32), (3_600, 44)]), T + HOUR)
    assert window.pace == pytest.approx(24)
    assert window.full_at == pytest.approx(T + HOUR + 56 / 24 * HOUR)


def test_the_five_hour_pace_is_that_of_the_last_hour_and_a_week_s_of_the_last_day():
    steps = [(0.0, 0.0), (2 * HOUR, 40.0), (3 * HOUR, 50.0), (4 * HOUR, 53.0)]
    assert pace(history(steps)) == pytest.approx(3)
    days = [(24 * at, percent) for at, percent in steps]
    assert pace(history(days, T + 150 * HOUR, SEVEN_DAY)) == pytest.approx(3 / 24)


def test_a_pause_without_readings_counts_into_the_pace():
    assert pace(history([(0, 10), (600, 20), (3 * HOUR, 20), (3 * HOUR + 600, 30)])) == pytest.approx(10 / (3 * HOUR) * HOUR)


def test_what_was_given_back_is_no_pace_backwards():
    assert pace(history([(0, 50), (900, 30)])) == 0


def test_what_resets_before_it_is_full_has_no_such_time():
    (window,) = windows(history([(0, 10), (1_800, 11), (3_600, 12)]), T + HOUR)
    assert window.pace == pytest.approx(2)
    assert window.full_at is None


def test_readings_of_the_window_before_do_not_count():
    before = history([(0, 10), (900, 50), (1_800, 90)], resets_at=T + 1_900)
    (window,) = windows([*before, *history([(2_000, 1), (2_100, 2)], resets_at=T + 2_000 + 5 * HOUR)], T + 2_200)
    assert (window.newest.percent, window.pace) == (2, None)


def test_a_reset_window_is_not_shown_and_one_of_unknown_reset_has_no_forecast():
    assert windows(history([(0, 10)]), T + 5 * HOUR) == []
    (window,) = windows(history([(0, 10), (600, 20), (1_200, 30)], resets_at=0.0), T + 1_200)
    assert (window.pace, window.full_at) == (pytest.approx(60), None)


def test_a_full_window_is_full_now():
    newest = Reading(SEVEN_DAY, T, 100.0, T + HOUR)
    assert full_at(newest, None, T + 60) == T + 60
