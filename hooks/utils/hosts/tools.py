"""Find the tools that a session may call, by its host."""

from __future__ import annotations

from . import is_guest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.tools import Tool, Tools


def tools_of(session_id: str) -> Tools:
    """Return the tools that a session may call: all of its host that a tool call needs (see protocol.py)."""
    if is_guest(session_id):
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
