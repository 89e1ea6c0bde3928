"""Which names have changed since somebody last asked. Pure: it is told the stamps of all names, and numbers the looks that saw one
change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What begins so has changed: (a beginning of addresses, the id of a session that ends it or "").
Name = tuple[str, str]
# Where more names have changed, everything is told to have.
MOST_TOLD = 100
# Names that have gone are remembered up to so many. Whoever asked before they are forgotten is told that everything has changed.
MOST_GONE = 1_000


class History:
    """Of one process, which `run` names: a token of another one tells nothing here."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._look = 0
        self._oldest = 0  # a token of an earlier look tells nothing any more
        self._stamps: dict[Name, object] = {}
        self._changed: dict[Name, int] = {}  # which look last saw a name change

    @property
    def token(self) -> str:
        """Stands for how everything is now."""
        return f"{self._run}-{self._look}"

    def note(self, stamps: Mapping[Name, object], also: Iterable[Name] = ()) -> None:
        """Takes down how everything stands. `also`: names that have changed although their stamps have not."""
        changed = {name for name, stamp in stamps.items() if name not in self._stamps or self._stamps[name] != stamp}
        changed |= {*(self._stamps.keys() - stamps.keys()), *also}
        if changed:
            self._look += 1
            self._stamps = dict(stamps)
            self._changed.update(dict.fromkeys(changed, self._look))
            self._forget()

    def _forget(self) -> None:
        if len(self._changed) > len(self._stamps) + MOST_GONE:
            self._changed = {name: look for name, look in self._changed.items() if name in self._stamps}
            self._oldest = self._look

    def since(self, token: str) -> list[Name] | None:
        """The names that have changed since a token was given; None where that may be any: so many have, or it is no token of ours."""
        run, _, look = token.rpartition("-")
        if run != self._run or not look.isdecimal() or not self._oldest <= int(look) <= self._look:
            return None
        names = sorted(name for name, changed in self._changed.items() if changed > int(look))
        return names if len(names) <= MOST_TOLD else None
