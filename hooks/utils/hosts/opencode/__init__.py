"""OpenCode as a host: its tools (how long the results of each live, what it does, and what a result tells), its messages as entries, and
the transcripts that the helper keeps of its sessions. Command lines live by the patterns of Claude Code's Bash.
"""

from __future__ import annotations

from ...policy import tools
from ...policy.calls import Outcome
from ..transcripts import outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...policy.tools import Tool


TOOL_TIERS = {
    "read": "medium",
    "grep": "short",
    "glob": "short",
    "list": "short",
    "websearch": "short",
    "codesearch": "short",
    "edit": "ephemeral",
    "multiedit": "ephemeral",
    "write": "ephemeral",
    "patch": "ephemeral",
    "apply_patch": "ephemeral",
    "bash": "session",
    "webfetch": "session",
    "task": "session",
    "skill": "session",
    "lsp": "short",
    "todowrite": "preserved",  # of lists the newest is kept
    "todoread": "preserved",
    "question": "preserved",
    "plan_exit": "preserved",
}

_FILE, _ROOT = ("filePath", "file_path", "path"), ("path",)
TOOLS = tools.Tools(
    {
        "read": (tools.READ, _FILE),
        "grep": (tools.SEARCH, _ROOT, "pattern"),
        "glob": (tools.FIND, _ROOT, "pattern"),
        "list": (tools.LIST, _ROOT, "pattern"),
        "edit": (tools.EDIT, _FILE, "", ("newString",), ("oldString", "newString")),
        "multiedit": (tools.EDIT, _FILE, "", ("newString",)),
        "write": (tools.WRITE, _FILE, "", ("content",), ("content",)),
        "patch": (tools.EDIT, _FILE, "", (), (), "others"),
        "bash": (tools.SHELL, (), "command"),
        "webfetch": (tools.FETCH,),
        "websearch": (tools.FETCH,),
        "codesearch": (tools.FETCH,),
        "task": (tools.DELEGATE,),
        "skill": (tools.SKILL,),
        "todowrite": (tools.TASKS,),
        "todoread": (tools.TASKS,),
        "question": (tools.ASK,),
        "plan_exit": (tools.PLAN,),
    },
    TOOL_TIERS,
    ("file_path", "filePath", "command", "pattern", "url", "query", "description", "path", "task_id"),
    _FILE,
    {
        tools.FILE: _FILE,
        tools.ABOUT: ("description", "query", "url", "name", "task_id", "path"),
        tools.FIRST_LINE: ("offset",),
        tools.LINES: ("limit",),
        tools.GLOB: ("include",),
        tools.EDITS_OF_FILE: ("edits",),
    },
)


# --- results ---


def row_of(id: str, output: object, failed: bool) -> dict[str, Any]:
    """Return the row that a result would be in a conversation of Claude Code's; `output`: a text, or the blocks of an MCP server."""
    block = {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}
    return {"message": {"role": "user", "content": [block]}}


def exit_of(metadata: object) -> int | None:
    """Return the exit code that OpenCode notes of a command; None where it notes none."""
    code = metadata.get("exit") if isinstance(metadata, dict) else None
    return code if type(code) is int and -1_000 < code < 100_000 else None


def outcome_of(tool: Tool, tool_input: dict[str, Any], text: str, metadata: object, failed: bool) -> Outcome:
    """Return the outcome of a call from the text that the model got and what OpenCode notes beside it."""
    if failed:
        return outcomes.outcome_of_error(error_text(text, metadata))
    shown = shown_file(metadata)
    return outcomes.outcome_of(tool, tool_input, shown if shown is not None and tool.name == "read" else text)


def error_text(text: str, metadata: object) -> str:
    """Return the text of a failure, with the exit code where that is known."""
    code = exit_of(metadata)
    return text if not code else f"Exit code {code}\n{text}"


def shown_file(metadata: object) -> dict[str, Any] | None:
    """Return which lines of a file a read has shown, in the form in which Claude Code says so; None where OpenCode does not say."""
    shown = metadata.get("display") if isinstance(metadata, dict) else None
    if not isinstance(shown, dict) or shown.get("type") != "file" or not isinstance(shown.get("text"), str):
        return None
    first, last, total = (shown.get(name) for name in ("lineStart", "lineEnd", "totalLines"))
    if not (type(first) is int and type(last) is int and 0 < first <= last):
        return None
    file = {"content": shown["text"], "startLine": first, "numLines": last - first + 1}
    return {"type": "text", "file": {**file, "totalLines": total if type(total) is int else last + 1}}


def tool_named(name: object) -> Tool:
    """Return a tool by its name; of one that is not known, no more than that."""
    return TOOLS.of(name if isinstance(name, str) else "")
