"""Read the times of entries."""

from __future__ import annotations

# 2000-03-01, from which leap days come last in a year.
_EPOCH_2000_03_01 = 951_868_800


def seconds_of(stamp: object) -> float:
    """Return the seconds since 1970 of an ISO 8601 UTC time as the host writes it ("2026-02-21T16:15:30.639Z"); 0.0 for anything else."""
    if not isinstance(stamp, str) or len(stamp) < 19:
        return 0.0
    try:
        year, month, day = int(stamp[:4]), int(stamp[5:7]), int(stamp[8:10])
        clock = int(stamp[11:13]) * 3600 + int(stamp[14:16]) * 60 + int(stamp[17:19])
        fraction = float("0" + stamp[19:].rstrip("Z")) if stamp[19:20] == "." else 0.0
    except ValueError:
        return 0.0
    shifted = year - (month < 3)
    years = shifted - 2000
    days = years * 365 + years // 4 - years // 100 + years // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return _EPOCH_2000_03_01 + days * 86_400 + clock + fraction
