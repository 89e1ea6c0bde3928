"""The tools of Claude Code: how long the results of each live unless a configuration says otherwise, and what it does.

`TOOL_TIERS` keeps the names and values of the specification, and knows more tools. What is changed in it changes what results live by.
"""

from __future__ import annotations

from ...policy.tools import (
    ASK,
    DELEGATE,
    EDIT,
    EDIT_NOTEBOOK,
    FETCH,
    FIND,
    LIST,
    OUTPUT,
    PLAN,
    READ,
    READ_NOTEBOOK,
    REPORT,
    SEARCH,
    SHELL,
    SKILL,
    TASKS,
    WINDOWS_SHELL,
    WRITE,
    Tools,
)

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
TOOLS = Tools(
    {
        "Read": (READ, _READ),
        "NotebookRead": (READ_NOTEBOOK, _READ),
        "Grep": (SEARCH, _ROOT, "pattern"),
        "Glob": (FIND, _ROOT, "pattern"),
        "LS": (LIST, _ROOT, "pattern"),
        "Edit": (EDIT, _EDITED, "", ("new_string",), ("old_string", "new_string")),
        "MultiEdit": (EDIT, _EDITED, "", ("new_string",)),
        "Write": (WRITE, _EDITED, "", ("content",), ("content",)),
        "NotebookEdit": (EDIT_NOTEBOOK, _EDITED, "", (), ("new_source",)),
        "Bash": (SHELL, (), "command"),
        "PowerShell": (WINDOWS_SHELL, (), "command"),  # its lines parse well enough, and run mostly the same programs
        "BashOutput": (OUTPUT,),
        "TaskOutput": (REPORT,),
        "WebFetch": (FETCH,),
        "WebSearch": (FETCH,),
        "Agent": (DELEGATE,),
        "Task": (DELEGATE,),  # as older versions call it
        "Skill": (SKILL,),
        "TaskList": (TASKS,),
        "TodoWrite": (TASKS,),
        "TodoRead": (TASKS,),
        "AskUserQuestion": (ASK,),
        "ExitPlanMode": (PLAN,),
    },
    TOOL_TIERS,
)
