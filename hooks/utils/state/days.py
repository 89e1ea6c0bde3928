"""The days of a ledger: sums by local day, for the last week in which a context was in use. A table of them is flat: "2026-11-22 charged".

A day is one where this computer is when the ledger is settled. The sums of older days are in those of the whole ledger alone.
"""

from __future__ import annotations

import time

from ..policy.ledger import DAILY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WEEK_DAYS = 7
_FORM = "%Y-%m-%d"
# One more than a week, because a clock may be set back, or stand in another zone later.
_KEPT_DAYS = WEEK_DAYS + 1


def day_of(at: float) -> str:
    """The local day of a time (seconds since the epoch), as in "2026-11-22"; "" for a time that no calendar has."""
    try:
        return time.strftime(_FORM, time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return ""


def days_before(day: str, days: int) -> str:
    """The day so many days before another."""
    year, month, number = map(int, day.split("-"))
    return day_of(time.mktime((year, month, number - days, 12, 0, 0, 0, 0, -1)))


def newest_days(by_day: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The flat table of the newest days."""
    newest = max(by_day, default="")
    if not newest:
        return {}
    oldest = days_before(newest, _KEPT_DAYS - 1)
    return {
        f"{day} {name}": round(amount, 6) for day, amounts in sorted(by_day.items()) if day >= oldest for name, amount in amounts.items()
    }


def sums_since(table: Mapping[str, float], day: str) -> dict[str, float]:
    """The sums of a flat table from a day on, by name; 0 where there is nothing."""
    found = dict.fromkeys(DAILY, 0.0)
    for key, amount in table.items():
        of, _, name = key.partition(" ")
        if of >= day and name in found:
            found[name] += amount
    return found
