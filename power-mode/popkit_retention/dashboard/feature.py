"""What the dashboard brings: one page that shows everything live, on this machine."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "dashboard",
    50,
    commands=(Command("dashboard", f"{__package__}.operations:DASHBOARD", 110),),
    stores=(f"{__package__}.instance",),
    tile=f"{__package__}.savings:StatsTile",
)
