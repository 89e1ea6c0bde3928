"""The completed call that a hook's payload tells of. Payloads come from outside: any field may be missing or of any type."""

from __future__ import annotations

from ...io import home
from ...io.codec import as_text, text_in_field
from ...policy.calls import Call
from ..transcripts.outcomes import input_of, outcome_of, outcome_of_error
from . import TOOLS

# What comes before and behind the folder of our command, for which a command of the model's is run.
_OURS, _THEN = "PATH='", "' && "


def call_of(payload: dict[str, object], now: float) -> Call | None:
    """Return the completed call that a PostToolUse or PostToolUseFailure payload tells of; None when it names none."""
    id, name = text_in_field(payload, "tool_use_id"), text_in_field(payload, "tool_name")
    if not id or not name:
        return None
    tool = TOOLS.of(name)
    tool_input = _as_recorded(input_of(payload.get("tool_input")))
    if payload.get("hook_event_name") == "PostToolUseFailure":
        outcome = outcome_of_error(text_in_field(payload, "error"))
    else:
        outcome = outcome_of(tool, tool_input, payload.get("tool_response"))
    prompt = payload.get("prompt_id")
    return Call(id, tool, tool_input, outcome, now, text_in_field(payload, "cwd"), prompt if isinstance(prompt, str) else None)


def run_as_ours(command: str) -> str:
    # The words of the model stay in it as they are: the user's own rules against `popkit` look for them.
    folder = home.plugin_root() + "/bin"
    return _OURS + folder.replace("'", "'\\''") + _THEN + command if folder.isprintable() and ":" not in folder else ""


def _as_recorded(tool_input: dict[str, object]) -> dict[str, object]:
    """Return the input as the transcript has it: the host tells hooks the command that it ran for it."""
    command = tool_input.get("command")
    if isinstance(command, str) and command.startswith(_OURS):
        begin = run_as_ours("")
        if begin and command.startswith(begin):
            return {**tool_input, "command": command[len(begin) :]}
    return tool_input


def output_of(payload: dict[str, object]) -> str:
    response = payload.get("tool_response")
    output = response.get("stdout") if isinstance(response, dict) else response
    return as_text(output)
