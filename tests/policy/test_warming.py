"""How many requests in a row it is worth to keep a prompt cache warm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy import warming
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.warming import Breaks

NEVER = float("inf")
PROMPT = 80_000
FIVE_MINUTES = Prices(0.05, 1.25, 5.0, 300, False)
STEP = warming.interval_s(300)

breaks = st.lists(st.one_of(st.floats(281, 40_000), st.just(NEVER)), max_size=40)


def most(own: list[float], prices: Prices = FIVE_MINUTES, prompt: int = PROMPT) -> int:
    return warming.most(Breaks(own), prompt, prices)


def test_of_a_user_of_whom_nothing_is_known_nothing_is_sent():
    assert most([]) == 0


def test_where_everybody_comes_back_before_the_next_expiry_one_request_is_enough():
    assert most([1.5 * STEP] * 20) == 1


def test_where_nobody_comes_back_nothing_is_sent():
    assert most([NEVER] * 20) == 0


def test_a_break_of_half_an_hour_that_is_the_rule_is_bridged():
    assert most([6.5 * STEP] * 20) == 6


def test_a_rare_return_is_bridged_only_where_reading_is_cheap_enough():
    own = [2.5 * STEP] * 1 + [NEVER] * 11
    assert most(own, Prices(0.1, 1.25, 5.0, 300, False)) == 0
    assert most(own, Prices(0.025, 1.25, 5.0, 300, False)) == 2


def test_a_prompt_of_a_few_words_is_not_worth_a_request():
    assert most([1.5 * STEP] * 20, prompt=40) == 0


def test_others_speak_until_the_user_has_had_breaks_enough():
    others = [1.5 * STEP] * 200
    few, many = [NEVER] * 3, [NEVER] * 2_000
    assert warming.most(Breaks(few, others), PROMPT, FIVE_MINUTES) == 1
    assert warming.most(Breaks(many, others), PROMPT, FIVE_MINUTES) == 0


@given(breaks, st.floats(280, 30_000), st.floats(1, 10_000))
def test_a_chance_is_the_share_of_the_breaks_that_lasted_as_long(own: list[float], since: float, further: float):
    lasting = [length for length in own if length > since]
    ending = [length for length in lasting if length <= since + further]
    assert Breaks(own).chance(since, since + further) == pytest.approx(len(ending) / len(lasting) if lasting else 0.0)


@given(breaks)
def test_cheaper_reading_never_sends_less(own: list[float]):
    counts = [most(own, Prices(read, 1.25, 5.0, 300, False)) for read in (0.1, 0.05, 0.025)]
    assert all(before <= after for before, after in zip(counts, counts[1:]))


@given(breaks)
def test_what_is_sent_earns_its_price_over_the_breaks_it_was_learnt_from(own: list[float]):
    number = most(own)
    cost, saved = warming.price(PROMPT, FIVE_MINUTES), (FIVE_MINUTES.write - FIVE_MINUTES.read) * PROMPT
    paid = sum(min(number, length // STEP) if length != NEVER else number for length in own) * cost
    earned = sum(saved for length in own if STEP < length <= (number + 1) * STEP)
    assert earned >= paid - 1e-6
    assert number <= warming.MOST
