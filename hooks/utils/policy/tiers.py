"""Tier names in order of lifetime, how each tier ends, and the tier of each tool. Pure: no clock, no disk.

`TIER_CONFIG` and `TOOL_TIERS` keep the names and values of the specification; `TOOL_TIERS` knows more tools. They are the only place that
says so: what is changed here changes what results live by. A configuration lies above them.
"""

from __future__ import annotations

from . import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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
    "preserved": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["manual"]},
}

EVENTS = ("edit", "commit", "supersede", "session_end", "manual")
EVENT_ALIASES = {"edit_file": "edit"}

TOOL_TIERS = {
    "Read": "medium",
    "NotebookRead": "medium",
    "Grep": "short",
    "Glob": "short",
    "LS": "short",
    "WebSearch": "short",
    "Edit": "ephemeral",
    "MultiEdit": "ephemeral",
    "Write": "ephemeral",
    "NotebookEdit": "ephemeral",
    "KillShell": "ephemeral",
    "TaskStop": "ephemeral",
    "TaskCreate": "ephemeral",
    "TaskUpdate": "ephemeral",
    "TaskList": "preserved",  # of task lists the newest is kept
    "TaskOutput": "session",
    "TodoWrite": "preserved",
    "BashOutput": "session",
    "WebFetch": "session",
    "Agent": "session",
    "Task": "session",
    "Skill": "session",
    "ToolSearch": "session",
    "AskUserQuestion": "preserved",
    "ExitPlanMode": "preserved",
    "Bash": {
        "default": "session",
        "patterns": {
            "git commit": "ephemeral",
            "git push": "ephemeral",
            "npm test": "session",
            "npm run build": "session",
            "mkdir": "ephemeral",
            "rm": "ephemeral",
        },
    },
}


def tier_of_tool(tool: str, table: Table = TOOL_TIERS) -> str:
    """The tier of a tool by its name alone: `session` for tools that no table names."""
    entry = table.get(tool, DEFAULT_TIER)
    if isinstance(entry, dict):
        entry = entry.get("default")
    return entry if entry in TIERS else DEFAULT_TIER


def tier_of_command(kind: str, name: str, table: Table = TOOL_TIERS) -> str:
    """The tier of a command in a Bash line: of the first pattern that its name begins with, else by what it does."""
    entry = table.get("Bash")
    patterns = entry.get("patterns") if isinstance(entry, dict) else None
    for pattern, tier in patterns.items() if isinstance(patterns, dict) else ():
        if starts_with_words(name, pattern) and tier in TIERS:
            return tier
    return tier_of_tool(kinds.of(kind).tool, table)


def starts_with_words(command: str, words: str) -> bool:
    """Whether a command begins with whole words."""
    return command.startswith(words) and command[len(words) : len(words) + 1] in ("", " ")


def outlives(tier: str, other: str) -> bool:
    """Whether a tier comes after another in order of lifetime."""
    return TIERS.index(tier) > TIERS.index(other)
