"""The tools of Codex, with the lifetimes of their results. Command lines live by the patterns of Claude Code's Bash."""

from __future__ import annotations

from ...policy import tools

TOOL_TIERS = {
    "shell": "session",
    "shell_command": "session",
    "exec_command": "session",
    "write_stdin": "session",
    "apply_patch": "ephemeral",
    "update_plan": "preserved",  # of plans the newest is kept
    "view_image": "medium",
    "read_file": "medium",
    "list_dir": "short",
    "grep_files": "short",
    "web_search": "short",
    "tool_search": "session",
    "spawn_agent": "session",
    "wait_agent": "session",
    "wait": "session",
    "request_user_input": "preserved",
}

_FILE, _FOLDER = ("path", "file_path"), ("path", "dir_path")
TOOLS = tools.Tools(
    {
        "shell": (tools.SHELL, (), "command"),
        "shell_command": (tools.SHELL, (), "command"),
        "exec_command": (tools.SHELL, (), "cmd"),
        "write_stdin": (tools.OUTPUT,),
        "apply_patch": (tools.EDIT, ("file_path",), "", (), (), "others"),
        "update_plan": (tools.TASKS,),
        "view_image": (tools.READ, _FILE),
        "read_file": (tools.READ, _FILE),
        "list_dir": (tools.LIST, _FOLDER, "pattern"),
        "grep_files": (tools.SEARCH, _FOLDER, "pattern"),
        "web_search": (tools.FETCH,),
        "spawn_agent": (tools.DELEGATE,),
        "wait_agent": (tools.REPORT,),
        "wait": (tools.REPORT,),
        "request_user_input": (tools.ASK,),
    },
    TOOL_TIERS,
    ("file_path", "command", "pattern", "url", "query", "description", "path"),
    _FILE,
    {
        tools.FILE: _FILE,
        tools.ABOUT: ("description", "query", "url", "name", "path"),
        tools.FIRST_LINE: ("offset",),
        tools.LINES: ("limit",),
        tools.GLOB: ("include",),
    },
)
