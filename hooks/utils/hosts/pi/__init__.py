"""The tools of pi, with the lifetimes of their results."""

from __future__ import annotations

from ...policy import tools

TOOL_TIERS = {
    "read": "medium",
    "grep": "short",
    "find": "short",
    "ls": "short",
    "edit": "ephemeral",
    "write": "ephemeral",
    "bash": "session",
    "powershell": "session",
}

# Other hosts have tools of the same names, and one table serves the recordings of all: these fields are of any.
_REPLACED = ("oldText", "newText", "oldString", "newString", "old_str", "new_str")
_FILE, _ROOT = ("path", "filePath", "file_path"), ("path",)
TOOLS = tools.Tools(
    {
        "read": (tools.READ, _FILE),
        "grep": (tools.SEARCH, _ROOT, "pattern"),
        "find": (tools.FIND, _ROOT, "pattern"),
        "ls": (tools.LIST, _ROOT),
        "edit": (tools.EDIT, _FILE, "", ("newText", "newString", "new_str"), _REPLACED),
        "write": (tools.WRITE, _FILE, "", ("content",), ("content",)),
        "bash": (tools.SHELL, (), "command"),
        "powershell": (tools.WINDOWS_SHELL, (), "command"),
    },
    TOOL_TIERS,
    ("path", "filePath", "command", "pattern", "url", "query", "description"),
    _FILE,
    {
        tools.FILE: _FILE,
        tools.ABOUT: ("description", "query", "url", "name", "path"),
        tools.FIRST_LINE: ("offset",),
        tools.LINES: ("limit",),
        tools.GLOB: ("glob",),
        tools.ANY_CASE: ("ignoreCase",),
        tools.AROUND: ("context",),
        tools.AT_MOST: ("limit",),
        tools.EDITS_OF_FILE: ("edits",),
    },
)
