"""What is used and what remains of a budget, and which of several limits holds."""

from __future__ import annotations

import math

import pytest

from popkit_retention.context import Budget, Limit, budget_of
from popkit_retention.context.budget import remaining_of


@pytest.mark.parametrize(
    ("used", "remaining"),
    [(None, 100), (0, 100), (35, 65), (100, 0), (140, 0), (-20, 100), (math.inf, 0), (math.nan, 0), (-math.inf, 100)],
)
def test_what_is_not_used_remains_and_never_less_than_nothing(used, remaining):
    assert remaining_of(used) == remaining


def test_the_most_restrictive_limit_holds():
    assert budget_of(Limit("session", 1_000, 500), Limit("month", 10_000, 9_000)) == Budget(90.0, "month")
    assert budget_of(Limit("session", 1_000, 1_500), Limit("month", 10_000, 9_000)) == Budget(150.0, "session")
    assert budget_of(Limit("session", 1_000, 1_500)).remaining_percent == 0


def test_a_limit_of_which_nothing_is_used_is_named():
    assert budget_of(Limit("session", 1_000, 0)) == Budget(0.0, "session")


@pytest.mark.parametrize("limit", [None, 0, -5, math.nan, math.inf])
def test_what_is_no_limit_holds_nothing(limit):
    assert budget_of(Limit("month", limit, 50)) == Budget(0.0, "")
