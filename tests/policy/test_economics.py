"""What a clear costs now, what it saves, and whether it pays before the cache goes cold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.edges.codec import dumps, loads
from hooks.utils.policy.economics import LIKELY_REQUESTS, PRICE_READ, PRICE_WRITE, pays, the_sum, write_price

ROOT = Path(__file__).resolve().parents[2]
TOKENS = st.integers(0, 1_000_000)
LIFETIMES = st.sampled_from(sorted(PRICE_WRITE))


def test_a_warm_cache_is_rewritten_behind_the_first_change():
    # 100,000 in the prompt; the first result that goes stands behind 20,000; 30,000 leave and 400 stay in their place. So 80,000 stand
    # behind it, of which 50,000 stay and are written again, together with the 400.
    sum = the_sum(100_000, 30_000, 400, 20_000, True, 300)
    assert sum.leaves == 29_600
    assert sum.share == 0.296
    assert sum.rewritten == 50_400
    assert sum.cost_now == 57_960.0  # 50,400 x (1.25 - 0.1)
    assert sum.saved_now == 0.0
    assert sum.saved_per_request == 2_960.0  # 29,600 x 0.1
    assert sum.pays_after == 20  # 57,960 / 2,960 = 19.6
    assert (sum.warm, sum.cache_ttl_s) == (True, 300)


def test_a_cache_of_an_hour_is_dearer_to_write():
    sum = the_sum(100_000, 30_000, 400, 20_000, True, 3_600)
    assert sum.cost_now == 95_760.0  # 50,400 x (2.0 - 0.1)
    assert sum.pays_after == 33  # 95,760 / 2,960 = 32.4


def test_a_cold_cache_is_written_anyway_so_clearing_pays_at_once():
    sum = the_sum(100_000, 30_000, 400, 20_000, False, 3_600)
    assert sum.cost_now == 0.0
    assert sum.saved_now == 59_200.0  # 29,600 x 2.0
    assert sum.saved_per_request == 2_960.0
    assert sum.pays_after == 0
    assert pays(sum, 0)


def test_what_stands_at_the_end_of_the_prompt_costs_next_to_nothing():
    sum = the_sum(100_000, 30_000, 40, 70_000, True, 300)
    assert sum.rewritten == 40, "the placeholder alone"
    assert sum.pays_after == 1


@pytest.mark.parametrize("placeholders", [1_000, 1_040])
@pytest.mark.parametrize("warm", [True, False])
def test_where_placeholders_are_no_smaller_nothing_leaves_and_it_never_pays(placeholders, warm):
    sum = the_sum(50_000, 1_000, placeholders, 10_000, warm, 300)
    assert sum.leaves == 1_000 - placeholders
    assert (sum.share, sum.saved_now, sum.saved_per_request) == (0.0, 0.0, 0.0)
    assert sum.pays_after is None
    assert not pays(sum, 10**9)


@pytest.mark.parametrize(
    ("stays_behind", "leaves", "ttl_s", "requests"),
    [(50_000, 2_000, 300, 288), (50_000, 10_000, 300, 58), (2_000, 23_000, 300, 1), (20_000, 23_000, 300, 10), (50_000, 10_000, 3_600, 95)],
)
def test_the_break_even_is_what_stays_behind_over_what_leaves_times_the_price_of_writing(stays_behind, leaves, ttl_s, requests):
    sum = the_sum(10_000 + stays_behind + leaves, leaves, 0, 10_000, True, ttl_s)
    assert sum.rewritten == stays_behind
    assert sum.pays_after == requests  # ceil(11.5 x behind / leaves), or 19 x for an hour; to the very request where it comes out even


@pytest.mark.parametrize("ttl_s", sorted(PRICE_WRITE))
def test_it_pays_when_what_usually_follows_a_prompt_earns_the_cost(ttl_s):
    requests = LIKELY_REQUESTS[ttl_s]
    unit = round((PRICE_WRITE[ttl_s] - PRICE_READ) * 100)  # behind x unit = leaves x 10 x requests
    exactly = the_sum(10**7, unit * 100, 0, 10**7 - unit * 100 - 1_000 * requests, True, ttl_s)
    assert exactly.pays_after == requests
    assert pays(exactly)
    one_more = the_sum(10**7, unit * 100, 0, 10**7 - unit * 100 - 1_000 * requests - 1, True, ttl_s)
    assert not pays(one_more)
    assert pays(one_more, requests + 1)


def test_a_lifetime_that_has_no_price_takes_the_one_below():
    assert [write_price(ttl_s) for ttl_s in (0, 60, 300, 3_599, 3_600, 86_400)] == [1.25, 1.25, 1.25, 1.25, 2.0, 2.0]
    assert the_sum(100, 50, 0, 0, True, 60).cache_ttl_s == 300


def test_a_context_of_unknown_size_has_no_share():
    assert the_sum(0, 5_000, 40, 0, False, 300).share == 0.0


@given(TOKENS, TOKENS, TOKENS, TOKENS, st.booleans(), LIFETIMES)
def test_a_sum_is_plain_values_that_are_in_bounds(context, leaving, placeholders, prefix, warm, ttl_s):
    sum = the_sum(context, leaving, placeholders, prefix, warm, ttl_s)
    assert loads(dumps(sum.to_json())) == sum.to_json()
    assert 0 <= sum.share <= 1
    assert sum.rewritten >= placeholders
    assert min(sum.cost_now, sum.saved_now, sum.saved_per_request) >= 0
    assert sum.cost_now == 0 or sum.warm
    assert (sum.pays_after is None) == (sum.leaves <= 0)


@given(TOKENS, st.integers(1, 1_000_000), TOKENS, LIFETIMES)
def test_it_pays_after_the_first_request_by_which_the_savings_have_reached_the_cost(behind, leaves, prefix, ttl_s):
    sum = the_sum(prefix + leaves + behind, leaves, 0, prefix, True, ttl_s)
    read, write = 10, round(PRICE_WRITE[ttl_s] * 100)

    def gained(requests: int) -> int:
        """Hundredths of units after so many requests, from the prices of each: with the cache as it was, and with the change."""
        as_it_was = requests * (prefix + leaves + behind) * read
        changed = prefix * read + behind * write + (requests - 1) * (prefix + behind) * read
        return as_it_was - changed

    if sum.pays_after:
        assert gained(sum.pays_after) >= 0
        assert sum.pays_after == 1 or gained(sum.pays_after - 1) < 0
    else:
        assert behind == 0


@given(TOKENS, st.integers(1, 1_000_000), TOKENS, TOKENS, st.booleans(), LIFETIMES, st.integers(0, 500))
def test_more_requests_or_a_cold_cache_never_make_it_pay_less(context, leaving, placeholders, prefix, warm, ttl_s, requests):
    sum = the_sum(context, leaving, placeholders, prefix, warm, ttl_s)
    if pays(sum, requests):
        assert pays(sum, requests + 1)
        assert pays(the_sum(context, leaving, placeholders, prefix, False, ttl_s), requests)


def _line(kind: str, second: int, **fields) -> str:
    """A line of a transcript, so many seconds after noon."""
    stamp = f"2026-02-21T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"
    return dumps({"type": kind, "timestamp": stamp, "uuid": f"{kind}-{second}", **fields}) + "\n"


def _prompt(second: int) -> str:
    return _line("user", second, message={"role": "user", "content": "go on"})


def _answer(second: int, **fields) -> str:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 99}
    return _line("assistant", second, message={"id": f"msg-{second}", "role": "assistant", "usage": usage, "content": []}, **fields)


def test_the_benchmark_counts_what_still_follows_a_prompt_while_the_cache_is_warm(tmp_path: Path):
    lines = [_prompt(0), _answer(1), _answer(2)]  # a session's first prompt is not counted
    lines += [_prompt(10), _answer(11), _answer(11), _answer(12), _answer(13, isSidechain=True)]  # 2, and 4 when an hour is warm
    lines += [_answer(12 + 300)]  # too late for five minutes
    lines += [_prompt(400), _answer(401)]  # 1
    lines += [_line("system", 410, subtype="compact_boundary")]
    lines += [_prompt(411), _answer(412)]  # the first after a compaction
    lines += [_prompt(7_000), _answer(7_001)]  # finds it cold
    (tmp_path / "session.jsonl").write_text("".join(lines))
    done = subprocess.run(
        [sys.executable, "benchmarks/remaining_requests.py", "--transcripts", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "300 s: 2 prompts of 1 sessions, median 1.5 requests, quartiles 1.25 and 1.75",
        "300 s: from any request, it included, 1.9 in the mean",
        "3600 s: 2 prompts of 1 sessions, median 2.5 requests, quartiles 1.75 and 3.25",
        "3600 s: from any request, it included, 2.9 in the mean",
    ]
