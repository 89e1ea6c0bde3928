"""Declare the feature context: its tile, which adds to sessions, over memory and usage."""

from __future__ import annotations

from ..features import Feature

FEATURE = Feature("context", 90, needs=("memory", "usage"), tile=f"{__package__}.tile:ContextTile")
