"""Find the results that come again although the context had them before, cleared since or not whole. Pure.

Content comes again as the same content, or as the same file that a read shows; tests that run again are wanted for how they go now, not for
how they went.
"""

from __future__ import annotations

from . import kinds, parts
from .bookings import Refetched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .context import Result
    from .parts import Part

# Triggers that end a read because its file no longer has the content that it shows.
_CHANGED = ("edited", "changed_on_disk")


class Refetches:
    """Takes every result in order."""

    __slots__ = ("_missing", "_shown", "again")

    def __init__(self) -> None:
        self._shown: dict[str, list[tuple[str, float, int]]] = {}  # name of a content -> [(id, seconds, tokens)] of what shows it
        self._missing: dict[str, tuple[int, Result, list[Part]]] = {}  # id of what entered in part -> (tokens left out, it, what it shows)
        self.again: list[tuple[float, int, float]] = []  # (seconds, tokens) of what entered, and had been left out before (seconds)

    def take(self, result: Result, left_out: int) -> None:
        """Take a result, of which `left_out` tokens did not enter."""
        if result.kind in (kinds.ACK, kinds.RESTORED) or result.error:
            return
        for name in _names(result):
            self._shown.setdefault(name, []).append((result.id, result.at, result.tokens))
        if left_out:
            self._missing[result.id] = (left_out, result, list(result.parts))
            return
        same = [id for id, (_, other, shown) in self._missing.items() if _shows_again(result, other, shown)]
        if same:
            missing = [self._missing.pop(id) for id in same]
            tokens, since = max(tokens for tokens, _, _ in missing), max(other.at for _, other, _ in missing)
            self.again.append((result.at, min(result.tokens, tokens), since))

    def compacted(self) -> None:
        """Forget what did not enter: after a compaction it would have had to be fetched anyway."""
        self._missing.clear()

    def bookings(self, cleared: Collection[str], clear_times: Mapping[str, float], calibration: float) -> list[Refetched]:
        """Return a booking for each result that shows again what a cleared one had shown, once and only after that clear, or what had not
        entered."""
        fetched: dict[str, tuple[float, int, float]] = {}
        for shown in self._shown.values():
            removed = [(clear_times[id], tokens, came) for id, came, tokens in shown if id in cleared and id in clear_times]
            for id, at, tokens in shown:
                known = [(size, came) for since, size, came in removed if at > since]
                if known and id not in cleared:
                    fetched[id] = (at, min(tokens, max(size for size, _ in known)), max(came for _, came in known))
        return [Refetched(at, round(tokens * calibration), since) for at, tokens, since in sorted([*fetched.values(), *self.again])]


def _names(result: Result) -> list[str]:
    content = [] if kinds.is_run(result.kind) else [result.kind + "|" + result.hash]
    return content + [part[0] for part in result.parts if parts.is_of_lines(part)]


def _shows_again(result: Result, other: Result, shown: list[Part]) -> bool:
    """Return whether a result may show what was left out of another one, that had `shown` these parts: the same content, or lines of a
    file that has not changed since."""
    if result.kind == other.kind and result.hash and result.hash == other.hash:
        return not kinds.is_run(result.kind)
    if other.ended and other.ended[0] in _CHANGED:
        return False
    reads = [part for part in shown if parts.is_of_lines(part)]
    return any(mine[0] == part[0] and parts.overlap(mine[1], part[1]) for mine in result.parts for part in reads)
