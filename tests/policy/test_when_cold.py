"""Whether a compaction that nobody asked for pays once the prompt cache is cold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy.when_cold import THINKING_AGAIN, Cold, when_cold
from tests.policy.conversing import ACTS, BASE, LARGE, NEVER, Conversing, played
from tests.policy.priced import LIFETIMES, READS, prices


def found(session: Conversing, read: float = 0.1, ttl_s: float = 300, bound: bool = True, **how) -> Cold:
    return when_cold(session.conversation, session.at, NEVER, prices(ttl_s, read, bound), **how)


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
    seen = [found(quiet(thinking)).pays for thinking in (0, 100, 20_000, 200_000)]
    assert seen == [True, True, False, False]


def test_where_the_model_does_not_bind_its_thinking_none_is_reckoned():
    cold = found(quiet(200_000), bound=False)
    assert (cold.thinking, cold.least, cold.pays) == (0.0, 0.0, True)


def test_what_has_to_leave_is_what_thinking_again_costs_over_the_requests_that_usually_follow():
    cold = found(quiet(4_000))
    assert cold.thinking_tokens == THINKING_AGAIN * 4_000
    assert cold.thinking == 5.0 * cold.thinking_tokens
    assert cold.least == pytest.approx(cold.thinking / (1.25 + 14 * 0.1))
    assert cold.units == pytest.approx(cold.sum.leaves * (1.25 + 14 * 0.1))


def test_the_target_bounds_what_is_reckoned_to_leave():
    session = quiet()
    messages = session.conversation.prompt - session.conversation.base
    leaving = [found(session, target=target).sum.leaves for target in (1.0, 0.9, 0.5, 0.0)]
    assert leaving[0] == 0
    assert leaving[1] == pytest.approx(0.1 * messages, abs=1)
    assert leaving == sorted(leaving)
    assert leaving[-1] < messages


def test_what_is_pinned_is_not_reckoned_to_leave():
    session = quiet()
    before = found(session, target=0.0).sum.leaves
    session.pin("T1")
    assert found(session, target=0.0).sum.leaves < before


def test_of_a_conversation_without_results_nothing_pays():
    session = Conversing()
    session.request()
    assert session.conversation.last.tokens == BASE
    assert not found(session).pays


@given(ACTS, st.sampled_from(READS), st.sampled_from(LIFETIMES), st.floats(0.0, 1.0), st.floats(0.0, 3.0))
def test_what_leaves_is_part_of_the_conversation_and_more_caution_never_makes_it_pay(acts, read, ttl_s, target, caution):
    session = played(acts, "auto")
    cold = found(session, read, ttl_s, target=target, caution=caution)
    assert 0 <= cold.sum.leaves <= max(0, session.conversation.prompt - session.conversation.base)
    assert not cold.sum.warm
    more = found(session, read, ttl_s, target=target, caution=caution + 1)
    assert cold.pays or not more.pays
