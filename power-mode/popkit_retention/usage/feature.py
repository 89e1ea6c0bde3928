"""What usage brings: the requests of all sessions in one database, and the user's own limits."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "usage", 30, commands=(Command("budget", f"{__package__}.operations:BUDGET", 80),), stores=(f"{__package__}.configured_database",)
)
