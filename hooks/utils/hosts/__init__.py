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


def tool(name: str) -> Tool:
    """Return a tool by its name alone, of whichever host: labels do not say which."""
    return tools_of({}).of(name)
