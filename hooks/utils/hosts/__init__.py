"""The hosts: what a coding agent gives and what it takes, one folder each. Outside of them no tool's name is compared."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.tools import Tool, Tools


# How the ids of a host's sessions begin; any other session is Claude Code's.
OPENCODE = "ses_"
CLAUDE_CODE = "Claude Code"
# Words for a host that keeps its sessions itself: its name comes before them, the consequence after.
KEEPS = "keeps this session itself"


def is_kept(session_id: str) -> bool:
    """Return whether a session's host keeps it where nothing of ours is changed."""
    return session_id.startswith(OPENCODE)


def kept_by(host: str) -> str:
    """Return in words why nothing is cleared from a session that its host keeps itself."""
    return f"{host} {KEEPS}, so only /compact removes anything"


def name_of(session_id: str) -> str:
    """Return the name of the host of a session that a client of ours knows, as people call it."""
    return "OpenCode" if session_id.startswith(OPENCODE) else CLAUDE_CODE


def tools_of(session_id: str) -> Tools:
    """Return the tools that a session may call: all of its host that a tool call needs (see protocol.py)."""
    if session_id.startswith(OPENCODE):
        return recorded_tools()
    from .claude_code import TOOLS

    return TOOLS


def recorded_tools() -> Tools:
    """Return the tools of all hosts whose recordings are read, in one table (see recordings.py)."""
    from .recordings import tools

    return tools()


def tool(name: str) -> Tool:
    """Return a tool by its name alone, of whichever host: labels do not say which."""
    own = tools_of("")
    return (own if name in own or name.startswith("mcp__") else recorded_tools()).of(name)
