"""Tier names in order of lifetime, and the built-in tier of each tool. Pure data: no clock, no disk.

`TIER_CONFIG` and `TOOL_TIERS` keep the names and values of the specification; `TOOL_TIERS` knows more tools.
"""

from __future__ import annotations

TIERS = ("ephemeral", "short", "medium", "session", "preserved")

# The tier of a tool that no table names, MCP tools among them: what it returned is not understood, so it
# stays until the same call replaces it.
DEFAULT_TIER = "session"

# ttl_tools counts the tool calls of one context. A missing or null lifetime means that age alone never ends a result.
TIER_CONFIG = {
    "ephemeral": {"ttl_tools": 1, "ttl_seconds": None},
    "short": {"ttl_tools": 5, "ttl_seconds": 300},
    "medium": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["edit", "commit"]},
    "session": {"ttl_tools": None, "ttl_seconds": None, "expiry_events": ["supersede"]},
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


def tier_of_tool(tool: str) -> str:
    """The built-in tier of a tool by its name alone: `session` for tools that no table names."""
    entry = TOOL_TIERS.get(tool, DEFAULT_TIER)
    return entry["default"] if isinstance(entry, dict) else entry
