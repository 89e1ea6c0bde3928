"""Declare the feature memory: `popkit memory`, its store, view and tools."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "memory",
    10,
    commands=(Command("memory", f"{__package__}.operations:MEMORY", 30, run=f"{__package__}.command:run"),),
    stores=(f"{__package__}.health",),
    tile=f"{__package__}.tile:MemoryTile",
    tools=f"{__package__}.tools",
)
