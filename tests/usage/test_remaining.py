"""What is used and what remains of a budget."""

from __future__ import annotations

import math

import pytest

from popkit_retention.usage import range_of, remaining_of


@pytest.mark.parametrize(
    ("used", "remaining"),
    [(None, 100), (0, 100), (35, 65), (100, 0), (140, 0), (-20, 100), (math.inf, 0), (math.nan, 0), (-math.inf, 100)],
)
def test_what_is_not_used_remains_and_never_less_than_nothing(used, remaining):
    assert remaining_of(used) == remaining


@pytest.mark.parametrize(
    ("remaining", "named"),
    [(100, ">80%"), (80, ">80%"), (79.9, "60-80%"), (60, "60-80%"), (40, "40-60%"), (39.9, "<40%"), (math.nan, "<40%")],
)
def test_the_range_is_the_specifications(remaining, named):
    assert range_of(remaining) == named
