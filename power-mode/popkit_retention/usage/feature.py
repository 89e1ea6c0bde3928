"""Declare the feature usage: `popkit budget`, its database, its view."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "usage",
    30,
    commands=(Command("budget", f"{__package__}.operations:BUDGET", 80),),
    stores=(f"{__package__}.configured_database",),
    tile=f"{__package__}.tile:UsageTile",
)
