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


@given(breaks, st.integers(1, warming.MOST))
def test_a_limit_is_held_and_counts_before_the_first_is_sent(own: list[float], limit: int):
    number = warming.most(Breaks(own), PROMPT, FIVE_MINUTES, limit)
    assert number <= min(limit, most(own))
    past = warming.Past(own, number, PROMPT, FIVE_MINUTES)
    assert past.saved >= past.paid - 1e-6


def test_where_three_would_be_worth_it_and_two_are_allowed_none_is_sent():
    own = [3.5 * STEP] * 20
    assert [warming.most(Breaks(own), PROMPT, FIVE_MINUTES, limit) for limit in (1, 2, 3, 4)] == [0, 0, 3, 3]


@given(breaks)
def test_what_is_worth_it_by_the_past_would_have_paid_there(own: list[float]):
    past = warming.Past(own, most(own), PROMPT, FIVE_MINUTES)
    assert past.saved >= past.paid - 1e-6
    assert past.breaks == len(own)
    assert past.bridged <= past.breaks


def test_the_past_is_counted_break_by_break():
    past = warming.Past([1.5 * STEP, 2.5 * STEP, 9 * STEP, NEVER], 2, PROMPT, FIVE_MINUTES)
    assert (past.breaks, past.bridged, past.sent) == (4, 2, 1 + 2 + 2 + 2)


class Request:
    def __init__(self, sent_at: float, answered_at: float, calls: bool = False) -> None:
        self.sent_at, self.answered_at, self.calls = sent_at, answered_at, calls


def test_breaks_lie_between_an_answer_and_the_next_request():
    told = [Request(0, 10, calls=True), Request(400, 410), Request(420, 430), Request(1_000, 1_010)]
    assert warming.lengths(told, 300) == [570, NEVER]
    assert warming.lengths(told, 300, calls=True) == [390]
    assert warming.lengths([], 300) == []


# --- what comes next ---------------------------------------------------------------------------------------------------------------

USD = 5e-6
AWAY = Breaks([3.5 * STEP] * 20)


def following(now: float = 60.0, allowed: int = 12, breaks: Breaks = AWAY, **row: object) -> warming.Next:
    known = {"prompt": PROMPT, "prices": FIVE_MINUTES, "usd": USD, "used_at": 0.0, **row}
    return warming.following(warming.Row(**known), breaks, allowed, 2.0, now)


def test_the_next_is_sent_shortly_before_the_cache_would_expire():
    found = following()
    assert (found.at, found.most, found.why) == (STEP, 3, "")
    assert following(used_at=1_000.0, sent=1, now=1_010.0).at == 1_000 + STEP


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"usd": None}, warming.UNPRICED),
        ({"prices": Prices(0.05, 1.25, 5.0, 300, False, "x", known=False)}, warming.UNPRICED),
        ({"now": 300.0}, warming.COLD),
        ({"sent": 3}, warming.TOO_DEAR),
        ({"breaks": Breaks([NEVER] * 9)}, warming.TOO_DEAR),
        ({"sent": 3, "allowed": 3}, warming.IN_A_ROW),
        ({"allowed": 2}, warming.TOO_DEAR),
        ({"spent": 2.0}, warming.DOLLARS),
        ({"spent": 1.99}, warming.DOLLARS),
    ],
)
def test_why_no_other_is_sent(told: dict, why: str):
    found = following(**told)
    assert (found.at, found.why) == (None, why)


@given(breaks, st.integers(0, 30), st.integers(1, warming.MOST), st.floats(0, 3), st.floats(0, 5))
def test_no_limit_is_ever_passed(own: list[float], sent: int, allowed: int, usd: float, spent: float):
    row = warming.Row(PROMPT, FIVE_MINUTES, USD, 0.0, sent, spent)
    found = warming.following(row, Breaks(own), allowed, usd, 60.0)
    if found.at is not None:
        assert sent < allowed
        assert spent + warming.price(PROMPT, FIVE_MINUTES) * USD <= usd + 1e-9
    assert (found.at is None) == bool(found.why)


def test_a_request_that_read_much_less_than_the_prompt_has_missed_the_cache():
    assert [warming.missed(read, 100_000) for read in (0, 20_000, 79_000, 81_000, 100_000)] == [True, True, True, False, False]


def test_what_a_request_has_cost_is_reckoned_from_its_usage():
    assert warming.cost(1_000, 900, 60, 4, FIVE_MINUTES) == pytest.approx(0.05 * 900 + 1.25 * 60 + 40 + 5 * 4)
