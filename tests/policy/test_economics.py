"""What a clear costs now, what it saves, and whether it pays before the cache goes cold: at every price, within the look-back and beyond,
with bound thinking and without; and what is known of a model, with caution where the table says nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.io.codec import dumps, loads
from popkit_retention.core.policy.economics import (
    LIKELY_REQUESTS,
    LOOK_BACK_REQUESTS,
    THINKING_AGAIN,
    Change,
    Prices,
    Sum,
    kept_prefix,
    lifetime_of,
    pays,
    prices_of,
)
from popkit_retention.core.policy.models import Model, models_of
from tests.policy.priced import LIFETIMES, READS, prices

ROOT = Path(__file__).resolve().parents[2]
TOKENS = st.integers(0, 1_000_000)
ANY_PRICES = st.builds(prices, st.sampled_from(LIFETIMES), st.sampled_from(READS), st.booleans())


def change(warm: bool = True, **how) -> Change:
    """100,000 in the prompt, 15,000 of them system and tools; the first result that goes stands behind 20,000; 30,000 leave, and 400 stay
    in their place. So 80,000 stand behind it, of which 50,000 stay."""
    given_ = {"prompt": 100_000, "leaving": 30_000, "staying": 400, "prefix": 20_000, "base": 15_000, **how}
    return Change(warm=warm, **given_)


def test_a_warm_cache_is_rewritten_behind_the_first_change():
    sum = Sum(change(), prices())
    assert sum.leaves == 29_600
    assert sum.share == 0.296
    assert sum.rewritten == 50_400
    assert sum.cost_now == 57_960.0  # 50,400 x (1.25 - 0.1)
    assert sum.saved_now == 0.0
    assert sum.saved_per_request == 2_960.0  # 29,600 x 0.1
    assert sum.pays_after == 20  # 57,960 / 2,960 = 19.6
    assert (sum.warm, sum.cache_ttl_s) == (True, 300)


@pytest.mark.parametrize(
    ("read", "cost", "each", "after"),
    [
        (0.1, 57_960.0, 2_960.0, 20),
        (0.05, 60_480.0, 1_480.0, 41),  # 50,400 x 1.2 / (29,600 x 0.05) = 40.9
        (0.025, 61_740.0, 740.0, 84),  # 50,400 x 1.225 / (29,600 x 0.025) = 83.4
    ],
)
def test_the_cheaper_a_read_the_later_a_rewrite_pays(read, cost, each, after):
    sum = Sum(change(), prices(300, read))
    assert (sum.cost_now, sum.saved_per_request, sum.pays_after) == (cost, each, after)
    assert (sum.read, sum.write) == (read, 1.25)


@pytest.mark.parametrize(
    ("back", "rewritten", "after"), [(0, 50_400, 20), (LOOK_BACK_REQUESTS, 50_400, 20), (LOOK_BACK_REQUESTS + 1, 55_400, 22)]
)
def test_a_change_further_back_than_the_look_back_writes_all_messages_again(back, rewritten, after):
    # All messages: 100,000 - 15,000 - 30,000 + 400. 55,400 x 1.15 / 2,960 = 21.5
    sum = Sum(change(requests_back=back), prices())
    assert LOOK_BACK_REQUESTS == 8
    assert (sum.rewritten, sum.pays_after) == (rewritten, after)


def test_system_and_tools_stay_in_the_cache_whatever_changes():
    assert [kept_prefix(20_000, 15_000, back) for back in (0, 8, 9, 500)] == [20_000, 20_000, 15_000, 15_000]
    assert kept_prefix(9_000, 15_000, 9) == 9_000, "never more than stands before the change"


def test_where_thinking_is_bound_it_leaves_too_and_is_reckoned_as_thought_again():
    sum = Sum(change(thinking=2_000), prices(bound=True))
    assert (sum.leaves, sum.thinking, sum.thinking_cost) == (29_600, 2_000, 5_000.0)  # 2,000 x 5, half of it
    assert sum.rewritten == 48_400  # 100,000 - 20,000 - 30,000 - 2,000 + 400
    assert sum.cost_now == 55_660.0
    assert sum.saved_per_request == 3_160.0  # 31,600 x 0.1
    assert sum.pays_after == 20  # 60,660 / 3,160 = 19.2
    cold = Sum(change(warm=False, thinking=2_000), prices(bound=True))
    assert (cold.cost_now, cold.saved_now, cold.pays_after) == (0.0, 39_500.0, 0)  # 31,600 x 1.25 is more than 5,000
    assert Sum(change(warm=False, thinking=29_000), prices(300, 0.1, True)).pays_after == 0  # 73,250 saved, 72,500 to think again
    assert Sum(change(warm=False, thinking=60_000), prices(300, 0.1, True)).pays_after == 5  # 150,000 - 112,000 = 38,000; / 8,960 = 4.2


def test_where_nothing_else_leaves_thinking_alone_pays_nothing():
    sum = Sum(change(leaving=400, thinking=5_000), prices(bound=True))
    assert (sum.leaves, sum.saved_per_request, sum.pays_after) == (0, 0.0, None)


def test_where_thinking_is_not_bound_none_of_it_is_counted():
    # The driver says that none leaves: there is none behind a change where the model does not bind it.
    assert Sum(change(), prices()).to_json() == {**Sum(change(), prices(bound=True)).to_json()}
    assert Sum(change(), prices()).thinking_cost == 0.0


def test_a_cold_cache_is_written_anyway_so_clearing_pays_at_once():
    sum = Sum(change(warm=False), prices(3_600))
    assert sum.cost_now == 0.0
    assert sum.saved_now == 59_200.0  # 29,600 x 2.0
    assert sum.saved_per_request == 2_960.0
    assert sum.pays_after == 0
    assert pays(sum, 0)


def test_a_result_at_the_end_of_the_prompt_costs_next_to_nothing():
    sum = Sum(change(staying=40, prefix=70_000), prices())
    assert sum.rewritten == 40, "the placeholder alone"
    assert sum.pays_after == 1


@pytest.mark.parametrize("ttl_s", LIFETIMES)
def test_it_pays_when_what_usually_follows_a_prompt_earns_the_cost(ttl_s):
    requests, priced = LIKELY_REQUESTS[ttl_s], prices(ttl_s)
    unit = round((priced.write - priced.read) * 100)  # behind x unit = leaves x 10 x requests
    exactly = Sum(Change(10**7, unit * 100, 0, 10**7 - unit * 100 - 1_000 * requests, True), priced)
    assert exactly.pays_after == requests
    assert pays(exactly)
    one_more = Sum(Change(10**7, unit * 100, 0, 10**7 - unit * 100 - 1_000 * requests - 1, True), priced)
    assert not pays(one_more)
    assert pays(one_more, requests + 1)


def test_a_lifetime_that_has_no_price_takes_the_one_below():
    assert [lifetime_of(ttl_s) for ttl_s in (0, 60, 300, 3_599, 3_600, 86_400)] == [300, 300, 300, 300, 3_600, 3_600]
    assert Sum(Change(100, 50, 0, 0, True), prices(60)).cache_ttl_s == 300


def test_the_prices_of_a_model_are_those_that_the_table_has_for_it():
    entry = {"read": 0.05, "write_5m": 1.3, "write_1h": 2.1, "input": 3.0, "output": 12.0, "thinking_bound": False}
    known = prices_of(Model("one", entry), 3_600)
    assert known.to_json() == {
        "read": 0.05, "write": 2.1, "output": 4.0, "ttl_s": 3_600, "bound": False, "model": "one", "known": True,
    }  # fmt: skip
    assert prices_of(Model("one", entry), 300).write == 1.3
    unknown = prices_of(Model("other"), 300)
    assert (unknown.read, unknown.bound, unknown.known) == (0.025, True, False), "the most cautious case"


def test_a_context_of_unknown_size_has_no_share():
    assert Sum(Change(0, 5_000, 40, 0, False), prices()).share == 0.0


CHANGES = st.builds(Change, TOKENS, TOKENS, TOKENS, TOKENS, st.booleans(), TOKENS, st.integers(0, 40), st.integers(0, 50_000))


@given(CHANGES, ANY_PRICES)
def test_a_sum_is_plain_values_that_are_in_bounds(change, priced):
    sum = Sum(change, priced)
    assert loads(dumps(sum.to_json())) == sum.to_json()
    assert 0 <= sum.share <= 1
    assert sum.rewritten >= change.staying
    assert min(sum.cost_now, sum.saved_now, sum.saved_per_request, sum.thinking, sum.thinking_cost) >= 0
    assert sum.cost_now == 0 or sum.warm
    assert priced.bound or sum.thinking == 0
    assert (sum.pays_after is None) == (sum.leaves <= 0)


@given(TOKENS, st.integers(1, 1_000_000), TOKENS, ANY_PRICES)
def test_it_pays_after_the_first_request_by_which_the_savings_have_reached_the_cost(behind, leaves, prefix, priced: Prices):
    sum = Sum(Change(prefix + leaves + behind, leaves, 0, prefix, True), priced)
    read, write = round(priced.read * 1_000), round(priced.write * 1_000)

    def gained(requests: int) -> int:
        """Thousandths of units after so many requests, from the prices of each: with the cache as it was, and with the change."""
        as_it_was = requests * (prefix + leaves + behind) * read
        changed = prefix * read + behind * write + (requests - 1) * (prefix + behind) * read
        return as_it_was - changed

    if sum.pays_after and sum.saved_per_request > 100:  # what is rounded to hundredths weighs nothing
        assert gained(sum.pays_after + 1) >= 0
        assert sum.pays_after == 1 or gained(sum.pays_after - 2) < 0
    if sum.pays_after and priced.read == 0.1:  # hundredths are exact
        assert gained(sum.pays_after) >= 0
        assert sum.pays_after == 1 or gained(sum.pays_after - 1) < 0
    elif sum.pays_after == 0:
        assert behind == 0


@given(CHANGES, ANY_PRICES, st.integers(0, 500))
def test_more_requests_a_cold_cache_and_a_nearer_change_never_make_it_pay_less(change, priced, requests):
    sum = Sum(change, priced)
    if pays(sum, requests):
        assert pays(sum, requests + 1)
        for warm, back in ((False, change.requests_back), (change.warm, 0)):
            other = Change(change.prompt, change.leaving, change.staying, change.prefix, warm, change.base, back, change.thinking)
            assert pays(Sum(other, priced), requests)


@given(CHANGES, ANY_PRICES)
def test_what_was_thought_never_costs_nothing_and_changes_no_other_token(change, priced):
    bound, free = (Sum(change, prices(priced.ttl_s, priced.read, flag)) for flag in (True, False))
    assert bound.leaves == free.leaves
    assert bound.thinking_cost == pytest.approx(THINKING_AGAIN * bound.thinking * 5.0, abs=0.01)
    assert (bound.thinking > 0) is (change.thinking > 0)


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


# --- models ------------------------------------------------------------------------------------------------------------------------------

SHIPPED = models_of(json.loads((ROOT / "retention-config.json").read_text())["retention"])


def prices_of_id(id):
    model = SHIPPED.model(id)
    return model.read, model.input_usd, model.output_usd, model.window, model.thinking_bound


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("claude-fable-5-2", (0.025, 8, 40, 1_000_000, True)),
        ("claude-fable-5-1", (0.025, 10, 50, 1_000_000, True)),
        ("claude-mythos-1", (0.025, None, None, 1_000_000, True)),
        ("claude-opus-5-5", (0.05, 4, 20, 1_000_000, True)),
        ("claude-sonnet-5-5", (0.05, 2, 10, 1_000_000, True)),
        ("claude-haiku-5-5", (0.1, 0.1, 0.5, 1_000_000, True)),
        ("claude-opus-5", (0.1, 5, 25, 1_000_000, False)),
        ("claude-opus-4-6", (0.1, 5, 25, 1_000_000, False)),
        ("claude-sonnet-4-5", (0.1, 3, 15, 1_000_000, False)),
        ("claude-haiku-4-5", (0.1, 1, 5, 200_000, False)),
    ],
)
def test_the_shipped_table_says_what_the_provider_charges_and_checks(id, expected):
    assert SHIPPED.model(id).known
    assert prices_of_id(id) == expected


def test_the_shipped_table_is_dated():
    assert SHIPPED.dated == "2026-11"


@pytest.mark.parametrize(
    "id",
    [
        "claude-opus-4-5-20251101",
        "claude-opus-4-5[1m]",
        "claude-opus-4-5-20251101[1m]",
        "claude-opus-4-5@20251101",
        "claude-opus-4-5-latest",
        "claude-opus-4-5-v1:0",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "global.anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic/claude-opus-4.5",
        "Claude-Opus-4-5",
    ],
)
def test_a_model_is_known_however_its_provider_writes_it(id):
    assert SHIPPED.model(id).known
    assert prices_of_id(id) == prices_of_id("claude-opus-4-5")
    assert SHIPPED.model(id).id == id


@pytest.mark.parametrize(
    "id",
    [
        "claude-opus-5-7",
        "claude-opus-6",
        "claude-opus-50",
        "claude-haiku-5-5-mini",
        "claude-opus-5-fast",
        "opus",
        "gemini-5",
        "",
        "<synthetic>",
    ],
)
def test_a_model_that_the_table_does_not_name_is_the_most_cautious_case(id):
    model = SHIPPED.model(id)
    assert not model.known
    assert (model.read, model.write_5m, model.write_1h, model.thinking_bound) == (0.025, 1.25, 2.0, True)
    assert (model.input_usd, model.output_usd, model.output_units, model.usd(10**6)) == (None, None, 5.0, (None, None))


def test_of_two_ids_that_fit_the_longer_one_counts():
    models = models_of({"models": {"by_id": {"claude-*": {"read": 0.5}, "claude-opus-5": {"read": 0.4}, "claude-opus-5-5": {"read": 0.3}}}})
    assert [models.model(id).read for id in ("claude-opus-5-5-20261001", "claude-opus-5", "claude-opus-9")] == [0.3, 0.4, 0.5]


def test_the_mark_of_the_long_window_beats_the_table():
    assert SHIPPED.model("claude-haiku-4-5").window == 200_000
    assert SHIPPED.model("claude-haiku-4-5[1m]").window == 1_000_000


def test_what_is_written_costs_by_the_lifetime():
    model = SHIPPED.model("claude-opus-5-5")
    assert [model.write_price(ttl) for ttl in (300, 3_599, 3_600)] == [1.25, 1.25, 2.0]


def test_an_answer_costs_five_times_the_prompt_where_both_prices_are_known():
    assert SHIPPED.model("claude-fable-5-2").output_units == 5.0
    assert Model("x", {"input": 2, "output": 20}).output_units == 10.0
    assert Model("x", {"input": 0, "output": 20}).output_units == 5.0


def test_a_long_prompt_has_a_price_of_its_own():
    model = SHIPPED.model("claude-haiku-5-5")
    assert model.usd(100_000) == (0.1, 0.5)
    assert model.usd(100_001) == (0.5, 2.5)
    assert SHIPPED.model("claude-opus-5-5").usd(900_000) == (4, 20)


@pytest.mark.parametrize(
    "table", [None, [], {"by_id": 3}, {"by_id": {"claude-opus-5": 3}, "dated": 4}, {"by_id": {"claude-opus-5": {"read": "x"}}}]
)
def test_a_table_that_makes_no_sense_leaves_the_most_cautious_case(table):
    model = models_of({"models": table}).model("claude-opus-5")
    assert (model.read, model.thinking_bound) == (0.025, True)
