"""Track where the commands of a line run: in which folder, in which environment, behind which other commands. Pure."""

from __future__ import annotations

from ..parts import UNKNOWN, UNSURE, normal_path
from .command import AND, OR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .action import Action
    from .command import Command


class Place:
    """The place of a command: its folder (a subshell has its own, which begins as that of the shell around it), the marks of its
    environment, and what of the line has to succeed before it runs. `piped`: the outlets of those that may have failed, whose failure a
    pipe hides · `deciding`, `is_script`: of the pipeline that was read last."""

    def __init__(self, cwd: str, depth: int):
        self.cwd = cwd
        self.depth = depth
        self.group: tuple[int, ...] = ()
        self.folders: dict[tuple[int, ...], str] = {(): cwd}
        self.listed: list[tuple[int, ...]] = []  # the shells that may have moved in this list of `&&`
        self.left: dict[tuple[int, ...], int] = {}  # of the subshells that may have ended, whether what follows in them has run
        self.pushed: list[str] = []
        self.environment: list[str] = []
        self.may_have_failed = self.gate = False  # the second: before the last `&&`
        self.piped: list[list[Command]] = []
        self.conditional: list[Action] = []  # those of this list of `&&` that run only if all before them succeed
        self.telling: list[Action] = []  # those since the last `;` or `||`
        self.stops_at_failure = False
        self.has_pipefail = False
        self.deciding: int  # these two of the pipeline that is read
        self.is_script: bool

    def leave(self, ran: int) -> None:
        """Note that a command may have ended this shell. Only the end of the whole one makes the line fail where it was a failure."""
        if ran:
            ran = UNSURE if self.group else ran
            self.left[self.group] = max(self.left.get(self.group, ran), ran)

    def ran_behind(self) -> int:
        """Return whether a command has run as far as this depends on those that end a shell."""
        return max([self.left.get(self.group[:depth], 0) for depth in range(len(self.group) + 1)]) if self.left else 0

    def enter(self, command: Command) -> None:
        """Go to the shell of a command. Where a list has ended in which one may have moved, nobody knows its folder."""
        if self.listed and command.joined != AND:
            self.folders.update(dict.fromkeys(self.listed, UNKNOWN))
            self.listed = []
        self.group = outer = command.group
        while outer not in self.folders:
            outer = outer[:-1]
        self.cwd = self.folders[self.group] = self.folders[outer]

    def doubt(self, command: Command) -> None:
        """Note that a move may not be made."""
        if command.branches or command.joined == OR:
            self.go(UNKNOWN)
        elif command.joined and self.may_have_failed:
            self.listed.append(self.group)

    def move(self, program: str, words: list[str]) -> None:
        # `cd -2`, `pushd +1`: a folder of those where it was before.
        target = next((word for word in words[1:] if word[:1] not in ("-", "+") or word == "-" or word[1:].isdigit()), "")
        if program == "popd":
            self.go(self.pushed.pop() if self.pushed else UNKNOWN)
            return
        before = self.cwd
        if target or program == "cd":
            self.go(UNKNOWN if target[:1] in ("-", "+") else normal_path(target or "~", self.cwd))
        elif self.pushed:
            self.go(self.pushed.pop())  # the two change places
        if program == "pushd":
            self.pushed.append(before)

    def go(self, cwd: str) -> None:
        # No folder's path is longer, and a limit keeps hostile lines cheap.
        self.cwd = UNKNOWN if cwd.startswith(UNKNOWN) or len(cwd) > 4096 else cwd
        self.folders[self.group] = self.cwd
