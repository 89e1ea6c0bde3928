"""A hook payload as an event of the engine. Payloads come from outside: any field may be missing or of any type."""

from __future__ import annotations

from ..edges import home
from ..policy.calls import Call
from . import responses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What stands before and behind the folder of our command, for which a command of the model's is run.
_OURS, _THEN = "PATH='", "' && "


def text(payload: dict[str, Any], name: str) -> str:
    """A text field of a payload, "" when it is none."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def call_of(payload: dict[str, Any], now: float) -> Call | None:
    """The completed call that a PostToolUse or PostToolUseFailure payload tells of; None when it names none."""
    id, tool = text(payload, "tool_use_id"), text(payload, "tool_name")
    if not id or not tool:
        return None
    tool_input = payload.get("tool_input")
    tool_input = _as_asked(tool_input) if isinstance(tool_input, dict) else {}
    if payload.get("hook_event_name") == "PostToolUseFailure":
        outcome = responses.outcome_of_error(text(payload, "error"))
    else:
        outcome = responses.outcome_of(tool, tool_input, payload.get("tool_response"))
    prompt = payload.get("prompt_id")
    return Call(id, tool, tool_input, outcome, now, text(payload, "cwd"), prompt if isinstance(prompt, str) else None)


def run_as_ours(command: str) -> str:
    """The shell command in which `popkit …` can be no program but ours, whatever a project puts on the PATH; "" where our folder's name
    cannot stand there. The words of the model stay in it as they are: the user's own rules against `popkit` look for them."""
    folder = home.plugin_root() + "/bin"
    return _OURS + folder.replace("'", "'\\''") + _THEN + command if folder.isprintable() and ":" not in folder else ""


def _as_asked(tool_input: dict[str, Any]) -> dict[str, Any]:
    """The input as the transcript has it: the host tells hooks the command that it ran for it."""
    command = tool_input.get("command")
    if isinstance(command, str) and command.startswith(_OURS):
        begin = run_as_ours("")
        if begin and command.startswith(begin):
            return {**tool_input, "command": command[len(begin) :]}
    return tool_input


def commits(call: Call) -> bool:
    """Whether a call made a git commit."""
    command = call.tool_input.get("command")
    if call.outcome.error or not isinstance(command, str) or "commit" not in command or "git" not in command:
        return False
    from ..policy.commandline import bash

    return any(action.commits for action in bash.actions(command, call.cwd))


def committed(call: Call, payload: dict[str, Any], now: float) -> list[str] | None:
    """The files in the commit that a call made, asked of git; None where git cannot say."""
    from ..edges import git

    response = payload.get("tool_response")
    output = response.get("stdout") if isinstance(response, dict) else response
    return git.committed_files(call.cwd or ".", output if isinstance(output, str) else "", now)
