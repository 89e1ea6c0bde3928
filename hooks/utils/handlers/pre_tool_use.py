"""Allow `popkit restore HANDLE`, which a placeholder tells the model to run, without a question to the user."""

from __future__ import annotations

from ..hosts.claude_code import TOOLS
from ..hosts.claude_code.calls import run_as_ours, text
from ..policy.placeholder import is_handle
from ..policy.tools import SHELL
from ..state import live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The only inputs of a shell that may be set: they change neither the command nor where it runs.
_HARMLESS = frozenset(("command", "description", "timeout"))


def handle(payload: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Allow exactly `popkit restore HANDLE`, and give the host the command under which a project's own `popkit` cannot be meant."""
    tool, tool_input = TOOLS.of(text(payload, "tool_name")), payload.get("tool_input")
    if tool.operation != SHELL or not isinstance(tool_input, dict) or not _HARMLESS.issuperset(tool_input):
        return None
    command = text(tool_input, tool.line)
    words = command.split(" ")
    if len(words) != 3 or words[:2] != ["popkit", "restore"] or not is_handle(words[2]):
        return None
    site, ours = live.site_of(payload, environ), run_as_ours(command)
    if site is None or not ours:
        return None
    from ..reclaim import restoring

    if not restoring.was_cleared_here(site, words[2], text(payload, "transcript_path")):
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": "popkit restore prints what was cleared from this context",
            "updatedInput": {**tool_input, "command": ours},
        }
    }
