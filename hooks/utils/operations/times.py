"""Points in time as a person writes them: `2h`, `3d`, a date, a date and a time. Pure."""

from __future__ import annotations

from .. import text
from ..flag_parser import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def age(word: str) -> float:
    """The seconds of `90s`, `30m`, `2h`, `3d`, `1w`; UsageError for anything else."""
    number, unit = word[:-1], word[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise UsageError(f"{text.quote(word)} is not a duration. Give a whole number followed by s, m, h, d or w, such as 30d")
    return int(number) * _UNITS[unit]


def since(word: str, now: float) -> float:
    """The time (seconds since the epoch) that a word means: so long ago, or a date, with or without a time, in UTC; UsageError for
    anything else."""
    try:
        return max(0.0, now - age(word))
    except UsageError:
        return _date(word)


def until(word: str, now: float) -> float:
    """The time (seconds since the epoch) that a word means: so far ahead, or a date, with or without a time, in UTC; UsageError for
    anything else."""
    try:
        return now + age(word)
    except UsageError:
        return _date(word)


def _date(word: str) -> float:
    from datetime import datetime, timezone

    try:
        said = datetime.fromisoformat(word[:-1] + "+00:00" if word.endswith(("Z", "z")) else word)
        return (said if said.tzinfo else said.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text.quote(word)} is not a time. Give 2h or 3d, or a date such as 2026-02-21 or 2026-02-21T16:15") from None
