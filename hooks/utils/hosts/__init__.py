"""The hosts: what a coding agent gives and what it takes, one folder each. Outside of them no tool's name is compared."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..policy.tools import Tool, Tools


def tools_of(environ: Mapping[str, str]) -> Tools:
    """Return the tools of the host that a hook, the helper or a command works for: all of it that a tool call needs (see protocol.py)."""
    from .claude_code.tools import TOOLS

    return TOOLS


def recorded_tools() -> Tools:
    """Return the tools of all hosts whose recordings are read, in one table (see recordings.py)."""
    from .recordings import tools

    return tools()


def tool(name: str) -> Tool:
    """Return a tool by its name alone, of whichever host: labels do not say which."""
    own = tools_of({})
    return (own if name in own or name.startswith("mcp__") else recorded_tools()).of(name)
