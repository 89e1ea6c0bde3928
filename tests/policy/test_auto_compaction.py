"""Whether a compaction that nobody asked for pays, between two turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy.auto_compaction import Long, Prospect, prospect
from hooks.utils.policy.economics import THINKING_AGAIN
from tests.policy.conversing import BASE, HISTORIES, LARGE, NEVER, Conversing, played
from tests.policy.priced import LIFETIMES, READS, prices


def compaction(session: Conversing, read: float = 0.1, ttl_s: float = 300, bound: bool = True, warm: bool = False, **how) -> Prospect:
    return prospect(session.conversation, session.at, NEVER, prices(ttl_s, read, bound), warm, **how)


def quiet(thinking: int = 0) -> Conversing:
    """Large results of long ago, and so many tokens of thinking behind them."""
    session = Conversing()
    for number in range(6):
        session.read(f"{number}.py", text=f"{number}{LARGE}")
    if thinking:
        session.think(thinking)
    session.nothing(20)
    return session


def test_it_pays_where_more_is_saved_than_thinking_again_is_reckoned_at():
    seen = [compaction(quiet(thinking)).pays for thinking in (0, 100, 50_000, 200_000)]
    assert seen == [True, True, False, False]


def test_where_the_model_does_not_bind_its_thinking_none_is_reckoned():
    cold = compaction(quiet(200_000), bound=False)
    assert (cold.cost, cold.least, cold.pays) == (0.0, 0.0, True)


def test_what_has_to_leave_is_what_thinking_again_costs_over_the_requests_that_usually_follow():
    cold = compaction(quiet(4_000))
    assert cold.cost == 5.0 * THINKING_AGAIN * 4_000
    assert cold.least == pytest.approx(cold.cost / (1.25 + 14 * 0.1))
    assert cold.units == pytest.approx(cold.sum.leaves * (1.25 + 14 * 0.1))


def test_the_target_bounds_what_is_reckoned_to_leave():
    session = quiet()
    messages = session.conversation.prompt - session.conversation.base
    leaving = [compaction(session, target=target).sum.leaves for target in (1.0, 0.9, 0.5, 0.0)]
    assert leaving[0] == 0
    assert leaving[1] == pytest.approx(0.1 * messages, abs=1)
    assert leaving == sorted(leaving)
    assert leaving[-1] < messages


def test_what_is_pinned_is_not_reckoned_to_leave():
    session = quiet()
    before = compaction(session, target=0.0).sum.leaves
    session.pin("T1")
    assert compaction(session, target=0.0).sum.leaves < before


def test_of_a_conversation_without_results_nothing_pays():
    session = Conversing()
    session.request()
    assert session.conversation.last.tokens == BASE
    assert not compaction(session).pays


@given(HISTORIES, st.sampled_from(READS), st.sampled_from(LIFETIMES), st.floats(0.0, 1.0), st.floats(0.0, 3.0))
def test_what_leaves_is_part_of_the_conversation_and_more_caution_never_makes_it_pay(history, read, ttl_s, target, caution):
    session = played(history, "auto")
    cold = compaction(session, read, ttl_s, target=target, caution=caution)
    assert 0 <= cold.sum.leaves <= max(0, session.conversation.prompt - session.conversation.base)
    assert not cold.sum.warm
    more = compaction(session, read, ttl_s, target=target, caution=caution + 1)
    assert cold.pays or not more.pays


def test_with_a_warm_cache_what_stays_is_written_again_and_has_to_be_earned_too():
    session = quiet(4_000)
    messages = session.conversation.prompt - session.conversation.base - 4_000
    warm = compaction(session, warm=True)
    assert warm.sum.warm
    assert warm.cost == pytest.approx(5.0 * THINKING_AGAIN * 4_000 + 1.15 * messages)
    assert warm.least == pytest.approx(warm.cost / (1.15 + 14 * 0.1))


@given(HISTORIES, st.sampled_from(READS), st.sampled_from(LIFETIMES), st.floats(0.0, 1.0), st.booleans())
def test_what_pays_with_a_warm_cache_pays_with_a_cold_one(history, read, ttl_s, target, bound):
    session = played(history, "auto")
    cold, warm = (compaction(session, read, ttl_s, bound, is_warm, target=target) for is_warm in (False, True))
    assert cold.sum.leaves == warm.sum.leaves
    assert cold.pays or not warm.pays


@pytest.mark.parametrize(
    ("messages", "stood", "is_long"),
    [(99_999, 0, False), (100_000, 0, True), (100_000, 40_000, True), (100_000, 40_001, False), (150_000, 90_001, False)],
)
def test_a_conversation_is_long_from_so_many_tokens_on_and_again_once_it_has_grown(messages: int, stood: int, is_long: bool):
    assert Long(100_000, 0.2, 60_000).holds(messages, stood) is is_long
