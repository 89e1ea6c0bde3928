"""The tools of Claude Code, with the lifetimes of their results unless a configuration says otherwise.

`TOOL_TIERS` keeps the names and values of the specification, and knows more tools. What is changed in it changes what results live by.
"""

from __future__ import annotations

from ...policy import tools

TOOL_TIERS = {
    "Read": "medium",
    "NotebookRead": "medium",
    "Grep": "short",
    "Glob": "short",
    "LS": "short",
    "WebSearch": "short",
    "Edit": "ephemeral",
    "MultiEdit": "ephemeral",
    "Write": "ephemeral",
    "NotebookEdit": "ephemeral",
    "KillShell": "ephemeral",
    "TaskStop": "ephemeral",
    "TaskCreate": "ephemeral",
    "TaskUpdate": "ephemeral",
    "TaskList": "preserved",  # of task lists the newest is kept
    "TaskOutput": "session",
    "TodoWrite": "preserved",
    "BashOutput": "session",
    "WebFetch": "session",
    "Agent": "session",
    "Task": "session",
    "Skill": "session",
    "ToolSearch": "session",
    "AskUserQuestion": "preserved",
    "ExitPlanMode": "preserved",
    "Bash": {
        "default": "session",
        "patterns": {
            "git commit": "ephemeral",
            "git push": "ephemeral",
            "npm test": "session",
            "npm run build": "session",
            "mkdir": "ephemeral",
            "rm": "ephemeral",
        },
    },
}

_READ, _EDITED, _ROOT = ("file_path", "notebook_path", "path"), ("file_path", "notebook_path"), ("path",)
TOOLS = tools.Tools(
    {
        "Read": (tools.READ, _READ),
        "NotebookRead": (tools.READ_NOTEBOOK, _READ),
        "Grep": (tools.SEARCH, _ROOT, "pattern", (), (), "", True),
        "Glob": (tools.FIND, _ROOT, "pattern"),
        "LS": (tools.LIST, _ROOT, "pattern"),
        "Edit": (tools.EDIT, _EDITED, "", ("new_string",), ("old_string", "new_string")),
        "MultiEdit": (tools.EDIT, _EDITED, "", ("new_string",)),
        "Write": (tools.WRITE, _EDITED, "", ("content",), ("content",)),
        "NotebookEdit": (tools.EDIT_NOTEBOOK, _EDITED, "", (), ("new_source",)),
        "Bash": (tools.SHELL, (), "command"),
        "PowerShell": (tools.WINDOWS_SHELL, (), "command"),  # its lines parse well enough, and run mostly the same programs
        "BashOutput": (tools.OUTPUT,),
        "TaskOutput": (tools.REPORT,),
        "WebFetch": (tools.FETCH,),
        "WebSearch": (tools.FETCH,),
        "Agent": (tools.DELEGATE,),
        "Task": (tools.DELEGATE,),  # as older versions call it
        "Skill": (tools.SKILL,),
        "ToolSearch": (tools.GET,),
        "TaskGet": (tools.GET,),
        "LSP": (tools.GET,),
        "ListMcpResourcesTool": (tools.GET,),
        "ReadMcpResourceTool": (tools.GET,),
        "TaskList": (tools.TASKS,),
        "TodoWrite": (tools.TASKS,),
        "TodoRead": (tools.TASKS,),
        "AskUserQuestion": (tools.ASK,),
        "ExitPlanMode": (tools.PLAN,),
    },
    TOOL_TIERS,
    (
        "file_path", "filePath", "notebook_path", "command", "pattern", "url", "query", "description", "path",
        "skill", "bash_id", "shell_id", "task_id",
    ),
    (*_READ, "filePath"),
    {
        tools.FILE: ("file_path", "notebook_path"),
        tools.ABOUT: ("description", "query", "url", "skill", "subject", "name", "task_id", "taskId", "path"),
        tools.FIRST_LINE: ("offset",),
        tools.LINES: ("limit",),
        tools.PAGES: ("pages",),
        tools.EDITS_OF_FILE: ("edits",),
        tools.GLOB: ("glob",),
        tools.FILE_TYPE: ("type",),
        tools.SHOWS: ("output_mode",),
        tools.NUMBERS: ("-n",),
        tools.ONLY_MATCHES: ("-o",),
        tools.ANY_CASE: ("-i",),
        tools.MULTILINE: ("multiline",),
        tools.AFTER: ("-A",),
        tools.BEFORE: ("-B",),
        tools.AROUND: ("-C", "context"),
        tools.AT_MOST: ("head_limit",),
        tools.SKIPPED: ("offset",),
    },
)  # fmt: skip
