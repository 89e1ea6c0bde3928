"""Tier names in order of lifetime, how each tier ends, and which tier a call has by its tool. Pure: no clock, no disk.

`TIER_CONFIG` keeps the names and values of the specification, but for `success`, which the profile `spec` leaves out
(docs/decisions/state/errors.md): what is changed in it changes what results live by. The tiers of tools are the host's
(`hosts/claude_code/tools.py`). A configuration lies above both.
"""

from __future__ import annotations

from . import kinds
from .tools import SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .ruleset import Ruleset

    # Of tiers or tools, built-in or as a user writes them: what does not make sense in one is passed over.
    Table = Mapping[str, Any]

TIERS = ("ephemeral", "short", "medium", "session", "preserved")

# The tier of a tool that no table names, MCP tools among them: what it returned is not understood, so it
# stays until the same call replaces it.
DEFAULT_TIER = "session"

# ttl_tools counts the tool calls of one context. A missing or null lifetime means that age alone never ends a result.
TIER_CONFIG = {
    "ephemeral": {"ttl_tools": 1, "ttl_seconds": None},
    "short": {"ttl_tools": 5, "ttl_seconds": 300},
    "medium": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["edit", "commit"]},
    "session": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["supersede", "session_end"]},
    "preserved": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["success", "manual"]},
}

EVENTS = ("edit", "commit", "supersede", "session_end", "manual")
# What may end a preserved result: an error ends when what failed succeeds later.
PRESERVED_EVENTS = ("success", "manual")
EVENT_ALIASES = {"edit_file": "edit"}


def tier_of_tool(tool: str, rules: Ruleset) -> str:
    """Return the tier of a tool by its name alone: `session` for tools that the host's table does not name."""
    entry = rules.tool_tiers.get(tool, DEFAULT_TIER)
    if isinstance(entry, dict):
        entry = entry.get("default")
    return entry if entry in TIERS else DEFAULT_TIER


def tier_of_operation(operation: str, rules: Ruleset) -> str:
    """Return the tier of what does the same as the host's tool for an operation."""
    return tier_of_tool(rules.tools.first(operation), rules)


def tier_of_command(kind: str, name: str, rules: Ruleset) -> str:
    """Return the tier of a command in a shell's line: of the first pattern that its name begins with, else by what it does."""
    entry = rules.tool_tiers.get(rules.tools.first(SHELL))
    patterns = entry.get("patterns") if isinstance(entry, dict) else None
    for pattern, tier in patterns.items() if isinstance(patterns, dict) else ():
        if starts_with_words(name, pattern) and tier in TIERS:
            return tier
    return tier_of_operation(kinds.of(kind).operation, rules)


def starts_with_words(command: str, words: str) -> bool:
    """Whether a command begins with whole words."""
    return command.startswith(words) and command[len(words) : len(words) + 1] in ("", " ")


def outlives(tier: str, other: str) -> bool:
    """Whether a tier comes after another in order of lifetime."""
    return TIERS.index(tier) > TIERS.index(other)
