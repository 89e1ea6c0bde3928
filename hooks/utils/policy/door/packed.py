"""Keep the lines of a text as one piece of memory: a list of strings takes three times as much, in as many small pieces. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Sequence  # noqa: TID253  no hook loads the door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import overload


class Lines(Sequence[str]):
    """Lines that are looked at seldom, one by one or a few in a row."""

    __slots__ = ("_bytes", "_ends")

    def __init__(self, lines: Iterable[str]) -> None:
        pieces, end = [], 0
        self._ends = array("I")
        for line in lines:
            piece = line.encode("utf-8", "surrogatepass")
            end += len(piece)
            pieces.append(piece)
            self._ends.append(end)
        self._bytes = b"".join(pieces)

    def __len__(self) -> int:
        return len(self._ends)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, at: int) -> str: ...

        @overload
        def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        end = self._ends[at]  # IndexError where there is none
        at %= len(self._ends)
        return self._bytes[self._ends[at - 1] if at else 0 : end].decode("utf-8", "surrogatepass")

    @property
    def bytes(self) -> int:
        """Return how many bytes the lines take."""
        return len(self._bytes) + self._ends.itemsize * len(self._ends)
