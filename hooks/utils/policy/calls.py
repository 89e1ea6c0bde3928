"""The record of a completed tool call. Pure, and part of every hook."""

from __future__ import annotations

from .masking import mask
from .tools import ABOUT, SHELLS, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What became of a call that does not show how it went: it never ran · it ended before its work was done · it works on, and only its id is
# there · it is done, and most of its output is in a file.
NEVER_RAN, STOPPED, BACKGROUND, CUT = "never_ran", "stopped", "background", "cut"
TOLD = "told"  # it never ran, and the user has said something instead
# Exit codes of `timeout` and of the signals that end a program from outside (HUP, INT, QUIT, KILL, TERM); of a command that cannot be run.
_STOPPED_BY, _NOT_FOUND = (124, 129, 130, 131, 137, 143), (126, 127)


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


def text_in(tool_input: dict[str, object], *fields: str) -> str:
    """Return the first text that one of these fields of an input holds, bounded; "" for none."""
    for field in fields:
        value = tool_input.get(field)
        if isinstance(value, str) and value:
            return bounded(value, TEXT_CHARS)
    return ""


def number_in(value: object, default: int) -> int:
    """Return a number of an input that can be one of lines, else the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else default


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
    """The engine's view of a tool's result; of its text only the end, while the call is read."""

    __slots__ = ("chars", "content_hash", "error", "exit_code", "fate", "image_tokens", "interval", "lines", "tail", "unchanged", "wide")

    def __init__(
        self, chars: int = 0, wide: int = 0, content_hash: str = "", error: bool = False, exit_code: int | None = None,
        interval: list[int] | None = None, unchanged: bool = False, image_tokens: int = 0, tail: str = "", fate: str = "",
        lines: int | None = None,
    ):  # fmt: skip
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
    """A completed tool call, in the order of completion. `tool`: its name at the host · `traits`: the tool's operation and fields."""

    __slots__ = ("at", "committed", "cwd", "id", "operation", "outcome", "prompt_id", "tool", "tool_input", "traits")
    name = "call"

    def __init__(
        self, id: str, tool: Tool, tool_input: dict[str, Any], outcome: Outcome, at: float = 0.0, cwd: str = "",
        prompt_id: str | None = None, committed: list[str] | None = None,
    ):  # fmt: skip
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
    def about(self) -> str:
        """Return what says in words what the call is about; "" for nothing."""
        return text_in(self.tool_input, *self.traits.asks.get(ABOUT, ()))

    def asked(self, role: str) -> object:
        """Return what the call asks for, by its role; None where it does not."""
        for field in self.traits.asks.get(role, ()):
            if self.tool_input.get(field) is not None:
                return self.tool_input[field]
        return None

    @property
    def command(self) -> str:
        """Return the command line that it ran, however long; "" for none."""
        command = self.tool_input.get(self.traits.line) if self.operation in SHELLS else None
        return command if isinstance(command, str) else ""
