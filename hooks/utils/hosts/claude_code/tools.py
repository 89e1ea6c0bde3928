"""The tools of Claude Code, what each does, and how long its results live unless a configuration says otherwise.

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
    Tool,
    Tools,
)

_READ, _EDITED, _ROOT = ("file_path", "notebook_path", "path"), ("file_path", "notebook_path"), ("path",)

TOOLS = Tools(
    Tool("Read", READ, "medium", _READ),
    Tool("NotebookRead", READ_NOTEBOOK, "medium", _READ),
    Tool("Grep", SEARCH, "short", _ROOT, pattern="pattern"),
    Tool("Glob", FIND, "short", _ROOT, pattern="pattern"),
    Tool("LS", LIST, "short", _ROOT, pattern="pattern"),
    Tool("WebSearch", FETCH, "short"),
    Tool("Edit", EDIT, "ephemeral", _EDITED, written=("new_string",), on_disk=("old_string", "new_string")),
    Tool("MultiEdit", EDIT, "ephemeral", _EDITED, written=("new_string",)),
    Tool("Write", WRITE, "ephemeral", _EDITED, written=("content",), on_disk=("content",)),
    Tool("NotebookEdit", EDIT_NOTEBOOK, "ephemeral", _EDITED, on_disk=("new_source",)),
    Tool("KillShell", tier="ephemeral"),
    Tool("TaskStop", tier="ephemeral"),
    Tool("TaskCreate", tier="ephemeral"),
    Tool("TaskUpdate", tier="ephemeral"),
    Tool("TaskList", TASKS, "preserved"),  # of task lists the newest is kept
    Tool("TaskOutput", REPORT, "session"),
    Tool("TodoWrite", TASKS, "preserved"),
    Tool("TodoRead", TASKS),
    Tool("BashOutput", OUTPUT, "session"),
    Tool("WebFetch", FETCH, "session"),
    Tool("Agent", DELEGATE, "session"),
    Tool("Task", DELEGATE, "session"),  # as older versions call it
    Tool("Skill", SKILL, "session"),
    Tool("ToolSearch", tier="session"),
    Tool("AskUserQuestion", ASK, "preserved"),
    Tool("ExitPlanMode", PLAN, "preserved"),
    Tool(
        "Bash",
        SHELL,
        {
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
        command="command",
    ),
    # Its lines parse well enough as a POSIX shell's; what they run is mostly the same programs.
    Tool("PowerShell", WINDOWS_SHELL, command="command"),
)
TOOL_TIERS = TOOLS.tiers
