"""How many examples a property is tried with: few in the ordinary run, many with --slow."""

from __future__ import annotations

_slow = False


def choose(slow: bool) -> None:
    """Which of the two it is; told before any test is collected, because hypothesis takes the number with the test's definition."""
    global _slow  # noqa: PLW0603
    _slow = slow


def examples(few: int, many: int) -> int:
    """For `max_examples`; what a test repeats itself asks the fixture `count`."""
    return many if _slow else few
