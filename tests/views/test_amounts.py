"""Amounts as people read them: the limits of the plan in a line."""

from __future__ import annotations

import time

import pytest

from popkit_retention.core.policy.limits import Reading, Window
from popkit_retention.core.views import plan_limits

NOW = time.mktime((2026, 11, 24, 14, 0, 0, 0, 0, -1))  # a Tuesday
HOUR = 3_600.0


def window(kind: str, percent: float, full_in: float | None = None, ago: float = 0.0, resets_in: float = 4 * HOUR) -> Window:
    return Window(Reading(kind, NOW - ago, percent, NOW + resets_in), 1.0, None if full_in is None else NOW + full_in)


LINES = [
    ([], ""),
    ([window("five_hour", 62, 160 * 60), window("seven_day", 31)], "5 h 62%, full at 16:40 · 7 d 31%"),
    ([window("seven_day", 90.4, 30 * HOUR)], "7 d 90%, full Wed 20:00"),
    ([window("five_hour", 99.7, 60)], "5 h 99%, full at 14:01"),
    ([window("five_hour", 100, 0)], "5 h 100%, resets at 18:00"),
    ([window("spend_limit", 104.5, resets_in=8 * 24 * HOUR)], "spend 104%, resets 2026-12-02"),
    ([window("five_hour", 62, 60, ago=HOUR + 1), window("seven_day", 31, ago=HOUR)], "7 d 31%"),
]


@pytest.mark.parametrize(("windows", "expected"), LINES)
def test_the_line_says_how_full_they_are_and_when_they_will_be(windows: list[Window], expected: str):
    assert plan_limits.limits_line(windows, NOW) == expected
