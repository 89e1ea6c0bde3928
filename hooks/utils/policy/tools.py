"""What tools do, in terms that hold for every host: the one list of operations, and a host's table of tools. Pure, and part of every hook.

A host lists its tools as rows of a `Tools` (`hosts/claude_code/tools.py`). Whoever makes a call of its payloads gives it the row of its
tool; the rules hold the table, for what is known by a tool's name alone: a stored result, a configured tier.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Union

    Entry = Union[str, dict[str, Any]]

READ, READ_NOTEBOOK = "read", "read_notebook"  # the contents of a file
SEARCH, FIND, LIST = "search", "find", "list"  # for text in files, for files by a pattern, what a folder holds
EDIT, EDIT_NOTEBOOK, WRITE = "edit", "edit_notebook", "write"
SHELL, WINDOWS_SHELL = "shell", "windows_shell"  # a command line, in the words of POSIX or of Windows
OUTPUT, REPORT = "output", "report"  # of a command, or of any task, that runs in the background
FETCH, DELEGATE, SKILL = "fetch", "delegate", "skill"  # from the web, to a subagent, instructions
TASKS = "tasks"  # the whole list of tasks, written or read
ASK, PLAN = "ask", "plan"  # the user, who decides
OTHER = "other"

EDITS = frozenset((EDIT, EDIT_NOTEBOOK, WRITE))
SHELLS = frozenset((SHELL, WINDOWS_SHELL))
READS, LOOKUPS = frozenset((READ, READ_NOTEBOOK)), frozenset((SEARCH, FIND, LIST))


class Tool:
    """A tool of a host: its `name` there, its `operation`, and the fields of its input that hold what the engine asks for: `paths` of the
    file or folder, `pattern`, `command`, `written` texts as they stand in the file afterwards, and texts `on_disk`, whose place a stub can
    take once the call has succeeded. Of several fields the first counts that holds a text. `tier`: see `Tools`."""

    __slots__ = ("command", "name", "on_disk", "operation", "paths", "pattern", "tier", "written")

    def __init__(
        self, name: str, operation: str = OTHER, tier: Entry | None = None, paths: tuple[str, ...] = (), pattern: str = "",
        command: str = "", written: tuple[str, ...] = (), on_disk: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.operation = operation
        self.tier = tier
        self.paths = paths
        self.pattern = pattern
        self.command = command
        self.written = written
        self.on_disk = on_disk


class Tools:
    """The tools of a host. `tiers`: the tier of each by name, or an object as in a configuration's `tool_overrides`. It may be changed in
    place; a tool that it does not name has DEFAULT_TIER."""

    __slots__ = ("_first", "_rows", "tiers")

    def __init__(self, *rows: Tool) -> None:
        self._rows: Mapping[str, Tool] = {row.name: row for row in rows}
        self._first: dict[str, str] = {}
        for row in rows:
            self._first.setdefault(row.operation, row.name)
        self.tiers: dict[str, Entry] = {row.name: row.tier for row in rows if row.tier is not None}

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def of(self, name: str) -> Tool:
        """Return the row of a tool; for a name that is not listed, a row that says no more than the name."""
        return self._rows.get(name) or Tool(name)

    def first(self, operation: str) -> str:
        """Return the name of the first tool that is listed for an operation, whose tier holds for whatever does the same; "" for none."""
        return self._first.get(operation, "")
