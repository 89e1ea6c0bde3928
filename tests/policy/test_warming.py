"""How many requests in a row keep a prompt cache warm, and what that would have been worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy import warming
from hooks.utils.policy.conversation import Usage
from hooks.utils.policy.economics import Prices, used_by
from hooks.utils.policy.warming import Break

NEVER = float("inf")
PROMPT = 80_000
FIVE_MINUTES = Prices(0.05, 1.25, 5.0, 300, False)
HOUR = Prices(0.05, 2.0, 5.0, 3_600, False)
STEP = warming.interval_s(300)
USD = 5e-6


@pytest.mark.parametrize(("read", "number"), [(0.1, 2), (0.05, 4), (0.025, 8), (0.001, warming.MOST), (0.0, warming.MOST), (0.5, 0)])
def test_a_row_ends_once_it_has_cost_a_fifth_of_the_prompt(read: float, number: int):
    assert warming.most(Prices(read, 1.25, 5.0, 300, False)) == number


@given(st.floats(0.001, 1), st.integers(1, warming.MOST))
def test_no_row_costs_more_than_a_fifth_and_a_limit_is_held(read: float, limit: int):
    number = warming.most(Prices(read, 1.25, 5.0, 300, False), limit)
    assert number * read <= 0.2 + 1e-6
    assert number <= limit


def test_for_a_cache_that_lasts_an_hour_nothing_is_sent():
    assert warming.most(HOUR) == 0
    assert warming.is_refused(HOUR)
    assert not warming.is_refused(FIVE_MINUTES)


# --- in the past -------------------------------------------------------------------------------------------------------------------


class Request:
    def __init__(self, sent_at: float, answered_at: float, calls: bool = False, tokens: int | None = PROMPT) -> None:
        self.sent_at, self.answered_at, self.calls = sent_at, answered_at, calls
        self.usage = None if tokens is None else Usage(tokens, tokens, "claude-opus-4-8", answered_at, 300)


def past(breaks: list[Break], prices: Prices = FIVE_MINUTES, limit: int = 12, most_usd: float = 100.0, usd: float | None = USD):
    return warming.Past([breaks], lambda model, prompt: (prices, usd), limit, most_usd)


def away(*seconds: float) -> list[Break]:
    return [Break(length, PROMPT, PROMPT, "claude-opus-4-8") for length in seconds]


def test_breaks_lie_between_an_answer_and_the_next_request():
    requests = [
        Request(0, 10, calls=True),
        Request(400, 410),
        Request(420, 430, tokens=None),
        Request(900, 910),
        Request(1_500, 1_510, tokens=9),
    ]
    found = [(one.seconds, one.prompt, one.kept) for one in warming.breaks_of(requests)]
    assert found == [(590, PROMPT, 9), (NEVER, 9, 0)], "neither while a tool ran, nor where the usage is not known"
    assert warming.breaks_of([]) == []


def test_the_past_is_counted_break_by_break():
    found = past(away(1.5 * STEP, 2.5 * STEP, 9 * STEP, NEVER), limit=2)
    assert (found.breaks, found.bridged, found.sent) == (4, 2, 1 + 2 + 2 + 2)
    assert found.paid == pytest.approx(7 * warming.price(PROMPT, FIVE_MINUTES) * USD)
    assert found.saved == pytest.approx(2 * 1.2 * PROMPT * USD)


def test_what_the_next_request_no_longer_had_was_not_saved():
    found = past([Break(1.5 * STEP, PROMPT, 1_000, "claude-opus-4-8")])
    assert found.saved == pytest.approx(1.2 * 1_000 * USD)


def test_in_the_past_too_a_session_is_given_no_more_than_its_limit_in_dollars():
    each = warming.price(PROMPT, FIVE_MINUTES) * USD
    assert past(away(NEVER, NEVER), most_usd=6.5 * each).sent == 6
    two = warming.Past([away(NEVER), away(NEVER)], lambda model, prompt: (FIVE_MINUTES, USD), 12, 3.5 * each)
    assert two.sent == 6, "each session has its own"


@pytest.mark.parametrize("how", [{"prices": HOUR}, {"usd": None}, {"prices": Prices(0.05, 1.25, 5.0, 300, False, "x", known=False)}])
def test_where_nothing_would_be_sent_nothing_is_counted_as_sent(how: dict):
    found = past(away(1.5 * STEP, NEVER), **how)
    assert (found.sent, found.bridged, found.paid, found.saved) == (0, 0, 0, 0)


# --- what comes next ---------------------------------------------------------------------------------------------------------------


def following(now: float = 60.0, allowed: int = 12, **row: object) -> warming.Next:
    known = {"prompt": PROMPT, "prices": FIVE_MINUTES, "usd": USD, "used_at": 0.0, **row}
    return warming.following(warming.Row(**known), allowed, 2.0, now)


def test_the_next_is_sent_shortly_before_the_cache_would_expire():
    found = following()
    assert (found.at, found.most, found.why) == (STEP, 4, "")
    assert following(used_at=1_000.0, sent=1, now=1_010.0).at == 1_000 + STEP


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"usd": None}, warming.UNPRICED),
        ({"prices": Prices(0.05, 1.25, 5.0, 300, False, "x", known=False)}, warming.UNPRICED),
        ({"now": 300.0}, warming.COLD),
        ({"now": -6.0}, warming.CLOCK),
        ({"prices": HOUR}, warming.HOUR),
        ({"sent": 4}, warming.TOO_DEAR),
        ({"sent": 3, "allowed": 3}, warming.IN_A_ROW),
        ({"sent": 1, "open_at": 0.0}, warming.LOST),
        ({"spent": 2.0}, warming.DOLLARS),
        ({"spent": 1.99}, warming.DOLLARS),
    ],
)
def test_why_no_other_is_sent(change: dict, why: str):
    found = following(**change)
    assert (found.at, found.why) == (None, why)


def test_while_one_is_under_way_no_other_is_due():
    found = following(now=30.0, sent=1, open_at=0.0)
    assert found.at is not None
    assert found.at > 30.0


@given(st.integers(0, 30), st.integers(1, warming.MOST), st.floats(0, 3), st.floats(0, 5))
def test_no_limit_is_ever_passed(sent: int, allowed: int, usd: float, spent: float):
    row = warming.Row(PROMPT, FIVE_MINUTES, USD, 0.0, sent, spent)
    found = warming.following(row, allowed, usd, 60.0)
    if found.at is not None:
        assert sent < allowed
        assert spent + warming.price(PROMPT, FIVE_MINUTES) * USD <= usd + 1e-9
    assert (found.at is None) == bool(found.why)


def test_a_request_that_read_much_less_than_the_prompt_has_missed_the_cache():
    assert [warming.is_miss(read, 100_000) for read in (0, 20_000, 79_000, 81_000, 100_000)] == [True, True, True, False, False]


def test_what_a_request_has_cost_is_reckoned_from_its_usage():
    assert FIVE_MINUTES.cost(used_by(1_000, 900, 60, 4)) == pytest.approx(0.05 * 900 + 1.25 * 60 + 40 + 5 * 4)
