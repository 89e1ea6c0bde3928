"""The records of project memory."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CONTENT = "dialogue"  # what the tokens of MEMORY.md are estimated as
PATH, NAME, COMMAND, ERROR, NOTE = "path", "name", "command", "error", "note"
TEST, LINT, BUILD, FORMAT, RUN = PURPOSES = ("test", "lint", "build", "format", "run")
SAME, CHANGED, RENAMED, GONE = "same", "changed", "renamed", "gone"


class Fact(tuple[str, str, str, str]):
    """A file or folder that must exist: its path from the top of the repository, the text that it must hold ("" for any), and the commit
    and git blob at which that was learnt ("" where unknown). No NamedTuple, because `typing` takes longer than a session's start."""

    __slots__ = ()

    def __new__(cls, file: str, holds: str = "", commit: str = "", blob: str = "") -> Fact:
        return tuple.__new__(cls, (file, holds, commit, blob))

    @property
    def file(self) -> str:
        return self[0]

    @property
    def holds(self) -> str:
        return self[1]

    @property
    def commit(self) -> str:
        return self[2]

    @property
    def blob(self) -> str:
        return self[3]


class Verdict(tuple[str, str]):
    """The state of a Fact: SAME, CHANGED, RENAMED or GONE, and the `path` of its file now."""

    __slots__ = ()

    def __new__(cls, state: str, path: str) -> Verdict:
        return tuple.__new__(cls, (state, path))

    @property
    def state(self) -> str:
        return self[0]

    @property
    def path(self) -> str:
        return self[1]


class Entry:
    """The entry in MEMORY.md of an item, or of several that are the same. `home`: the folder of a path, the file of a name, what a command
    is for (one of PURPOSES). `facts`: what has to be so for it to be listed. `changed`: whether its file has changed since."""

    __slots__ = ("changed", "facts", "held", "home", "ids", "kind", "text", "weight")

    def __init__(
        self, kind: str, text: str, home: str = "", facts: Sequence[Fact] = (), ids: Sequence[str] = (), weight: float = 0.0,
        held: bool = False,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.text = text
        self.home = home
        self.facts = list(facts)
        self.ids = list(ids)
        self.weight = weight
        self.held = held
        self.changed = False

    @property
    def wording(self) -> str:
        """Return the words by which the same entry of others is recognised."""
        return self.path if self.kind == PATH else self.text

    @property
    def path(self) -> str:
        """Return the path that an entry of a PATH is, from the top of the repository."""
        return f"{self.home}/{self.text}" if self.home else self.text
