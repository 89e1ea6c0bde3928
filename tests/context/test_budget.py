"""What is used and what remains of a budget."""

from __future__ import annotations

import math

import pytest

from popkit_retention.context.budget import remaining_of


@pytest.mark.parametrize(
    ("used", "remaining"),
    [(None, 100), (0, 100), (35, 65), (100, 0), (140, 0), (-20, 100), (math.inf, 0), (math.nan, 0), (-math.inf, 100)],
)
def test_what_is_not_used_remains_and_never_less_than_nothing(used, remaining):
    assert remaining_of(used) == remaining
