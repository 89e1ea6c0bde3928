"""The index of the lines that a context shows, in which runs of other lines are found. Pure.

Every fourth place of a source is indexed by a hash over the four lines from there, so a run of eight or more holds an indexed place
wherever it begins; what is found there is compared line by line, and grows both ways as far as the lines are the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence  # noqa: TID253  no hook loads the door

from ..hashed import Numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import NamedTuple, overload

    class Run(NamedTuple):
        """`lines[begin:end]` of what was looked up are the lines of `source` from `at` on."""

        begin: int
        end: int
        source: Source
        at: int

else:
    from collections import namedtuple

    Run = namedtuple("Run", "begin end source at")

# Lines over which a place is hashed, and the distance of the places.
_GRAM = 4
# A run of fewer lines need not hold an indexed place.
LEAST_LINES = 2 * _GRAM
# Of places with the same four lines (the head of every file, say) the newest are compared.
_MOST_PLACES = 4
# A place in one number, for there are tens of thousands: the source's in its high bits, the line's in the low ones.
_LINE_BITS = 32
_LINES = (1 << _LINE_BITS) - 1


class Lines(Sequence[str]):
    """Lines that are seldom read, in one piece of memory: a list of strings takes three times as much, in many small pieces."""

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


class Source:
    """A result that shows lines: `id` (of the tool use), `name` (what it is called in a reference), `lines` as they were sent, without the
    numbers of a listing, and where these were: `numbered`, [(begin, end, number of the first)]. `path`: the file that a Read has read, ""
    for others. `is_input`: the call itself shows them, not its result."""

    __slots__ = ("id", "is_input", "lines", "name", "numbered", "path", "place")

    def __init__(
        self, id: str, name: str, lines: Sequence[str], path: str = "", numbered: Sequence[tuple[int, int, int]] = (), is_input: bool =
        False,
    ) -> None:  # fmt: skip
        self.id = id
        self.name = name
        self.lines = lines
        self.path = path
        self.numbered = numbered
        self.is_input = is_input
        self.place = 0  # among all that has ever been shown

    def number(self, begin: int, end: int) -> int | None:
        """Return the number that a listing gives the first of these lines, None where it does not count them all in one go."""
        return next((first + begin - at for at, stop, first in self.numbered if at <= begin and end <= stop), None)

    def at(self, number: int, count: int) -> list[int]:
        """Return where so many lines begin that a listing counts from this number on."""
        return [at + number - first for at, stop, first in self.numbered if first <= number and at + number - first + count <= stop]


class ContextLines:
    """The lines that a context shows. `add` what entered; `keep` the lines that remain after a compaction, a rewind or a clear."""

    __slots__ = ("_at", "_count", "_forgotten", "_left", "_named", "_places", "sources")

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self._count = 0
        # Of those that the context may show, though they are not known here any more; and of those whose calls alone are left there, with
        # the place of the newest. Nothing bounds how many there are; where the hashes of two names are alike, less is leant on.
        self._forgotten = Numbers()
        self._left = Numbers()
        self._named: dict[tuple[str, bool], list[Source]] = {}  # (name, is_input) -> in the order in which they came
        self._at: dict[int, Source] = {}  # a source's `place` -> it
        self._places: dict[int, int | list[int]] = {}  # hash of four lines -> where they stand, if in several places the newest last

    def add(self, source: Source) -> None:
        """Add lines that have entered the context; those that the same id showed before are gone."""
        if not source.place:
            self._count += 1
            source.place = self._count
        before = self.sources.pop(source.id, None)
        if before is not None:
            self._named[before.name, before.is_input].remove(before)
            self._at.pop(before.place, None)
        self.sources[source.id] = self._at[source.place] = source
        self._named.setdefault((source.name, source.is_input), []).append(source)
        lines = source.lines
        for at in range(0, len(lines) - _GRAM + 1, _GRAM):
            self._index(hash(tuple(lines[at : at + _GRAM])), source.place << _LINE_BITS | at)

    def _index(self, gram: int, place: int) -> None:
        """Note that these four lines stand there, too."""
        known = self._places.get(gram)
        if known is None:
            self._places[gram] = place
            return
        places = [known] if isinstance(known, int) else known
        places.append(place)
        if len(places) > _MOST_PLACES:
            # The first of a source leads the longest way through lines that repeat.
            sources = [each >> _LINE_BITS for each in places]
            del places[next((later for later in range(1, _MOST_PLACES) if sources[later] == sources[later - 1]), 0)]
        self._places[gram] = places

    def keep(self, ids: Collection[str]) -> None:
        """Keep these alone: nothing else is in the context any more."""
        remaining = [source for id, source in self.sources.items() if id in ids]
        if len(remaining) < len(self.sources):
            self.sources, self._at, self._places, self._named = {}, {}, {}, {}
            for source in remaining:
                self.add(source)

    def drop(self, ids: Collection[str]) -> None:
        """Drop the lines of these ids, which have left the context; their calls stay in it."""
        if not self.sources.keys().isdisjoint(ids):
            for source in map(self.sources.__getitem__, self.sources.keys() & set(ids)):
                name = (source.name, source.is_input)
                self._left[name] = max(source.place, self._left.get(name, 0))
            self.keep(self.sources.keys() - set(ids))

    def forget(self, ids: Collection[str]) -> None:
        """Forget these: nothing is to lean on them any more, though they may still be in the context."""
        for source in [self.sources[id] for id in ids if id in self.sources]:
            self._forgotten[source.name, source.is_input] = source.place
        self.drop(ids)

    def is_last(self, source: Source) -> bool:
        """Return whether no later call in the context has its name."""
        name = (source.name, source.is_input)
        return self._named[name][-1] is source and source.place > self._left.get(name, 0)

    def namesakes(self, source: Source) -> list[Source] | None:
        """Return what else in the context has the same name and shows lines; None where that is not known."""
        name = (source.name, source.is_input)
        return None if name in self._forgotten else [other for other in self._named[name] if other is not source]

    def results_of(self, name: str) -> list[Source]:
        """Return the sources of the results of calls of a name."""
        return list(self._named.get((name, False), ()))

    def is_only(self, source: Source) -> bool:
        """Return whether no other call in the context has its name."""
        name = (source.name, source.is_input)
        return len(self._named[name]) == 1 and name not in self._left

    def runs(self, lines: Sequence[str], path: str = "", stretches: Sequence[tuple[int, int, int | None]] = ()) -> list[Run]:
        """Return the runs of at least eight lines that a source shows too, in order, none over another; of several the longest, then the
        newest. With a path, only what was read of that file; with stretches of the lines, none over the end of one."""
        runs: list[Run] = []
        for floor, end, _ in stretches or ((0, len(lines), None),):
            begin = floor
            while begin <= end - _GRAM:
                best: Run | None = None
                for source, at in self._standing(hash(tuple(lines[begin : begin + _GRAM]))):
                    if not path or source.path == path:
                        run = _grown(lines, begin, (floor, end), source, at)
                        if best is None or run.end - run.begin >= best.end - best.begin:
                            best = run
                if best is not None and best.end - best.begin >= LEAST_LINES:
                    runs.append(best)
                    begin = floor = best.end
                else:
                    begin += 1
        return runs

    def _standing(self, gram: int) -> Sequence[tuple[Source, int]]:
        """Return where these four lines stand: sources, and the number of the first line in each."""
        places = self._places.get(gram)
        if places is None:
            return ()
        known = [(self._at.get(place >> _LINE_BITS), place & _LINES) for place in ([places] if isinstance(places, int) else places)]
        return [(source, at) for source, at in known if source is not None]


def _grown(lines: Sequence[str], begin: int, bounds: tuple[int, int], source: Source, at: int) -> Run:
    """Return the lines around a place, within bounds, that are the same on both sides; empty where the four lines only hash alike."""
    there, end = source.lines, begin
    floor, stop = bounds
    while begin > floor and at > 0 and lines[begin - 1] == there[at - 1]:
        begin, at = begin - 1, at - 1
    stop = min(stop, begin + len(there) - at)
    while end < stop and lines[end] == there[at + end - begin]:
        end += 1
    return Run(begin, end, source, at)
