"""Which look-ups memory has spared a session: files that stand in the MEMORY.md that it was given, and whose paths the assistant wrote
before any result or prompt held their names. Pure.

Nobody sees a look-up that was not made, so this is an estimate. Files of one answer would have been found by one look-up, and each is
worth what the session's own look-ups cost on average; nothing where it made none. Commands, folders and names in files count for nothing,
although memory tells them too: sessions that had no memory write those unaided as well, from a CLAUDE.md, or because every project has
them (`benchmarks/memory.py spared`).
"""

from __future__ import annotations

from ..policy.bookings import Spared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Shorter paths are guessed as often as they are known.
LEAST_CHARS = 12
# What separates paths, and the names in them.
_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in "_.+@~-/"}
_NAME_SEPARATORS = {**_SEPARATORS, ord("/"): " "}


class Recall:
    """Told of everything that a conversation holds, in order. `given`: (seconds, text) of what memory gave it, in order of time; `root`:
    the folder that its paths are relative to."""

    __slots__ = ("_asking", "_given", "_known", "_lookups", "_root", "_spared", "_tokens", "_unheard", "_wrote")

    def __init__(self, given: Sequence[tuple[float, str]], root: str = "") -> None:
        self._given = list(reversed(given))
        self._known: frozenset[str] = frozenset()  # the words of what was given last
        self._root = root.rstrip("/") + "/"
        # Names of files that nobody has said since the session began.
        self._unheard = {name for _, said in given for name in map(_last, _words(said)) if "." in name}
        self._spared: list[float] = []  # when
        self._wrote = ""  # the answer that the newest of them was in
        self._lookups = self._tokens = 0
        self._asking: set[str] = set()  # answers that asked for look-ups

    @property
    def is_over(self) -> bool:
        """Whether everything that was given has been said."""
        return not self._unheard

    def heard(self, said: str) -> None:
        """A result, or what the user or the host said: from now on the assistant knows these names from there."""
        if self._unheard:
            self._unheard -= {name.strip(".") for name in said.translate(_NAME_SEPARATORS).split()}

    def wrote(self, said: Sequence[str], at: float, answer: str) -> None:
        """What the assistant said or asked for in an answer (its id), then (seconds)."""
        while self._given and self._given[-1][0] <= at:
            self._known = frozenset(_words(self._given.pop()[1]))
        if not self._unheard:
            return
        if self._known and answer != self._wrote and any(map(self._is_unaided, said)):
            self._spared.append(at)
            self._wrote = answer
        for each in said:
            self.heard(each)

    def looked_up(self, tokens: int, answer: str) -> None:
        """A look-up that an answer asked for, and the tokens of its result."""
        self._lookups += 1
        self._tokens += tokens
        self._asking.add(answer)

    def bookings(self, calibration: float) -> list[Spared]:
        """One for each look-up that was spared."""
        if not self._lookups:
            return []
        tokens, share = round(self._tokens * calibration / self._lookups), len(self._asking) / self._lookups
        return [Spared(at, tokens, share) for at in self._spared]

    def _is_unaided(self, said: str) -> bool:
        return any(map(self._is_known, said.translate(_SEPARATORS).split()))

    def _is_known(self, word: str) -> bool:
        """Whether the path of a file, as it was written, stands in what was given, and nobody has said its name since."""
        path = word.removeprefix(self._root).removeprefix("./").strip("./")
        folder, _, name = path.rpartition("/")
        if not folder or len(path) < LEAST_CHARS or name not in self._unheard:
            return False
        return path in self._known or (name in self._known and folder in self._known)  # below its folder, as in a map


def _words(said: str) -> set[str]:
    return {word.strip("./") for word in said.translate(_SEPARATORS).split()} - {""}


def _last(path: str) -> str:
    return path.rpartition("/")[2]
