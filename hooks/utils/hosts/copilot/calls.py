"""Calls and their results as Copilot CLI records them. Pure.

Other hosts have tools of the same names, and one table serves the recordings of all: what a call leaves out, and its tool here takes as
said, is written out.
"""

from __future__ import annotations

import re

from ...io.codec import as_object, as_text, text_in_field
from ...policy.tools import READ
from ..codex.patches import input_of_patch
from ..recorded_values import list_of
from . import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Item = dict[str, Any]

_SEARCHES, _ROOTED = ("grep", "rg"), ("grep", "rg", "glob")
_PATCH, _EDITOR = "apply_patch", "str_replace_editor"
_EDITOR_TOOLS = {"view": "view", "create": "create", "str_replace": "edit"}  # its command -> the tool that does the same
# What Copilot CLI says behind the output of a command that has ended.
_ENDED = re.compile(r"\n?<[^<>\n]{0,80}\bwith exit code (-?\d{1,5})>\s*\Z")


def call_of(request: object) -> Item | None:
    """Return the block of a call that the assistant asks for; None for what is none."""
    if not isinstance(request, dict) or not isinstance(request.get("toolCallId"), str) or not isinstance(request.get("name"), str):
        return None
    name, server, tool = request["name"], request.get("mcpServerName"), request.get("mcpToolName")
    if isinstance(server, str) and server:
        name = f"mcp__{server}__{tool if isinstance(tool, str) and tool else name}"
    name, arguments = _called(name, request.get("arguments"))
    return {"type": "tool_use", "id": request["toolCallId"], "name": name, "input": arguments}


def _called(name: str, arguments: object) -> tuple[str, Item]:
    """Return the name of a call's tool, and its input."""
    if name == _PATCH:
        patch = arguments.get("input", arguments.get("patch")) if isinstance(arguments, dict) else arguments
        return name, input_of_patch(as_text(patch))
    if not isinstance(arguments, dict):
        return name, {} if arguments is None else {"arguments": arguments}
    command = arguments.get("command")
    if name == _EDITOR and isinstance(command, str):
        name = _EDITOR_TOOLS.get(command, name)
    given = dict(arguments)
    if name in _ROOTED and isinstance(given.get("paths"), (str, list)):
        roots = given["paths"] if isinstance(given["paths"], list) else [given["paths"]]
        if len(roots) == 1 and isinstance(roots[0], str):
            given["path"] = roots[0]
            del given["paths"]
    if name in _SEARCHES and "output_mode" not in given:
        given["output_mode"] = "files_with_matches"
    if name == "view":
        given.update(_lines(given.get("view_range")))
    return name, given


def _lines(view_range: object) -> dict[str, int]:
    """Return which lines a view asks for, from its first and its last line, of which -1 is the end of the file."""
    if not isinstance(view_range, list) or len(view_range) != 2 or not all(type(line) is int for line in view_range):
        return {}
    first, last = view_range
    return {"offset": first, **({"limit": last - first + 1} if last >= first > 0 else {})}


def result_of(data: Item, call: Item) -> tuple[Any, bool, Item]:
    """Return (content, whether it is an error, what an entry says of it beside) of a call that is complete."""
    result = as_object(data.get("result"))
    error = data.get("error")
    text = text_in_field(result, "content")
    if data.get("success") is False:
        return text or text_in_field(as_object(error), "message"), True, {}
    ended = _ENDED.search(text)
    code = as_object(data.get("shellExecution")).get("exitCode")
    if ended:
        text, code = text[: ended.start()], int(ended[1])
    if type(code) is int and code and abs(code) < 100_000:
        return f"Exit code {code}\n{text}", True, {}
    images = [{"type": "image"} for each in list_of(result.get("binaryResultsForLlm")) if _is_image(each)]
    if images:
        return [*([{"type": "text", "text": text}] if text else []), *images], False, {}
    return text, False, _shown(data, call, text) if TOOLS.of(call["name"]).operation == READ else {}


def _shown(data: Item, call: Item, text: str) -> Item:
    """Return which lines of a file a view has shown, in the form in which Claude Code says so; nothing for a folder."""
    about = as_object(data.get("toolTelemetry")).get("properties")
    if isinstance(about, dict) and about.get("viewType") == "directory":
        return {}
    first, asked = call["input"].get("offset", 1), call["input"].get("limit")
    first = first if type(first) is int and first > 0 else 1
    count = text.rstrip("\n").count("\n") + 1
    is_part = type(asked) is int and count >= asked
    total = first + count - 1 + int(is_part)  # at least: how long the file is, is not recorded
    return {"toolUseResult": {"type": "text", "file": {"content": text, "startLine": first, "numLines": count, "totalLines": total}}}


def _is_image(each: object) -> bool:
    return isinstance(each, dict) and (each.get("type") == "image" or str(each.get("mimeType", "")).startswith("image/"))
