"""The feature mcp: a command that serves the tools of all features to agents."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature("mcp", 5, commands=(Command("mcp", f"{__package__}.operations:MCP", 140),), tools=f"{__package__}.context_tools")
