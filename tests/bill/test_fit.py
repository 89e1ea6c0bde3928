"""The fit of a window's movement: known weights are found within the stated error, and what is wide or unknown is not claimed."""

from __future__ import annotations

import functools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy.limits import FIVE_HOUR, LEAST_WINDOWS, SEVEN_DAY, TOKEN_USES, Reading
from popkit_retention.bill.fit import LEAST_MOVEMENTS, Fit, dot, inverse, movements, not_negative
from popkit_retention.bill.sums import GRAIN_S

T = 1_800_000_000 // 18_000 * 18_000
ONE, OTHER = "claude-opus-5", "claude-haiku-5"
WEIGHTS = dict(zip(TOKEN_USES, (4.0, 0.4, 5.0, 8.0, 20.0)))  # percent a million tokens
FACTORS = {ONE: 1.0, OTHER: 0.2}
SIZES = dict(zip(TOKEN_USES, (12_000, 1_800_000, 90_000, 75_000, 18_000)))  # tokens in three minutes, at most
ALL = dict(zip(TOKEN_USES, (100_000, 10_000_000, 500_000, 500_000, 200_000)))
HISTORIES = 12, 24  # as many, and with --slow
_PHASES = 5  # of a window, each with a mixture of kinds of its own


def history(seed: int, windows: int = 16, gaps: float = 0.0, together=(), models=(ONE,)):
    """(readings, digests) of so many windows of five hours: a request each three minutes, two readings behind it, whole percents."""
    draw = random.Random(seed)
    readings: list[Reading] = []
    rows: dict[str, list[list[int]]] = {model: [] for model in models}
    for began in range(T, T + windows * 18_000, 18_000):
        used = 0.0
        for at in range(began, began + 18_000, 180):
            if not (at - began) % (18_000 // _PHASES):
                mixture = {kind: draw.random() ** 2 for kind in TOKEN_USES}
                mixture.update(dict.fromkeys(together, draw.random() ** 2))
                model = draw.choice(models)
            size = draw.random()
            counts = [int(size * mixture[kind] * SIZES[kind]) for kind in TOKEN_USES]
            rows[model].append([at // GRAIN_S * GRAIN_S, *counts])
            used += sum(truth({kind: count}, model) for kind, count in zip(TOKEN_USES, counts))
            if draw.random() >= gaps:
                readings += [Reading(FIVE_HOUR, at + later, float(round(used)), began + 18_000.0) for later in (20.0, 80.0)]
    return readings, [{"by_model": rows}]


@functools.cache
def fitted(seed: int, **how) -> Fit:
    readings, digests = history(seed, **how)
    return Fit(FIVE_HOUR, movements(readings, FIVE_HOUR, digests))


def truth(tokens: dict[str, float], model: str = ONE) -> float:
    return FACTORS[model] * sum(WEIGHTS[kind] * tokens[kind] / 1e6 for kind in tokens)


def of(tokens: dict[str, float], model: str = ONE):
    return {(model, kind): amount for kind, amount in tokens.items()}


def held(seeds: int, tokens: dict[str, float], model: str = ONE, **how) -> float:
    """The share of so many histories in which what the tokens are worth lies within the error."""
    worths = [fitted(seed, **how).weights.worth(of(tokens, model)) for seed in range(seeds)]
    return sum(abs(percent - truth(tokens, model)) <= error for percent, error in worths) / seeds


@pytest.mark.parametrize("gaps", [0.0, 0.5])
@pytest.mark.parametrize("kind", [*TOKEN_USES, "all"])
def test_known_weights_are_within_the_error_of_nine_histories_in_ten(kind: str, gaps: float, count):
    assert held(count(*HISTORIES), ALL if kind == "all" else {kind: ALL[kind]}, gaps=gaps) >= 0.9


@pytest.mark.parametrize("model", [ONE, OTHER])
def test_models_are_told_apart(model: str, count):
    both, seeds = {"windows": 20, "models": (ONE, OTHER)}, count(*HISTORIES)
    assert held(seeds, ALL, model, **both) >= 0.9
    claims = [fitted(seed, **both).weights.claimed(of(ALL, model)) for seed in range(seeds)]
    assert sum(claim is not None for claim in claims) >= 0.9 * seeds


def test_the_two_lives_of_the_cache_are_told_apart(count):
    tokens = [{"write_5m": 500_000.0}, {"write_1h": 500_000.0}]
    for seed in range(count(5, 10)):
        short, long = (fitted(seed, windows=32).weights.claimed(of(each)) for each in tokens)
        assert short
        assert long
        assert short["percent"] + short["error"] < long["percent"] - long["error"]


@pytest.mark.parametrize("together", [TOKEN_USES, ("write_5m", "write_1h"), ("read", "output")])
def test_kinds_that_always_move_together_are_claimed_in_none_but_as_they_move(together, count):
    for seed in range(count(5, 10)):
        weights = fitted(seed, together=together).weights
        assert all(weights.claimed(of({kind: ALL[kind]})) is None for kind in together)
        as_they_move = of({kind: SIZES[kind] * 100 for kind in TOKEN_USES})
        percent, error = weights.worth(as_they_move)
        assert weights.claimed(as_they_move)
        assert abs(percent - truth({kind: SIZES[kind] * 100 for kind in TOKEN_USES})) <= 1.5 * error


def test_with_much_history_the_whole_is_claimed(count):
    claims = [fitted(seed).weights.claimed(of(ALL)) for seed in range(count(*HISTORIES))]
    assert sum(claim is not None for claim in claims) >= 0.9 * len(claims)


def test_of_a_model_that_was_seldom_seen_or_never_nothing_is_known():
    readings, digests = history(1)
    seen = digests[0]["by_model"][ONE]
    seldom = seen[: LEAST_MOVEMENTS // 2]
    del seen[: LEAST_MOVEMENTS // 2]
    digests.append({"by_model": {OTHER: seldom}})
    weights = Fit(FIVE_HOUR, movements(readings, FIVE_HOUR, digests)).weights
    assert weights.claimed(of(ALL))
    for model in (OTHER, "claude-opus-9"):
        assert weights.worth(of(ALL, model)) is None


def test_too_little_history_says_what_is_missing():
    fit = fitted(1, windows=LEAST_WINDOWS - 1)
    assert (fit.why, fit.blocks, fit.weights) == ("blocks", LEAST_WINDOWS - 1, None)


def test_a_plan_that_is_used_elsewhere_too_is_not_fitted():
    readings, _ = history(1)
    assert Fit(FIVE_HOUR, movements(readings, FIVE_HOUR, [])).why == "elsewhere"


def test_no_movement_crosses_a_reset_and_nothing_is_counted_twice():
    readings, digests = history(3)
    seen = movements(readings, FIVE_HOUR, digests)
    assert len({each.block for each in seen}) == 16
    assert all(each.percent > 0 for each in seen)
    whole = sum(sum(counts) for _, *counts in digests[0]["by_model"][ONE])
    assert 0.8 * whole < sum(sum(each.tokens.values()) for each in seen) * 1e6 <= whole


def test_of_what_lay_between_two_readings_half_was_before_the_point_that_was_passed():
    readings = [Reading(FIVE_HOUR, T + at, percent, T + 18_000.0) for at, percent in ((0, 10.0), (1_000, 11.0), (2_000, 13.0))]
    digests = [{"by_model": {ONE: [[T + 500, 0, 4_000_000, 0, 0, 0], [T + 1_500, 0, 0, 0, 0, 2_000_000]]}}]
    (movement,) = movements(readings, FIVE_HOUR, digests)
    assert (movement.percent, movement.tokens) == (1.5, {(ONE, "read"): 2.0, (ONE, "output"): 1.0})


def test_a_figure_that_fell_cuts_the_window():
    percents = ((0, 10.0), (1_800, 12.0), (3_600, 14.0), (5_400, 4.0), (7_200, 5.0), (9_000, 6.0))
    readings = [Reading(FIVE_HOUR, T + at, percent, T + 18_000.0) for at, percent in percents]
    assert [each.percent for each in movements(readings, FIVE_HOUR, [])] == [2.0, 1.0]


def test_a_kind_without_readings_has_no_movement():
    readings, digests = history(1, windows=1)
    assert movements(readings, SEVEN_DAY, digests) == []


rows = st.integers(1, 5).flatmap(
    lambda size: st.lists(st.lists(st.floats(-5, 5), min_size=size + 1, max_size=size + 1), min_size=1, max_size=8)
)


@given(rows)
def test_least_squares_end_where_no_weight_that_may_move_would_better_them(rows):
    size = len(rows[0]) - 1
    matrix = [[sum(row[a] * row[b] for row in rows) + (a == b) for b in range(size)] for a in range(size)]
    target = [sum(row[at] * row[-1] for row in rows) for at in range(size)]
    weights = not_negative(matrix, target)
    slopes = [dot(row, weights) - aim for row, aim in zip(matrix, target)]
    assert all(value >= 0 for value in weights)
    assert all(abs(slope) <= 1e-6 if value > 0 else slope >= -1e-6 for value, slope in zip(weights, slopes))


@given(rows)
def test_an_inverse_times_its_matrix_is_one(rows):
    size = len(rows[0]) - 1
    matrix = [[sum(row[a] * row[b] for row in rows) + (a == b) for b in range(size)] for a in range(size)]
    product = [[dot(row, column) for column in inverse(matrix)] for row in matrix]
    assert all(value == pytest.approx(float(a == b), abs=1e-6) for a, row in enumerate(product) for b, value in enumerate(row))
