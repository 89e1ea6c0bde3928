"""Declare the feature bill: `popkit bill`, its digests of sessions, its view."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "bill",
    40,
    commands=(
        Command(
            "bill",
            f"{__package__}.operations:BILL",
            70,
            first=(70, "what you pay, what the cache lost, your plan's limits"),
            renamed={"limits": ("bill limits", {}), "misses": ("bill misses", {})},
        ),
    ),
    stores=(f"{__package__}.digests",),
    tile=f"{__package__}.tile:BillTile",
)
