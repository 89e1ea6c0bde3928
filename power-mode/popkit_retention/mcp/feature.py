"""Declare the feature mcp: `popkit mcp`, and the tools on an agent's own context."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature("mcp", 5, commands=(Command("mcp", f"{__package__}.operations:MCP", 140),), tools=f"{__package__}.context_tools")
