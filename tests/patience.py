"""How the tests wait: for a condition, never for a time. A busy machine makes a test slow, not red."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

# What takes longer hangs. No test is about this time: it only keeps a hanging one from staying for ever.
HANG_S = float(os.environ.get("PATIENCE_S", "1200"))  # a person at work waits less
# Seconds between two looks, the first and the last ones: a look costs processor time, too, and a long wait may be a twentieth longer.
_FIRST_S, _LAST_S, _SHARE = 0.01, 0.1, 1 / 20


def until(true: Callable[[], object], what: str) -> None:
    """Waits until `true()` is true; `what` is what it waits for, in words."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < HANG_S, f"waited {HANG_S:.0f} s in vain: {what}"
        pause(began)


def pause(began: float) -> None:
    """Sleep until the next look; `began` is when the wait did, by `time.monotonic()`."""
    time.sleep(min(max(_SHARE * (time.monotonic() - began), _FIRST_S), _LAST_S))


class Moments:
    """Random moments to kill a process at, in seconds after its start.

    They spread over the process's life, which is longer on a busy machine: told after each kill whether it came too late, they follow,
    so that most kills hit and some come too late.
    """

    def __init__(self, seed: int, life_s: float):
        self._random = random.Random(seed)
        self._span = life_s

    def draw(self) -> float:
        """The next moment."""
        return self._random.uniform(0, self._span)

    def tell(self, too_late: bool) -> None:
        """Whether the process had done its work before it was killed."""
        self._span *= 0.7 if too_late else 1.25
