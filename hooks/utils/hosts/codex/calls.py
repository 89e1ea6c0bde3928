"""Calls and results as Codex records them, in all forms that it has had. Pure; nothing is run.

In code mode the model writes JavaScript, `const r = await tools.exec_command({"cmd": "ls"}); text(r.output)`, and one result comes back for
all that the script called. Only arguments that are written out are read: what a script computes is not known.
"""

from __future__ import annotations

import json
import re
import shlex

from ...io.codec import as_object, as_text, text_in_field, texts
from .patches import input_of_patch, patch_in_line
from .scripts import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Item = dict[str, object]


CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"))
RESULTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"))
# Calls whose result the provider keeps to itself.
UNANSWERED = frozenset(("web_search_call",))

_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "fish", "ksh"))
_POWERSHELLS = frozenset(("powershell", "powershell.exe", "pwsh", "pwsh.exe", "cmd", "cmd.exe"))
_SHELL_TOOLS = {"shell": "command", "shell_command": "command", "exec_command": "cmd", "container.exec": "command"}
_SCRIPT, _PATCH = "exec", "apply_patch"
# What Codex says of a command before its output.
_OUTPUT_HEAD = re.compile(
    r"(?:(?:Chunk ID: [^\n]*|Wall time:? [^\n]*|Original token count: [^\n]*|Process running with session ID [^\n]*"
    r"|Script (?:completed|running|failed|terminated)[^\n]*|(?:Process exited with code|Exit code:) (?P<code>-?\d{1,5}))\n)+Output:\n?"
)


class Call:
    """A call: `id`, the `tool` and its `input`, and the folder (`cwd`) that it was made in, "" where it names none."""

    __slots__ = ("cwd", "id", "input", "tool")

    def __init__(self, id: str, tool: str, input: dict[str, object]) -> None:
        self.id = id
        self.tool = tool
        self.input = input
        self.cwd = text_in_field(input, "workdir")


def call_of(item: Item) -> Call | None:
    """Return the call of an item; None for one that names none."""
    kind, id = item.get("type"), item.get("call_id")
    id = id if isinstance(id, str) and id else item.get("id")
    if not isinstance(id, str) or not id:
        return None
    if kind == "local_shell_call":
        return Call(id, *_shell("shell", _object(item.get("action"))))
    if kind == "web_search_call":
        return Call(id, "web_search", _object(item.get("action")))
    name = "tool_search" if kind == "tool_search_call" else item.get("name")
    name = as_text(name)
    if kind == "custom_tool_call":
        return Call(id, *_custom(name, text_in_field(item, "input")))
    space = item.get("namespace")
    if isinstance(space, str) and space.startswith("mcp__"):
        name = f"{space.rstrip('_')}__{name}"
    return Call(id, *_function(name, _arguments(item.get("arguments"))))


def _function(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    name = name.removeprefix("functions.")
    if name in _SHELL_TOOLS:
        return _shell(name, arguments)
    if name == _PATCH and isinstance(arguments.get("input"), str):
        return name, input_of_patch(arguments["input"])
    return name, arguments


def _custom(name: str, text: str) -> tuple[str, dict[str, Any]]:
    name = name.removeprefix("functions.")
    if name == _PATCH:
        return name, input_of_patch(text)
    return (name, {"input": text}) if name != _SCRIPT else _scripted(calls_of(text)) or (name, {"input": text})


def _scripted(called: list[tuple[str, Any]]) -> tuple[str, dict[str, object]] | None:
    """Return the one call that a script amounts to: its only one, or all its commands, line by line; None for any other script."""
    calls = [(name, value if isinstance(value, dict) else {"input": value}) for name, value in called]
    if len(calls) == 1:
        return _function(*calls[0])
    lines = [value.get("cmd") for name, value in calls if name == "exec_command"]
    folders = {str(value.get("workdir", "")) for _, value in calls}
    if not calls or len(lines) < len(calls) or len(folders) > 1 or not all(isinstance(line, str) for line in lines):
        return None
    return "exec_command", {"cmd": "\n".join(map(str, lines)), **({"workdir": folder} if (folder := folders.pop()) else {})}


def _shell(name: str, arguments: dict[str, object]) -> tuple[str, dict[str, object]]:
    field = _SHELL_TOOLS[name]
    line = line_of(arguments.get(field))
    folder = arguments.get("workdir") or arguments.get("working_directory")
    patch = _patched(arguments.get(field), line)
    if patch is not None:
        within = patch[1] or as_text(folder)
        return _PATCH, {**input_of_patch(patch[0]), **({"workdir": within} if within else {})}
    rest = {key: value for key, value in arguments.items() if key not in (field, "working_directory", "type", "env", "user")}
    return name.replace("container.exec", "shell"), {field: line, **rest, **({"workdir": folder} if isinstance(folder, str) else {})}


def _patched(command: object, line: str) -> tuple[str, str] | None:
    if isinstance(command, list) and len(command) == 2 and command[0] == _PATCH and isinstance(command[1], str):
        return command[1], ""
    return patch_in_line(line)


def line_of(command: object) -> str:
    """Return the command line of a command, a line or a list of words; of a list that only starts a shell the line that it gets."""
    if isinstance(command, str):
        return command
    words = texts(command)
    program = words[0].replace("\\", "/").rpartition("/")[2].lower() if words else ""
    if len(words) == 3 and words[1][:1] in ("-", "/") and (program in _POWERSHELLS or (program in _SHELLS and words[1].endswith("c"))):
        return words[2]
    return shlex.join(words)


def result_of(item: Item) -> tuple[list[dict[str, object]] | str, bool]:
    """Return (content, whether it is an error) of an item that brings a result. What Codex says before a command's output (its time, its
    exit code) is left out; an exit code other than 0 comes before it in the words of Claude Code."""
    output = item.get("output", item.get("tools"))
    failed = False
    if isinstance(output, dict):  # the oldest form, and that of some tools
        failed = output.get("success") is False
        output = output.get("content", output)
    if isinstance(output, list):
        return _blocks(output), failed
    text = output if isinstance(output, str) else "" if output is None else json.dumps(output)
    text, code = _unwrapped(text)
    if code:
        return f"Exit code {code}\n{text}", True
    return text, failed


def _unwrapped(text: str) -> tuple[str, int]:
    """Return (output, exit code) of what Codex says of a command."""
    match = _OUTPUT_HEAD.match(text)
    if match is not None:
        return text[match.end() :], int(match["code"] or 0)
    if text.startswith('{"output":'):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text, 0
        about = as_object(value).get("metadata")
        if isinstance(about, dict) and isinstance(value["output"], str):
            code = about.get("exit_code")
            return value["output"], code if type(code) is int and abs(code) < 100_000 else 0
    return text, 0


def _blocks(output: list[Any]) -> list[dict[str, object]]:
    blocks: list[dict[str, object]] = []
    for one in output:
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("text"), str):
            match = _OUTPUT_HEAD.match(one["text"])
            blocks.append({"type": "text", "text": one["text"][match.end() :] if match else one["text"]})
        elif one.get("type") in ("input_image", "image"):
            blocks.append({"type": "image"})
        else:
            blocks.append({"type": "text", "text": json.dumps(one)})
    return [block for block in blocks if block.get("text") != ""]


def _arguments(value: object) -> dict[str, object]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"arguments": value}
    return _object(value)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {} if value is None else {"arguments": value}
