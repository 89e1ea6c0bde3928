"""The operations of tools, in terms that hold for every host. Pure, and part of every hook.

A host lists its tools as rows of a `Tools` (`hosts/claude_code/__init__.py`). A driver that makes a call of its payloads (calls.py)
gives it the row of its tool; the rules hold the table, for what is known by a tool's name alone: a stored result, a configured tier.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# An operation says which earlier results a new one ends. One that claims too much loses what is needed: OTHER ends the same text alone.
READ, READ_NOTEBOOK = "read", "read_notebook"  # a file, whole unless input or text number lines (no outline): ends reads of these
SEARCH, FIND, LIST = "search", "find", "list"  # for text in files, for files by a pattern, what a folder holds: ends the same within it
EDIT, EDIT_NOTEBOOK, WRITE = "edit", "edit_notebook", "write"  # ends reads of the file, and what shows the working tree
SHELL, WINDOWS_SHELL = "shell", "windows_shell"  # a command line, in the words of POSIX or of Windows: ends what its programs cover
OUTPUT, REPORT = "output", "report"  # of a command, or of any task, that runs in the background: as OTHER
FETCH, DELEGATE, SKILL = "fetch", "delegate", "skill"  # from the web, to a subagent (as OTHER), instructions: end the same call
TASKS = "tasks"  # the whole list of tasks, written or read: ends the one before
ASK, PLAN = "ask", "plan"  # the user, who decides: nothing ends it
GET = "get"  # something else that is the same for the same input, and stays as it is: ends the same call
OTHER = "other"

EDITS = frozenset((EDIT, EDIT_NOTEBOOK, WRITE))
SHELLS = frozenset((SHELL, WINDOWS_SHELL))
_GETTERS = frozenset((FETCH, SKILL, GET))
READS, LOOKUPS = frozenset((READ, READ_NOTEBOOK)), frozenset((SEARCH, FIND, LIST))

# What a call may ask for beside its path and its line. Of a file: its first line, how many lines, pages; of an edit: the list of several.
# Of a search: the files that match a pattern or have a type; files, lines or counts; numbers of lines; matches alone; letters of either
# case; a pattern of several lines; lines behind, before and around a match; at most so many; without the first so many.
FIRST_LINE, LINES, PAGES, EDITS_OF_FILE = "first_line", "lines", "pages", "edits"
GLOB, FILE_TYPE, SHOWS, NUMBERS, ONLY_MATCHES, ANY_CASE, MULTILINE = "glob", "type", "shows", "numbers", "only", "any_case", "multiline"
AFTER, BEFORE, AROUND, AT_MOST, SKIPPED = "after", "before", "around", "at_most", "skipped"
FILE, ABOUT = "file", "about"  # of any tool: the file that it names, and what says in words what it is about


class Tool:
    """A tool of a host: its `name` there, its `operation`, and which fields of its input hold what the engine asks for: `paths` of the file
    or folder, of which the first counts that holds a text, the `line` that it runs or looks for (a command, a pattern), `written` texts as
    they are in the file afterwards, and those that are `on_disk` once the call has succeeded, so that a stub can take their place; in
    `others`, of an edit of several files, a list of all but the first. `lists_names`: a search with it names the files, unless it is asked
    for their lines · `kind` of its results, where its operation gives them none · `is_getter`: the same call returns the same thing as it
    is now, and changes nothing. `naming`, `files` and `asks`: as `Tools` has them."""

    __slots__ = (
        "asks", "files", "is_getter", "kind", "line", "lists_names", "name", "naming", "on_disk", "operation",
        "others", "paths", "written",
    )  # fmt: skip

    def __init__(
        self, name: str, operation: str = OTHER, paths: tuple[str, ...] = (), line: str = "", written: tuple[str, ...] = (),
        on_disk: tuple[str, ...] = (), others: str = "", lists_names: bool = False, kind: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self.operation = operation
        self.paths = paths
        self.line = line
        self.written = written
        self.on_disk = on_disk
        self.others = others
        self.lists_names = lists_names
        self.kind = kind
        self.is_getter = operation in _GETTERS
        self.naming: tuple[str, ...] = ()
        self.files: tuple[str, ...] = ()
        self.asks: Mapping[str, tuple[str, ...]] = {}

    def as_posix(self, line: str) -> str:
        """Return a command line as the POSIX shell has it: in Windows' shell a backslash quotes nothing."""
        if self.operation != WINDOWS_SHELL or "\\" not in line:
            return line
        pieces = line.split("'")
        in_single = in_double = False
        for at, piece in enumerate(pieces):
            if not in_single:
                pieces[at] = piece.replace("\\", "\\\\")
                in_double ^= piece.count('"') % 2 == 1
            in_single = not (in_single or in_double)
        return "'".join(pieces)


def edits_of(tool: Tool, tool_input: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the input of an edit, and each edit within it, where it is several of one file."""
    lists = [tool_input.get(field) for field in tool.asks.get(EDITS_OF_FILE, ())]
    return [tool_input, *[edit for edits in lists if isinstance(edits, list) for edit in edits if isinstance(edit, dict)]]


class Tools:
    """The tools of a host, from {name: what `Tool` takes behind the name}, and their `tiers`: by name, a tier or an object as in a
    configuration's `tool_overrides`. That table may be changed in place; a tool that it does not name has DEFAULT_TIER. `naming`: fields
    of any tool's input that tell a call of it from its others, the most specific first; `files`: those of them that hold paths; `asks`:
    what a call may ask for -> the fields that say it, of which the first counts that is there."""

    __slots__ = ("_listed", "asks", "files", "naming", "rows", "tiers")

    def __init__(
        self, rows: Mapping[str, tuple[Any, ...]], tiers: Mapping[str, Any], naming: tuple[str, ...] = (), files: tuple[str, ...] = (),
        asks: Mapping[str, tuple[str, ...]] = {},
    ) -> None:  # fmt: skip
        self.rows = rows
        self.tiers = tiers
        self.naming = naming
        self.files = files
        self.asks = asks
        self._listed: dict[str, Tool] = {}  # those that were asked for: a conversation has thousands of calls

    @classmethod
    def joined(cls, all: Sequence[Tools]) -> Tools:
        """Return the tools of several hosts in one table; of two that have one name the first counts."""
        rows: dict[str, tuple[Any, ...]] = {}
        tiers: dict[str, Any] = {}
        for one in all:
            rows.update((name, row) for name, row in one.rows.items() if name not in rows)
            tiers.update((name, tier) for name, tier in one.tiers.items() if name not in tiers)
        naming = tuple(dict.fromkeys(field for one in all for field in one.naming))
        files = tuple(dict.fromkeys(field for one in all for field in one.files))
        roles = dict.fromkeys(role for one in all for role in one.asks)
        asks = {role: tuple(dict.fromkeys(field for one in all for field in one.asks.get(role, ()))) for role in roles}
        return cls(rows, tiers, naming, files, asks)

    def __contains__(self, name: str) -> bool:
        return name in self.rows

    def of(self, name: str) -> Tool:
        """Return a tool; for a name that is not listed, a tool of which only the name is known."""
        known = self._listed.get(name)
        if known is not None:
            return known
        tool = Tool(name, *self.rows.get(name, ()))
        tool.naming, tool.files, tool.asks = self.naming, self.files, self.asks
        if name in self.rows:
            self._listed[name] = tool
        return tool

    def first(self, operation: str) -> str:
        """Return the name of the first tool that is listed for an operation, whose tier holds for whatever does the same; "" for none."""
        return next((name for name, row in self.rows.items() if row[0] == operation), "")
