"""Declare the feature dashboard: `popkit dashboard`, and the view Stats."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "dashboard",
    50,
    commands=(Command("dashboard", f"{__package__}.operations:DASHBOARD", 110),),
    stores=(f"{__package__}.instance",),
    tile=f"{__package__}.savings:StatsTile",
)
