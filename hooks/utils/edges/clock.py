"""The time of day, for every edge that needs one."""

from __future__ import annotations

import time


def now(environ) -> float:
    """Seconds since the epoch. POPKIT_CLOCK sets the time, so that a recorded session can be fed to real hooks."""
    try:
        return float(environ["POPKIT_CLOCK"])
    except (KeyError, ValueError):
        return time.time()
