"""What a bill says of one kind of thread's lifetime of the cache."""

from __future__ import annotations

from typing import Any


def lifetime(**given: Any) -> dict[str, Any]:
    return {
        "pays": "1h", "share": 0.063, "usd_per_month": 41.2, "has": "5m", "requests": 4_312, "pauses": 57, "days": 30.0, **given,
    }  # fmt: skip
