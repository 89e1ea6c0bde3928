"""What the context builder brings: prompts assembled for an agent of your own."""

from __future__ import annotations

from ..features import Feature

FEATURE = Feature("context", 90, needs=("memory", "usage"), tile=f"{__package__}.tile:ContextTile")
