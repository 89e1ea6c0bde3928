"""The operations of tools, in terms that hold for every host: the one list of operations, a host's table of tools, a completed call of one
with its outcome and the line that says how it went. Pure, and part of every hook.

A host lists its tools as rows of a `Tools` (`hosts/claude_code/__init__.py`). A driver that makes a call of its payloads gives it the row
of its tool; the rules hold the table, for what is known by a tool's name alone: a stored result, a configured tier.
"""

from __future__ import annotations

from .masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

READ, READ_NOTEBOOK = "read", "read_notebook"  # the contents of a file
SEARCH, FIND, LIST = "search", "find", "list"  # for text in files, for files by a pattern, what a folder holds
EDIT, EDIT_NOTEBOOK, WRITE = "edit", "edit_notebook", "write"
SHELL, WINDOWS_SHELL = "shell", "windows_shell"  # a command line, in the words of POSIX or of Windows
OUTPUT, REPORT = "output", "report"  # of a command, or of any task, that runs in the background
FETCH, DELEGATE, SKILL = "fetch", "delegate", "skill"  # from the web, to a subagent, instructions
TASKS = "tasks"  # the whole list of tasks, written or read
ASK, PLAN = "ask", "plan"  # the user, who decides
GET = "get"  # something else that is the same for the same input, and stays as it is
OTHER = "other"

EDITS = frozenset((EDIT, EDIT_NOTEBOOK, WRITE))
SHELLS = frozenset((SHELL, WINDOWS_SHELL))
_GETTERS = frozenset((FETCH, SKILL, GET))
READS, LOOKUPS = frozenset((READ, READ_NOTEBOOK)), frozenset((SEARCH, FIND, LIST))


class Tool:
    """A tool of a host: its `name` there, its `operation`, and which fields of its input hold what the engine asks for: `paths` of the file
    or folder, of which the first counts that holds a text, the `line` that it runs or looks for (a command, a pattern), `written` texts as
    they are in the file afterwards, and those that are `on_disk` once the call has succeeded, so that a stub can take their place; in
    `others`, of an edit of several files, a list of all but the first. `lists_names`: a search with it names the files, unless it is asked
    for their lines · `is_getter`: the same call returns the same thing as it is now, and changes nothing. `naming` and `files`: as `Tools`
    has them."""

    __slots__ = ("files", "is_getter", "line", "lists_names", "name", "naming", "on_disk", "operation", "others", "paths", "written")

    def __init__(
        self, name: str, operation: str = OTHER, paths: tuple[str, ...] = (), line: str = "", written: tuple[str, ...] = (),
        on_disk: tuple[str, ...] = (), others: str = "", lists_names: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.operation = operation
        self.paths = paths
        self.line = line
        self.written = written
        self.on_disk = on_disk
        self.others = others
        self.lists_names = lists_names
        self.is_getter = operation in _GETTERS
        self.naming: tuple[str, ...] = ()
        self.files: tuple[str, ...] = ()


class Tools:
    """The tools of a host, from {name: what `Tool` takes behind the name}, and their `tiers`: by name, a tier or an object as in a
    configuration's `tool_overrides`. That table may be changed in place; a tool that it does not name has DEFAULT_TIER. `naming`: fields
    of any tool's input that tell a call of it from its others, the most specific first; `files`: those of them that hold paths."""

    __slots__ = ("files", "naming", "rows", "tiers")

    def __init__(
        self, rows: Mapping[str, tuple[Any, ...]], tiers: Mapping[str, Any], naming: tuple[str, ...] = (), files: tuple[str, ...] = ()
    ) -> None:
        self.rows = rows
        self.tiers = tiers
        self.naming = naming
        self.files = files

    @classmethod
    def joined(cls, all: Sequence[Tools]) -> Tools:
        """Return the tools of several hosts in one table; of two that have one name the first counts."""
        rows: dict[str, tuple[Any, ...]] = {}
        tiers: dict[str, Any] = {}
        for one in all:
            rows.update((name, row) for name, row in one.rows.items() if name not in rows)
            tiers.update((name, tier) for name, tier in one.tiers.items() if name not in tiers)
        naming = tuple(dict.fromkeys(field for one in all for field in one.naming))
        return cls(rows, tiers, naming, tuple(dict.fromkeys(field for one in all for field in one.files)))

    def __contains__(self, name: str) -> bool:
        return name in self.rows

    def of(self, name: str) -> Tool:
        """Return a tool; for a name that is not listed, one of which nothing is known but the name."""
        tool = Tool(name, *self.rows.get(name, ()))
        tool.naming, tool.files = self.naming, self.files
        return tool

    def first(self, operation: str) -> str:
        """Return the name of the first tool that is listed for an operation, whose tier holds for whatever does the same; "" for none."""
        for name, row in self.rows.items():
            if row[0] == operation:
                return name
        return ""


# What became of a call that does not show how it went: it never ran · it ended before its work was done · it works on, and only its id is
# there · it is done, and most of its output is in a file.
NEVER_RAN, STOPPED, BACKGROUND, CUT = "never_ran", "stopped", "background", "cut"
TOLD = "told"  # it never ran, and the user has said something instead
# Exit codes of `timeout` and of the signals that end a program from outside (HUP, INT, QUIT, KILL, TERM); of a command that cannot be run.
_STOPPED_BY, _NOT_FOUND = (124, 129, 130, 131, 137, 143), (126, 127)


# --- a call ---

VERDICT_CHARS = 120
_LINE_CHARS = 2_000  # masked before it is cut: half a secret is one too
# Words of the line, near the end of an output, that tells how it went.
_VERDICT_WORDS = ("passed", "failed", "passing", "failing", "error", "Error", "FAIL", "PASS", "ok", "panicked", "problems", "Found")
# Of a longer name, path or pattern the beginning is kept, and a number that tells it from others: every later hook reads it again.
TEXT_CHARS = 4_096
NAME_CHARS = 200
_DIGEST_MODULUS = (1 << 61) - 1


def bounded(text: str, most: int) -> str:
    """Return the text; of a long one its beginning and a number that tells it from others."""
    if len(text) <= most:
        return text
    return f"{text[:most]}…{int.from_bytes(text.encode('utf-8', 'surrogatepass'), 'big') % _DIGEST_MODULUS:x}"


def text_in(tool_input: dict[str, Any], *fields: str) -> str:
    """Return the first text that one of these fields of an input holds, bounded; "" for none."""
    for field in fields:
        value = tool_input.get(field)
        if isinstance(value, str) and value:
            return bounded(value, TEXT_CHARS)
    return ""


def verdict_of(tail: str, exit_code: int | None) -> str:
    """Return the line of an output's end that says how it went, at most 120 characters, secrets masked; with the exit code where it is
    known."""
    lines = [line for line in map(str.strip, tail.splitlines()[-30:]) if line]
    hits = [line for line in lines if any(word in line for word in _VERDICT_WORDS)]
    counted = [line for line in hits if any(char.isdigit() for char in line)]
    best = (counted or hits or lines or [""])[-1]
    head = "" if exit_code is None else f"exit {exit_code}: "
    return mask(head + best[:_LINE_CHARS])[:VERDICT_CHARS].rstrip(": ")


class Outcome:
    """What the engine needs to know of a tool's result; of its text only the end, while the call is read."""

    __slots__ = ("chars", "content_hash", "error", "exit_code", "fate", "image_tokens", "interval", "lines", "tail", "unchanged", "wide")

    def __init__(
        self,
        chars: int = 0,
        wide: int = 0,
        content_hash: str = "",
        error: bool = False,
        exit_code: int | None = None,
        interval: list[int] | None = None,
        unchanged: bool = False,
        image_tokens: int = 0,
        tail: str = "",
        fate: str = "",
        lines: int | None = None,
    ):
        self.chars = chars
        self.wide = wide  # of them CJK
        self.content_hash = content_hash  # "" when there is no content
        self.error = error
        self.exit_code = exit_code
        self.interval = interval  # lines that a Read returned: [first, last], whole file [1, 0]
        self.unchanged = unchanged  # the host answered "file unchanged" instead of a content
        self.image_tokens = image_tokens
        self.tail = tail  # the end of the text, for a verdict; never kept
        self.lines = lines  # of the text; None where they were not counted
        self.fate = fate  # why it does not show how the call went; "" where it does

    @property
    def is_whole(self) -> bool:
        """Return whether the call ran to its end and shows how it went."""
        return not self.fate and self.exit_code not in _STOPPED_BY and self.exit_code not in _NOT_FOUND


class Call:
    """A tool call that completed, in the order of completion. `tool`: its name at the host · `traits`: what the tool does."""

    __slots__ = ("at", "committed", "cwd", "id", "operation", "outcome", "prompt_id", "tool", "tool_input", "traits")
    name = "call"

    def __init__(
        self,
        id: str,
        tool: Tool,
        tool_input: dict[str, Any],
        outcome: Outcome,
        at: float = 0.0,
        cwd: str = "",
        prompt_id: str | None = None,
        committed: list[str] | None = None,
    ):
        self.id = bounded(id, NAME_CHARS)
        self.tool = bounded(tool.name, NAME_CHARS)
        self.traits = tool
        self.operation = tool.operation
        self.tool_input = tool_input
        self.outcome = outcome
        self.at = at
        self.cwd = bounded(cwd, TEXT_CHARS)
        self.prompt_id = prompt_id and bounded(prompt_id, NAME_CHARS)  # the host's id of the user's turn, None where it gives none
        self.committed = committed  # files in the commit that this call made: absolute paths, None where git cannot say

    @property
    def path(self) -> str:
        """Return the file or folder that the call was asked about; "" for none."""
        return text_in(self.tool_input, *self.traits.paths)

    @property
    def command(self) -> str:
        """Return the command line that it ran, however long; "" for none."""
        command = self.tool_input.get(self.traits.line) if self.operation in SHELLS else None
        return command if isinstance(command, str) else ""
