"""The record of one action of a command line, with the part that it shows. Pure."""

from __future__ import annotations

from .. import kinds
from ..calls import bounded
from ..parts import ALWAYS, UNKNOWN, has_variable
from .command import DISCARDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parts import Part

    # (folder, what changes there, the words of the command): commandline/worktree.py.
    Changes = tuple[str, tuple[str, ...], list[str]]
    # (folder, how, the name of a branch or commit): commandline/worktree.py.
    Move = tuple[str, str, str]

_NAME_CHARS = 80
KEY_CHARS = 200


class Action:
    """An action of a command line. `kind`: search, read, run, ack, restored or other. `family` is set for runs only; `part` is `(key,
    scope)` as in the table of docs/design/README.md. `changes`: what git changes, `move`: to which tree it goes (commandline/worktree.py).
    `ran`: when it has run and its output can be seen · `tells`: whether a success of the line is its own."""

    __slots__ = ("changes", "commits", "family", "kind", "move", "name", "part", "ran", "tells")

    def __init__(self, kind: str, name: str, part: Part, family: str = "", commits: bool = False):
        self.kind = kind
        self.name = name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"
        self.part = part
        self.family = family
        self.commits = commits
        self.changes: Changes | None = None
        self.move: Move | None = None
        self.ran = ALWAYS
        self.tells = True

    def __repr__(self) -> str:
        return f"Action({self.kind!r}, {self.name!r}, {self.part!r}, {self.family!r}, {self.commits!r})"


def plain(kind: str, words: list[str], cwd: str, extra: str = "", commits: bool = False) -> Action:
    """Return an action identified by its words alone. One that depends on a variable matches no other."""
    text = " ".join(words) + extra
    name = text if len(text) <= _NAME_CHARS and "\n" not in text else " ".join(text[: 4 * _NAME_CHARS].split())
    unknown = cwd.startswith(UNKNOWN) or has_variable(text)
    return Action(kind, name, (f"do:{bounded(text, KEY_CHARS)}@{UNKNOWN if unknown else cwd}", []), "", commits)


def other(stages: list, cwd: str) -> Action:
    """Return the action of a pipeline of which nothing more is known: its words identify it."""
    first, *later = stages
    extra = "".join([" | " + " ".join(stage.words) for stage in later])
    for stage in stages:
        for operator, target in stage.redirects:
            if operator != "2>&" and target not in DISCARDING:
                extra += f" {operator}{target}"
    words = first.assignments + first.words if first.assignments else first.words
    return plain(kinds.OTHER, words, cwd, extra)
