"""Which results are worth clearing: by their size, the chance that they are needed again, and what stands behind them in the cache."""

from __future__ import annotations

import pytest
from hooks.utils.policy.auto import LEAST_QUIET, LEAST_TOKENS, Candidate, Situation, choose, may_go, value
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.scenario import Scenario

TTLS = pytest.mark.parametrize("ttl_s", [300, 3_600])


def _candidate(prefix: int, tokens: int = 4_000, need: float = 0.02, placeholder: int = 40) -> Candidate:
    return Candidate(None, tokens, placeholder, prefix, need)


def _situation(prompt: int = 60_000, sent: int | None = None, cold: bool = False, ttl_s: float = 300) -> Situation:
    return Situation(prompt, prompt if sent is None else sent, cold, ttl_s)


@TTLS
def test_what_is_surely_needed_stays_even_when_the_cache_is_cold(ttl_s: float):
    assert choose([_candidate(10_000, need=1.0)], _situation(cold=True, ttl_s=ttl_s)) == []


@TTLS
def test_a_cold_cache_takes_everything_that_is_hardly_ever_needed(ttl_s: float):
    candidates = [_candidate(10_000), _candidate(20_000, need=0.9), _candidate(30_000)]
    assert choose(candidates, _situation(cold=True, ttl_s=ttl_s)) == [candidates[0], candidates[2]]


@TTLS
def test_a_small_result_at_the_beginning_of_a_long_warm_prompt_is_not_worth_the_rewrite(ttl_s: float):
    candidates = [_candidate(10_000, tokens=1_000, need=0.0)]
    assert choose(candidates, _situation(prompt=150_000, ttl_s=ttl_s)) == []
    assert choose(candidates, _situation(prompt=150_000, cold=True, ttl_s=ttl_s)) == candidates


@TTLS
def test_the_same_result_near_the_end_of_the_prompt_goes(ttl_s: float):
    candidates = [_candidate(148_000, tokens=1_000, need=0.0)]
    assert choose(candidates, _situation(prompt=150_000, ttl_s=ttl_s)) == candidates


def test_what_has_not_been_sent_yet_is_written_anyway_so_nothing_is_written_twice():
    candidates = [_candidate(40_000, tokens=2_000, need=0.0)]
    assert choose(candidates, _situation(prompt=80_000, sent=80_000)) == []
    assert choose(candidates, _situation(prompt=80_000, sent=40_000)) == candidates


def test_where_it_is_worth_it_to_begin_everything_behind_that_has_a_value_goes_too():
    early, large, small = _candidate(9_000, 300, 0.0), _candidate(50_000, 9_000, 0.0), _candidate(60_000, 400, 0.0)
    assert choose([early, large, small], _situation(prompt=62_000)) == [large, small]


def test_what_is_smaller_than_a_placeholder_is_worth_stays():
    assert choose([_candidate(1_000, tokens=LEAST_TOKENS - 1, need=0.0)], _situation(cold=True)) == []


def test_asking_again_weighs_the_more_the_smaller_what_comes_back():
    # Both are needed with the same chance; each of them would be asked for with a request of its own.
    small, large = _candidate(10_000, 600, 0.2), _candidate(20_000, 9_000, 0.2)
    assert choose([small, large], _situation(cold=True)) == [large]


def test_a_rewrite_that_would_just_be_earned_is_not_begun():
    # Clearing it earns this much if the guess at what follows is right, and each token behind it costs 1.15 units more than a read.
    candidate = _candidate(20_000, 4_000, 0.0)
    earned = value(candidate, _situation())
    behind = round(earned / 1.15)
    assert choose([candidate], _situation(prompt=24_000 + behind // 2)) == []
    assert choose([candidate], _situation(prompt=24_000 + behind // 4)) == [candidate]


def test_more_caution_asks_for_a_smaller_chance_of_need():
    candidate = [_candidate(10_000, need=0.15)]
    assert choose(candidate, _situation(cold=True), caution=1.0) == candidate
    assert choose(candidate, _situation(cold=True), caution=20.0) == []


def test_pinned_preserved_and_cleared_results_may_not_go():
    given_ = Scenario()
    given_.read("/p/a.py")
    given_.read("/p/b.py")
    given_.bash_fails("make")
    given_.read("/p/c.py")
    given_.pin("T1")
    given_.result("T4").cleared = "abcdefgh"
    given_.nothing(LEAST_QUIET)
    assert [may_go(given_.result(id), given_.state) for id in ("T1", "T2", "T3", "T4")] == [
        False,
        True,
        given_.tier("T3") != "preserved",
        False,
    ]


def test_what_was_used_by_the_last_calls_may_not_go():
    session = Scenario()
    session.read("a.py")
    for _ in range(LEAST_QUIET):
        assert not may_go(session.result("T1"), session.state)
        session.nothing()
    assert may_go(session.result("T1"), session.state)


CANDIDATES = st.lists(st.tuples(st.integers(1, 20_000), st.integers(0, 5_000), st.floats(0, 1)), max_size=12)


def _in_a_row(drawn: list[tuple[int, int, float]]) -> tuple[list[Candidate], int]:
    candidates, prefix = [], 8_000
    for tokens, between, need in drawn:
        prefix += between
        candidates.append(_candidate(prefix, tokens, need))
        prefix += tokens
    return candidates, prefix


@given(CANDIDATES, st.integers(0, 50_000), st.sampled_from([300, 3_600]))
def test_what_goes_has_a_value_of_its_own_and_keeps_its_order(drawn, behind, ttl_s):
    candidates, end = _in_a_row(drawn)
    situation = _situation(end + behind, ttl_s=ttl_s)
    chosen = choose(candidates, situation)
    assert chosen == [candidate for candidate in candidates if candidate in chosen]
    assert all(value(candidate, situation) > 0 for candidate in chosen)


@given(CANDIDATES, st.integers(0, 50_000), st.sampled_from([300, 3_600]))
def test_a_cold_cache_never_takes_less_than_a_warm_one(drawn, behind, ttl_s):
    candidates, end = _in_a_row(drawn)
    warm = choose(candidates, _situation(end + behind, ttl_s=ttl_s))
    cold = choose(candidates, _situation(end + behind, cold=True, ttl_s=ttl_s))
    assert set(warm) <= set(cold)


@given(CANDIDATES, st.integers(0, 50_000), st.sampled_from([300, 3_600]))
def test_more_need_is_never_worth_more(drawn, behind, ttl_s):
    candidates, end = _in_a_row(drawn)
    situation = _situation(end + behind, ttl_s=ttl_s)
    for candidate in candidates:
        more = _candidate(candidate.prefix, candidate.tokens, min(1.0, candidate.need + 0.1))
        assert value(more, situation) <= value(candidate, situation)
