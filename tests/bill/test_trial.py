"""Trials: how two groups compare, which sessions count, and that nothing is read before a trial's number is reached."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hooks.utils import text
from hooks.utils.policy.trials import PER_ARM, QUIET_S
from hooks.utils.state.trials import Row, Run
from popkit_retention.bill import trial
from popkit_retention.bill.trial import COUNTED, MISSING, NO_PROMPT, OPEN, PARTIAL, Standing, fate, read, totals
from popkit_retention.views import trials as views
from tests.bill.conversations import Conversation
from tests.bill.test_digests import MODELS
from tests.state.coins import run_of

if TYPE_CHECKING:
    from popkit_retention.bill.trial import Total

GOLDENS = Path(__file__).parent / "goldens"
NOW = 1_000.0 + 10 * QUIET_S
HISTORIES = 400


def used(tokens: float, prompts: int = 1, usd: float | None = 1.0, **more: float) -> Total:
    total: Total = {"prompts": prompts, "requests": 3 * prompts, "tokens": round(tokens), "usd": usd, "unmeasured": 0, "last": 1_001.0}
    return {**total, **more}  # type: ignore[typeddict-item]


# --- Student's t -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "value"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (10, 2.2281), (30, 2.0423), (38, 2.0244), (120, 1.9799)]
)
def test_the_quantile_is_that_of_the_tables(freedom: float, value: float):
    assert trial.quantile(0.975, freedom) == pytest.approx(value, abs=5e-5)


@example(0.5003905573733344, 37_550.0)  # a little above the middle, with many values
@given(st.floats(0.5, 0.999), st.floats(1, 1e5))
def test_a_share_lies_below_its_quantile(share: float, freedom: float):
    assert trial.below(trial.quantile(share, freedom), freedom) == pytest.approx(share, abs=1e-9)


def test_with_many_values_it_is_the_normal_distribution():
    assert trial.quantile(0.975, 1e7) == pytest.approx(NormalDist().inv_cdf(0.975), rel=1e-6)


# --- two groups ------------------------------------------------------------------------------------------------------------------------


def test_a_known_example_comes_out_as_known():
    one = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    other = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4]
    comparison = trial.compare(*([math.exp(value) for value in group] for group in (one, other)))
    assert comparison is not None
    t = math.log(comparison.ratio) / (math.log(comparison.high / comparison.ratio) / trial.quantile(0.975, 24.99))
    assert t == pytest.approx(-2.46, abs=0.005)
    assert comparison.is_claimed


def test_equal_groups_of_equal_values_are_the_same_for_certain():
    comparison = trial.compare([2.0, 2.0], [2.0, 2.0, 2.0])
    assert comparison is not None
    assert (comparison.ratio, comparison.low, comparison.high, comparison.is_claimed) == (1, 1, 1, False)


def test_one_value_alone_compares_with_nothing():
    assert trial.compare([2.0], [2.0, 3.0]) is None


positive = st.lists(st.floats(1e-6, 1e9), min_size=2, max_size=30)


@given(positive, positive, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter_and_the_groups_can_change_places(one: list[float], other: list[float], unit: float):
    comparison, scaled = trial.compare(one, other), trial.compare([unit * value for value in one], [unit * value for value in other])
    back = trial.compare(other, one)
    assert comparison is not None
    assert scaled is not None
    assert back is not None
    assert (scaled.ratio, scaled.low, scaled.high) == pytest.approx((comparison.ratio, comparison.low, comparison.high), rel=1e-4)
    assert (1 / back.high, 1 / back.low) == pytest.approx((comparison.low, comparison.high), rel=1e-6)


def history(effect: float, seed: int) -> trial.Totals:
    """Sessions of a trial that changes what a prompt takes by a factor; they differ as recorded sessions do, and more with than without."""
    chance = random.Random(seed)
    totals_by_session = {}
    for row in run_of(2 * PER_ARM).rows:
        tokens = chance.lognormvariate(12, 1.3 if row.treated else 0.9) * (effect if row.treated else 1)
        prompts = chance.randint(1, 12)
        totals_by_session[row.session] = used(tokens * prompts, prompts, usd=tokens * prompts / 1e6)
    return totals_by_session


@pytest.mark.parametrize("effect", [1.0, 0.5])
def test_the_interval_holds_the_true_effect_at_its_rate_and_claims_none_where_there_is_none(effect: float):
    covered = claimed = 0
    run = run_of(2 * PER_ARM)
    for seed in range(HISTORIES):
        totals_by_session = history(effect, seed)
        result = read(run, Standing(run, totals_by_session, NOW), totals_by_session, NOW, "")
        money = result["outcomes"]["usd"]
        assert result["decides"] == "usd"
        covered += money["low"] <= effect <= money["high"]
        claimed += money["claimed"]
    # 95 %, and three standard errors of as many histories.
    assert abs(covered / HISTORIES - 0.95) <= 3 * math.sqrt(0.95 * 0.05 / HISTORIES)
    if effect == 1.0:
        assert claimed == HISTORIES - covered
    else:
        assert claimed > 0.4 * HISTORIES


def test_how_many_sessions_it_would_take_is_how_many_it_takes():
    spread = 2 * 0.3**2
    needed = trial.Comparison(1, 1, 1, spread).needed(0.1)
    chance = random.Random(5)
    claims = 0
    for _ in range(200):
        groups = ([chance.lognormvariate(math.log(factor), 0.3) for _ in range(needed)] for factor in (0.9, 1.0))
        comparison = trial.compare(*groups)
        assert comparison is not None
        claims += comparison.is_claimed
    assert 0.7 < claims / 200 < 0.9


# --- which sessions count --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "total", "becomes"),
    [
        (Row("s", True, NOW - 9.0), used(5), OPEN),
        (Row("s", True, NOW - 9.0), None, OPEN),
        (Row("s", True, 0.0, 5.0, True), used(5), COUNTED),
        (Row("s", True, 0.0), used(5, last=NOW - QUIET_S), COUNTED),
        (Row("s", True, 0.0), used(5, last=NOW - QUIET_S + 1), OPEN),
        (Row("s", True, 0.0, 5.0, True), used(5, 0), NO_PROMPT),
        (Row("s", True, 0.0, 5.0, False), None, NO_PROMPT),
        (Row("s", True, 0.0, 5.0, True), None, MISSING),
        (Row("s", True, 0.0), None, MISSING),
        (Row("s", True, 0.0, 5.0, True), used(5, unmeasured=1), PARTIAL),
    ],
)
def test_what_becomes_of_a_session(row: Row, total: Total | None, becomes: str):
    assert fate(row, total, NOW) == becomes


def test_sessions_count_with_the_arm_that_the_coin_gave_them_in_the_order_in_which_they_were_drawn():
    run = run_of(2 * PER_ARM + 6)
    totals_by_session = {row.session: used(5) for row in run.rows}
    totals_by_session["s0"] = used(5, 0)
    standing = Standing(run, totals_by_session, NOW)
    assert standing.is_complete
    assert [row.session for row in standing.arms["with"][COUNTED]] == [f"s{place}" for place in range(2, 2 * PER_ARM + 2, 2)]
    assert [row.session for row in standing.arms["without"][COUNTED]] == [f"s{place}" for place in range(1, 2 * PER_ARM, 2)]


def test_a_trial_waits_for_a_session_that_goes_on_so_that_short_ones_do_not_come_first():
    run = run_of(2 * PER_ARM + 6)
    totals_by_session = {row.session: used(5) for row in run.rows}
    run.rows[4].ended = None
    totals_by_session["s4"] = used(5, last=NOW - 5)
    standing = Standing(run, totals_by_session, NOW)
    assert standing.waits == 1
    assert standing.counts("hints")["with"] == {"setting": "on", "sessions": PER_ARM}
    assert not standing.is_complete
    assert Standing(run, totals_by_session, NOW + QUIET_S).is_complete


def test_a_session_is_its_main_thread_and_all_its_subagents(tmp_path: Path):
    main, agent, other = Conversation().digest(tmp_path), Conversation().digest(tmp_path), Conversation("claude-nobody-1").digest(tmp_path)
    sums = totals([{**main, "session": "a"}, {**agent, "session": "a/1"}, {**other, "session": "b"}], MODELS)
    assert (sums["a"]["prompts"], sums["a"]["requests"]) == (1, 2)
    assert sums["a"]["usd"] == pytest.approx(2 * totals([main], MODELS)[main["session"]]["usd"])
    assert (sums["b"]["requests"], sums["b"]["usd"]) == (1, None)


def test_where_a_price_is_missing_tokens_decide_and_money_is_shown_for_those_that_have_one():
    run = run_of(2 * PER_ARM)
    totals_by_session = {row.session: used(100 + place, usd=None if place == 3 else 1.0) for place, row in enumerate(run.rows)}
    result = read(run, Standing(run, totals_by_session, NOW), totals_by_session, NOW, "")
    assert result["decides"] == "tokens"
    assert (result["outcomes"]["usd"]["with"], result["outcomes"]["usd"]["without"]) == (PER_ARM, PER_ARM - 1)


def test_where_no_price_is_known_money_is_not_mentioned():
    run = run_of(2 * PER_ARM)
    totals_by_session = {row.session: used(100 + place, usd=None) for place, row in enumerate(run.rows)}
    assert read(run, Standing(run, totals_by_session, NOW), totals_by_session, NOW, "")["outcomes"]["usd"] is None


# --- the law of trials -----------------------------------------------------------------------------------------------------------------


@dataclass
class Running:
    """A trial that is not complete, and two histories of its sessions that differ in all but which are over."""

    run: Run
    one: dict[str, Total] = field(default_factory=dict)
    other: dict[str, Total] = field(default_factory=dict)


@st.composite
def runnings(draw) -> Running:
    running = Running(run_of(draw(st.integers(0, 2 * PER_ARM - 1))))
    for row in running.run.rows:
        prompts, unmeasured = draw(st.integers(0, 2)), draw(st.sampled_from([0, 0, 1]))
        for usage in (running.one, running.other):
            usage[row.session] = used(draw(st.integers(1, 10**9)), prompts, draw(st.sampled_from([None, 0.5, 70.0])), unmeasured=unmeasured)
    return running


@given(runnings())
def test_nothing_is_read_of_a_trial_before_its_number_is_reached(running: Running):
    one, other = (Standing(running.run, usage, NOW) for usage in (running.one, running.other))
    assert (one.counts("hints"), one.waits) == (other.counts("hints"), other.waits)
    for standing, usage in ((one, running.one), (other, running.other)):
        with pytest.raises(ValueError, match="before its number is reached"):
            read(running.run, standing, usage, NOW, "")


# --- what people see -------------------------------------------------------------------------------------------------------------------


def finished(effect: float, spread: float = 0.2, **more: float | None) -> dict[str, object]:
    run, chance = run_of(2 * PER_ARM + 4), random.Random(3)
    totals_by_session = {}
    for row in run.rows:
        tokens = 90_000 * chance.lognormvariate(0, spread) * (effect if row.treated else 1)
        totals_by_session[row.session] = {**used(tokens, 1, tokens / 2e5), "requests": round(tokens / 9_000)}
    totals_by_session["s0"], totals_by_session["s3"] = used(5, 0), used(5, unmeasured=2)
    del totals_by_session["s5"]
    for row in run.rows[7:8]:
        totals_by_session[row.session] = {**totals_by_session[row.session], **more}
    result = read(run, Standing(run, totals_by_session, NOW), totals_by_session, NOW, "2026-11")
    return {"name": "hints", "began": run.began, "status": "finished", "result": result}


SEEN = {
    "nothing": [],
    "running": [
        {"name": "hints", "began": 1.0e9, "status": "running", "waits": 2,
         "arms": {"with": {"setting": "on", "sessions": 7}, "without": {"setting": "off", "sessions": 6}}},
        {"name": "shape", "began": 1.0e9, "status": "running", "waits": 1,
         "arms": {"with": {"setting": "safe", "sessions": 20}, "without": {"setting": "off", "sessions": 20}}},
        {"name": "compact", "began": 1.0e9, "status": "paused", "waits": 0,
         "arms": {"with": {"setting": "on", "sessions": 3}, "without": {"setting": "off", "sessions": 4}}},
        {"name": "memory", "began": 1.0e9, "status": "stopped", "stopped": 1.1e9},
    ],
    "less": [finished(0.6)],
    "more": [finished(1.5)],
    "undecided": [finished(0.95, 0.9)],
    "unpriced": [finished(0.6, usd=None)],
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_what_people_see(name: str, golden):
    shown = text.laid_out(views.lines_of(SEEN[name]), 76)
    assert max(map(text.width, shown)) <= 76
    golden(GOLDENS / f"trials-{name}.txt", "\n".join(shown) + "\n")
