"""The fit of a window's movement: known weights are found within the stated error, and what is wide is not claimed."""

from __future__ import annotations

import random

import pytest

from hooks.utils.policy.limits import FIVE_HOUR, SEVEN_DAY, Reading
from popkit_retention.bill.digests import SLOT_S
from popkit_retention.bill.fit import KINDS, LEAST_BLOCKS, Fit, movements

T = 1_800_000_000 // 18_000 * 18_000
WEIGHTS = {"plain": 4.0, "read": 0.4, "written": 5.0, "output": 20.0}  # percent a million tokens
SIZES = {"plain": 40_000, "read": 6_000_000, "written": 350_000, "output": 60_000}  # tokens in ten minutes, at most
SEEDS = 40
ALL = {"plain": 100_000, "read": 10_000_000, "written": 1_000_000, "output": 200_000}


def history(seed: int, windows: int = 16, gaps: float = 0.0, together: bool = False):
    """(readings, digests) of so many windows of five hours: two sessions at once, one reading in five minutes, whole percents."""
    draw = random.Random(seed)
    readings: list[Reading] = []
    rows: list[list[list[int]]] = [[], []]
    for window in range(windows):
        began, used = T + window * 18_000, 0.0
        for slot in range(began, began + 18_000, SLOT_S):
            for session in rows:
                shares = [draw.random()] * 4 if together else [draw.random() ** 2 for _ in KINDS]
                counts = [int(share * SIZES[kind] / 2) for share, kind in zip(shares, KINDS)]
                session.append([slot, *counts, 0])
                used += sum(WEIGHTS[kind] * count / 1e6 for kind, count in zip(KINDS, counts))
            if draw.random() >= gaps:
                readings.append(Reading(FIVE_HOUR, slot + SLOT_S - 1.0, float(round(used)), began + 18_000.0))
    return readings, [{"by_time": each} for each in rows]


def fitted(seed: int, **how) -> Fit:
    readings, digests = history(seed, **how)
    return Fit(movements(readings, FIVE_HOUR, digests))


def truth(tokens: dict[str, float]) -> float:
    return sum(WEIGHTS[kind] * tokens[kind] / 1e6 for kind in tokens)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_known_weights_are_within_the_error_of_nine_histories_in_ten(kind: str, gaps: float):
    tokens = ALL if kind == "all" else {kind: ALL[kind]}
    found = [fitted(seed, gaps=gaps).worth(tokens) for seed in range(SEEDS)]
    assert all(found)
    held = sum(abs(percent - truth(tokens)) <= error for percent, error in found)
    assert held >= 0.9 * SEEDS


def test_with_much_history_the_whole_is_claimed():
    claims = [fitted(seed).claimed(ALL) for seed in range(SEEDS)]
    assert sum(claim is not None for claim in claims) >= 0.9 * SEEDS


def test_kinds_that_always_move_together_are_not_told_apart():
    for seed in range(10):
        fit = fitted(seed, together=True)
        assert all(fit.claimed({kind: ALL[kind]}) is None for kind in KINDS)


def test_too_little_history_says_what_is_missing():
    fit = fitted(1, windows=LEAST_BLOCKS - 1)
    assert (fit.why, fit.blocks, fit.worth(ALL)) == ("blocks", LEAST_BLOCKS - 1, None)


def test_a_plan_that_is_used_elsewhere_too_is_not_fitted():
    readings, _ = history(1)
    assert Fit(movements(readings, FIVE_HOUR, [])).why == "elsewhere"


def test_no_movement_crosses_a_reset_and_nothing_is_counted_twice():
    readings, digests = history(3)
    seen = movements(readings, FIVE_HOUR, digests)
    assert len({each.block for each in seen}) == 16
    assert all(each.percent >= 0 for each in seen)
    whole = sum(sum(counts) for digest in digests for _, *counts, _ in digest["by_time"])
    assert 0.7 * whole < sum(sum(each.tokens) for each in seen) * 1e6 <= whole


def test_a_figure_that_fell_cuts_the_window():
    readings = [Reading(FIVE_HOUR, T + at, percent, T + 18_000.0) for at, percent in ((0, 10.0), (1_800, 12.0), (3_600, 4.0), (5_400, 5.0))]
    assert [each.percent for each in movements(readings, FIVE_HOUR, [])] == [2.0, 1.0]


def test_a_kind_without_readings_has_no_movement():
    readings, digests = history(1, windows=1)
    assert movements(readings, SEVEN_DAY, digests) == []
