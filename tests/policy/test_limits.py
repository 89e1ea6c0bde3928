"""When a limit's window will be full: what holds of every history, and the cases that a person would check; and what tokens are worth in a
window, with its error, and not at all where that is wide."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hooks.utils.io.codec import dumps, loads
from hooks.utils.policy.economics import LIKELY_REQUESTS, Change, Prices, Sum
from hooks.utils.policy.limits import (
    FIVE_HOUR,
    LEAST_READINGS,
    LEAST_S,
    SEVEN_DAY,
    TOKEN_USES,
    WIDEST,
    Reading,
    full_at,
    pace,
    share_of_amounts,
    share_of_clear,
    share_of_reads,
    tokens_of,
    weights_of,
    windows,
)
from tests.policy.weighed import MODEL, PERCENT, weights

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


@given(STEPS)
def test_too_few_readings_or_too_short_a_time_have_no_pace(steps: list[tuple[float, float]]):
    assume(len(steps) < LEAST_READINGS or steps[-1][0] - steps[0][0] < LEAST_S)
    assert pace(history(steps)) is None


def test_a_steady_use_goes_on():
    (window,) = windows(history([(0, 20), (600, 24), (1_800, 32), (3_600, 44)]), T + HOUR)
    assert window.pace == pytest.approx(24)
    assert window.full_at == pytest.approx(T + HOUR + 56 / 24 * HOUR)


def test_a_reading_that_is_wrong_does_not_move_the_pace():
    steps = [(number * 300.0, number * 2.0) for number in range(13)]
    wrong = [*steps[:6], (steps[6][0], 90.0), *steps[7:]]
    assert pace(history(wrong)) == pytest.approx(24)


def test_what_resets_before_it_is_full_has_no_such_time():
    (window,) = windows(history([(0, 10), (1_800, 11), (3_600, 12)]), T + HOUR)
    assert window.pace == pytest.approx(2)
    assert window.full_at is None


def test_readings_of_the_window_before_do_not_count():
    before = history([(0, 10), (900, 50), (1_800, 90)], resets_at=T + 1_900)
    (window,) = windows([*before, *history([(2_000, 1), (2_100, 2)], resets_at=T + 2_000 + 5 * HOUR)], T + 2_200)
    assert (window.newest.percent, window.pace) == (2, None)


def test_a_window_that_was_reset_is_not_shown_and_one_whose_reset_nobody_knows_is_without_a_forecast():
    assert windows(history([(0, 10)]), T + 5 * HOUR) == []
    (window,) = windows(history([(0, 10), (600, 20), (1_200, 30)], resets_at=0.0), T + 1_200)
    assert (window.pace, window.full_at) == (pytest.approx(60), None)


def test_a_full_window_is_full_now():
    newest = Reading(SEVEN_DAY, T, 100.0, T + HOUR)
    assert full_at(newest, None, T + 60) == T + 60


def test_a_long_history_is_thinned_and_has_the_same_pace():
    assert pace(history([(number * 9.0, number * 0.045) for number in range(2_000)])) == pytest.approx(18)


# --- what tokens are worth ---------------------------------------------------------------------------------------------------------------

AMOUNTS = st.dictionaries(st.sampled_from(TOKEN_USES), st.integers(-(10**8), 10**8))
ERRORS = st.floats(0.001, 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(("columns", "values", "varied", "t")), inner),
)  # fmt: skip


def percent(amounts: dict[str, float]) -> float:
    return sum(PERCENT[kind] * amount / 1e6 for kind, amount in amounts.items())


@given(AMOUNTS, ERRORS)
def test_a_share_is_what_its_tokens_are_worth_and_claimed_only_where_the_error_is_a_third_of_it(amounts, error):
    found = share_of_amounts([weights(error)], MODEL, amounts)
    worth, width = weights(error).worth(tokens_of(MODEL, amounts))
    assert worth == pytest.approx(percent(amounts))
    if found is None:
        assert not worth or width > WIDEST * abs(worth)
    else:
        assert (found["percent"], found["error"]) == (pytest.approx(worth, abs=1e-4), pytest.approx(width, abs=1e-4))
        assert width <= WIDEST * abs(worth)


def test_no_error_is_less_than_two_parts_in_a_hundred():
    percent, error = weights(0.001).worth({(MODEL, "read"): 1e6})
    assert error == pytest.approx(0.02 * percent)


def test_the_shorter_window_is_claimed_and_the_weekly_one_where_that_cannot_be():
    wide, close = weights(0.9), weights(0.05, window=SEVEN_DAY)
    assert share_of_amounts([weights(0.05), close], MODEL, {"read": 1e6})["window"] == "five_hour"
    assert share_of_amounts([wide, close], MODEL, {"read": 1e6})["window"] == SEVEN_DAY
    assert share_of_amounts([wide], MODEL, {"read": 1e6}) is None
    assert share_of_amounts([], MODEL, {"read": 1e6}) is None


def test_of_a_model_that_was_never_seen_nothing_is_claimed():
    assert share_of_amounts([weights()], "claude-opus-9", {"read": 1e6}) is None
    assert share_of_amounts([weights()], f"us.anthropic.{MODEL}[1m]", {"read": 1e6})["percent"] == 0.4


@given(ERRORS)
def test_weights_come_back_from_their_json(error):
    known = weights(error)
    parsed = weights_of(loads(dumps(known.to_json())))
    assert parsed is not None
    assert (parsed.window, parsed.columns, parsed.t) == (known.window, known.columns, known.t)
    assert parsed.worth({(MODEL, "read"): 1e6}) == pytest.approx(known.worth({(MODEL, "read"): 1e6}), rel=1e-5)


@given(JSON, st.sampled_from(("columns", "values", "determined", "varied", "t")))
def test_what_is_no_weights_gives_none(value, name):
    assert weights_of(value) is None
    corrupt = {**weights().to_json(), name: value}
    parsed = weights_of(corrupt)
    assert parsed is None or parsed.worth({(MODEL, "read"): 1e6}) is not None


def sum_of(ttl_s: int = 300, warm: bool = False, thinking: int = 0) -> Sum:
    """A clear of 30,000 tokens of a prompt of 100,000, behind 20,000 that stay in the cache."""
    change = Change(100_000, 30_000, 0, 20_000, warm, thinking=thinking)
    return Sum(change, Prices(0.1, 2.0 if ttl_s > 300 else 1.25, 5.0, ttl_s, bool(thinking), MODEL))


@pytest.mark.parametrize("ttl_s", [300, 3_600])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("thinking", [0, 500])
def test_a_clear_is_worth_the_requests_with_it_against_those_without(ttl_s: int, warm: bool, thinking: int):
    requests, write = LIKELY_REQUESTS[ttl_s], "write_1h" if ttl_s > 300 else "write_5m"
    later = (requests - 1) * percent({"read": 100_000})
    without = later + (percent({"read": 100_000}) if warm else percent({write: 100_000}))
    left = 70_000 - thinking
    first = percent({"read": 20_000, write: left - 20_000}) if warm else percent({write: left})
    with_it = first + (requests - 1) * percent({"read": left}) + percent({"output": thinking})
    found = share_of_clear([weights(0.001)], sum_of(ttl_s, warm, thinking))
    assert found is not None
    assert found["percent"] == pytest.approx(without - with_it, abs=1e-4)
    assert found["requests"] == requests


def test_fewer_tokens_in_each_prompt_are_worth_their_reads():
    assert share_of_reads([weights()], MODEL, 300, 10_000)["percent"] == pytest.approx(14 * 0.004)
