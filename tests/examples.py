"""How many examples a property is tried with, and how often a test repeats something: few in the ordinary run, many with --slow, hardly any
with --fast."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
_slow = _fast = False
_SHARE, _LEAST = 10, 4  # of the few with --fast


def choose(slow: bool, fast: bool) -> None:
    """Which run it is; told before any test is collected, because hypothesis takes the number with the test's definition."""
    global _slow, _fast
    _slow, _fast = slow, fast


def examples(few: T, many: T) -> T:
    """For `max_examples`; a test has it as the fixture `count`, which may also choose between other things than numbers."""
    if _slow:
        return many
    return max(min(few, _LEAST), few // _SHARE) if _fast and isinstance(few, int) else few
