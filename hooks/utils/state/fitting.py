"""Whether what tokens are worth in the windows of the plan is to be fitted anew: there are windows enough, and the last fit is hours
old."""

from __future__ import annotations

from ..policy.limits import FIVE_HOUR, LEAST_WINDOWS, count
from . import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

EVERY_S = 6 * 3_600.0
WORDS = ("limits", "--json")
HOOK = "fitting"  # what goes wrong is logged under this name


def is_due(popkit_home: str, now: float) -> bool:
    """Return whether it is to be done; also where the clock has been set back behind the last time."""
    return not 0 <= now - limits.fitted_at(popkit_home) < EVERY_S and count(limits.readings(popkit_home), FIVE_HOUR) >= LEAST_WINDOWS


def start(popkit_home: str, environ: Mapping[str, str], now: float) -> None:
    """Start a child that fits, if one is to be. Fails open: what goes wrong stands in the log."""
    try:
        if is_due(popkit_home, now):
            from ..io import children

            children.start(WORDS, environ)
    except (OSError, ValueError) as error:
        from ..io import failures  # seldom

        failures.record(environ, HOOK, error)
