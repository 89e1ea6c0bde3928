"""What comes again, although the context had it before: what was cleared, and what did not enter whole. Pure.

Content comes again as the same content, or as the same file that a read shows. Who runs the tests again wants to know how they go now, not
how they went.
"""

from __future__ import annotations

from ..policy import kinds, parts
from ..policy.bookings import Refetched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..policy.context import Result
    from ..policy.parts import Part


# Triggers that end a read because its file is no longer what it shows.
_CHANGED = ("edited", "changed_on_disk")


class Again:
    """Told of every result in the order in which they come."""

    __slots__ = ("_missing", "_shown", "came")

    def __init__(self) -> None:
        self._shown: dict[str, list[tuple[str, float, int]]] = {}  # name of a content -> [(id, seconds, tokens)] of what shows it
        self._missing: dict[str, tuple[int, Result, list[Part]]] = {}  # id of what entered in part -> (tokens left out, it, what it shows)
        self.came: list[tuple[float, int]] = []  # (seconds, tokens) of what entered, and had been left out before

    def take(self, result: Result, left_out: int) -> None:
        """A result, of which so many tokens did not enter."""
        if result.kind in (kinds.ACK, kinds.RESTORED) or result.error:
            return
        for name in _names(result):
            self._shown.setdefault(name, []).append((result.id, result.at, result.tokens))
        if left_out:
            self._missing[result.id] = (left_out, result, list(result.parts))
            return
        back = [id for id, (_, other, shown) in self._missing.items() if _shows_again(result, other, shown)]
        if back:
            self.came.append((result.at, min(result.tokens, max(self._missing.pop(id)[0] for id in back))))

    def compacted(self) -> None:
        """The context was folded: what is fetched from now on would have had to be."""
        self._missing.clear()

    def bookings(self, cleared: Collection[str], clear_times: Mapping[str, float], calibration: float) -> list[Refetched]:
        """Each result that shows again what one of the cleared had shown, once and only after that clear; and what had not entered."""
        again: dict[str, tuple[float, int]] = {}
        for shown in self._shown.values():
            gone = [(clear_times[id], tokens) for id, _, tokens in shown if id in cleared and id in clear_times]
            for id, at, tokens in shown:
                sizes = [size for since, size in gone if at > since]
                if sizes and id not in cleared:
                    again[id] = (at, min(tokens, max(sizes)))
        return [Refetched(at, round(tokens * calibration)) for at, tokens in sorted([*again.values(), *self.came])]


def _names(result: Result) -> list[str]:
    content = [] if kinds.is_run(result.kind) else [result.kind + "|" + result.hash]
    return content + [part[0] for part in result.parts if part[0].startswith("read:")]


def _shows_again(result: Result, other: Result, shown: list[Part]) -> bool:
    """Whether a result may show what was left out of another one, that had `shown` these parts: the same content, or lines of a file that
    has not changed since."""
    if result.kind == other.kind and result.hash and result.hash == other.hash:
        return not kinds.is_run(result.kind)
    if other.ended and other.ended[0] in _CHANGED:
        return False
    reads = [part for part in shown if part[0].startswith("read:")]
    return any(mine[0] == part[0] and parts.overlap(mine[1], part[1]) for mine in result.parts for part in reads)
