"""Decide on tool calls before they run: `popkit restore HANDLE`, which a placeholder tells the model to run, is allowed without a question
to the user; writing a line of ours into a file is refused."""

from __future__ import annotations

from ..hosts import protocol
from ..io.codec import text_in_field
from ..policy.tools import SHELL
from ..state.site import site_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..hosts.protocol import Host
    from ..policy.tools import Tool

# The only inputs of a shell that may be set: they change neither the command nor where it runs.
_HARMLESS = frozenset(("command", "description", "timeout"))


def answer(payload: dict[str, object], environ: Mapping[str, str]) -> dict[str, object] | None:
    host = protocol.of(text_in_field(payload, "session_id"))
    tool, tool_input = host.TOOLS.of(text_in_field(payload, "tool_name")), payload.get("tool_input")
    if not isinstance(tool_input, dict):
        return None
    return _allow(payload, environ, host, tool, tool_input) or _refuse(payload, environ, tool, tool_input)


def _refuse(payload: dict[str, object], environ: Mapping[str, str], tool: Tool, tool_input: dict[str, object]) -> dict[str, object] | None:
    """Refuse a call that would write a line of ours, which stands for something that was left out of this session, into a file."""
    from ..reclaim import refusing

    site = site_of(payload, environ) if refusing.may_write_one(tool, tool_input) else None
    if site is None:
        return None
    why = refusing.refusal(site, tool, tool_input, text_in_field(payload, "transcript_path"), text_in_field(payload, "agent_id"))
    if not why:
        return None
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why}
    return {"hookSpecificOutput": answer}


def _allow(
    payload: dict[str, object], environ: Mapping[str, str], host: Host, tool: Tool, tool_input: dict[str, object]
) -> dict[str, object] | None:
    """Allow exactly `popkit restore HANDLE`, and give the host the command under which a project's own `popkit` cannot be meant."""
    if tool.operation != SHELL or not _HARMLESS.issuperset(tool_input):
        return None
    command = text_in_field(tool_input, tool.line)
    words = command.split(" ")
    if len(words) != 3 or words[:2] != ["popkit", "restore"]:
        return None
    from ..policy.placeholder import is_handle

    if not is_handle(words[2]):
        return None
    site, ours = site_of(payload, environ), host.run_as_ours(command)
    if site is None or not ours:
        return None
    from ..reclaim import restoring

    if not restoring.record_of(site, words[2], text_in_field(payload, "transcript_path")):
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": "popkit restore prints what was cleared from this context",
            "updatedInput": {**tool_input, "command": ours},
        }
    }
