"""Numbers on the page agree with the panel to the digit: both are asked about the same ones."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from popkit_retention.core import units
from popkit_retention.core.views import amounts
from tests.dashboard.page.served import Visit

# Around every rounding, and halves that the two languages round differently.
NUMBERS = [
    0,
    0.4,
    0.5,
    1,
    1.5,
    2.5,
    999,
    999.5,
    1_000,
    1_049,
    1_050,
    1_150,
    1_250,
    1_350,
    9_949,
    9_950,
    9_999,
    10_500,
    11_500,
    12_250,
    12_350,
]
NUMBERS += [98_765, 99_950, 123_450, 123_550, 999_499, 999_500, 1_250_000, 1_750_000, 9_950_000, 999_500_000, 1_250_000_000, 12_345_678_901]
SECONDS = [0, 0.5, 1.5, 59, 59.5, 60, 61, 119, 270, 599, 599.5, 600, 3_599, 3_600, 3_900, 7_199, 7_200, 90_000, 172_799, 172_800, 1_000_000]
RATIOS = [0, 0.001, 0.004999, 0.005, 0.015, 0.025, 0.125, 0.135, 0.145, 0.285, 0.345, 0.575, 0.995, 0.9999, 1, 1.115, 2.675]
DOLLARS = [0, 0.0004, -0.0004, 0.003, -0.003, 0.0096, 12.344, -99.99, 99.994, 123.4, -9_999, 9_999.6, 12_300, 123_456, 1_234_567, 5e9]
OF_THE_PANEL = {
    "tokens": (units.tokens, NUMBERS),
    "longTokens": (units.long_tokens, NUMBERS),
    "whole": (lambda number: f"{round(number):,}", NUMBERS),
    "percent": (units.percent, RATIOS),
    "span": (units.span, SECONDS),
    "countdown": (units.countdown, SECONDS),
    "money": (amounts.usd, DOLLARS),
    "size": (lambda number: units.size(round(number)), NUMBERS),
}
MANY = 2_000


@pytest.fixture
def formatted(visit: Callable[..., Visit]) -> Callable[[str, list[float]], list[str]]:
    """`formatted(name, numbers)`: what a function of format.js says of them, in the browser."""
    page = visit().page
    code = "async ([name, numbers]) => { const all = await import('/format.js'); return numbers.map((number) => all[name](number)); }"
    return lambda name, numbers: page.evaluate(code, [name, numbers])


def test_the_page_and_the_panel_say_the_same_of_every_number(formatted: Callable[[str, list[float]], list[str]]) -> None:
    draw = random.Random(13)
    for name, (panel, numbers) in OF_THE_PANEL.items():
        top = max(numbers)
        drawn = [draw.choice((1, 0.1, 0.001)) * draw.random() * top for _ in range(MANY)]
        tried = [*numbers, *(drawn if name in ("percent", "span", "countdown") else map(round, drawn))]
        tried = [round(number) for number in tried] if name == "size" else tried
        expected = [panel(number) for number in tried]
        assert dict(zip(tried, formatted(name, tried))) == dict(zip(tried, expected)), name
