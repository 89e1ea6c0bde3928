"""A result at the door: its call, its text, the sections of that. Pure."""

from __future__ import annotations

from .. import kinds
from ..classify import COMMAND_CHARS
from ..commandline import printed
from ..tools import SHELLS
from .once import REMINDER
from .sections import SAID, Section, sections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline.printed import Step
    from ..tools import Tool

# Kinds of what commands print.
_OF_COMMANDS = frozenset((kinds.READ, kinds.SEARCH, kinds.RUN, kinds.ACK, kinds.ERROR, kinds.OTHER))
# So begins what the host says of an output that it has put into a file.
_ELSEWHERE = "<persisted-output>"


class Arrival:
    """A result about to enter: `id` of its tool use, `tool`, what that does (`traits`), its `tool_input`, `kind` as classified, `name` for
    references, `text`, whether it is an `error`, `path` of the file that a read has shown, `again`: the call before was the same one and
    its result entered in part. `handle`: of the archived whole."""

    __slots__ = ("_steps", "again", "error", "handle", "id", "kind", "name", "path", "text", "tool", "tool_input", "traits")

    def __init__(
        self, id: str, tool: Tool, tool_input: dict, kind: str, name: str, text: str, error: bool = False, path: str = "", again: bool =
        False, handle: str = "",
    ) -> None:  # fmt: skip
        self.id = id
        self.tool = tool.name
        self.traits = tool
        self.tool_input = tool_input
        self.kind = kind
        self.name = name
        self.text = text
        self.error = error
        self.path = path
        self.again = again
        self.handle = handle
        self._steps: list[Step] | None = None

    @property
    def steps(self) -> list[Step]:
        """Return what each command of a shell's line prints; none of anything else."""
        if self._steps is None:
            line = self.tool_input.get(self.traits.line) if self.operation in SHELLS else None
            is_read = isinstance(line, str) and kinds.name_of(self.kind) in _OF_COMMANDS
            self._steps = printed.steps(self.traits.as_posix(line[:COMMAND_CHARS])) if is_read and isinstance(line, str) else []
        return self._steps

    def sections(self, text: str) -> list[Section]:
        """Return the sections of a text of this result, by what has printed them: all of its lines, in order."""
        lines = text.split("\n")
        steps = self.steps
        if len(steps) == 1 and steps[0].kind == kinds.READ:
            return [Section(0, len(lines), kinds.READ)]
        if len(steps) < 2 or text.startswith(_ELSEWHERE):
            return [Section(0, len(lines), self.kind)]
        own = len(text.partition(REMINDER)[0].split("\n"))
        found = sections(steps, lines[:own])
        found[-1] = found[-1]._replace(end=len(lines))
        if all(section.kind not in (SAID, kinds.READ) for section in found):
            return [Section(0, len(lines), self.kind)]
        return found

    @property
    def operation(self) -> str:
        return self.traits.operation
