"""The model wants to run `popkit restore HANDLE`, as a placeholder tells it: that needs no question to the user."""

from __future__ import annotations

from ..policy.placeholder import is_handle
from ..state import live

# Of a Bash call these alone may be set: what they do not change is the command and where it runs.
_HARMLESS = frozenset(("command", "description", "timeout"))


def handle(payload: dict, environ) -> dict | None:
    """Allows exactly `popkit restore HANDLE`. The host's own pre-filter errs towards calling us, and what we allow it runs whole: on
    anything else we say nothing, and the user is asked as ever."""
    tool_input = payload.get("tool_input")
    if payload.get("tool_name") != "Bash" or not isinstance(tool_input, dict) or not _HARMLESS.issuperset(tool_input):
        return None
    command = tool_input.get("command")
    words = command.split(" ") if isinstance(command, str) else []
    if len(words) != 3 or words[:2] != ["popkit", "restore"] or not is_handle(words[2]) or live.site_of(payload, environ) is None:
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": "popkit restore prints what was cleared from this context",
        }
    }
