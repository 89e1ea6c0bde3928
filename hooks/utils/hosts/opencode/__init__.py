"""The tools of OpenCode, with the lifetimes of their results."""

from __future__ import annotations

from ...policy import tools

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
