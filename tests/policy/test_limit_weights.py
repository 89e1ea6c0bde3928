"""What tokens are worth in a window: as a fit says it, with its error, and not at all where that is wide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.io.codec import dumps, loads
from hooks.utils.policy.economics import LIKELY_REQUESTS, Change, Prices, Sum
from hooks.utils.policy.limits import SEVEN_DAY, TOKEN_USES, WIDEST, share_of_amounts, share_of_clear, share_of_reads, tokens_of, weights_of
from tests.policy.weighed import MODEL, PERCENT, weights

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
    found = weights_of(loads(dumps(known.to_json())))
    assert found is not None
    assert (found.window, found.columns, found.t) == (known.window, known.columns, known.t)
    assert found.worth({(MODEL, "read"): 1e6}) == pytest.approx(known.worth({(MODEL, "read"): 1e6}), rel=1e-5)


@given(JSON, st.sampled_from(("columns", "values", "determined", "varied", "t")))
def test_what_is_no_weights_gives_none(told, name):
    assert weights_of(told) is None
    spoilt = {**weights().to_json(), name: told}
    found = weights_of(spoilt)
    assert found is None or found.worth({(MODEL, "read"): 1e6}) is not None


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
