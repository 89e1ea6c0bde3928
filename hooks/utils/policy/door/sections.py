"""Split the output of a command line by the commands that printed it. Pure.

A boundary is told by a text that the line itself says (`echo ---`) and that stands in the output as often as it is said, and by the lines
that the commands up to there print at most. Between two boundaries each line counts as a file's that may be one: then it is left as it is.
From the end nothing is counted: a host may put there what all commands say of errors.
"""

from __future__ import annotations

from .. import kinds
from ..commandline import printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NamedTuple

    from ..commandline.printed import Step

    class Section(NamedTuple):
        """`lines[begin:end]` of an output, all of one `kind`; SAID for what the line itself says."""

        begin: int
        end: int
        kind: str

else:
    from collections import namedtuple

    Section = namedtuple("Section", "begin end kind")

# No kind of a result: a text between two others.
SAID = "said"
# A shorter line may be part of anything.
_LEAST_SAID = 3
# Lines that the host may put before an output.
_BESIDE = printed.Step(kinds.OTHER, printed.MOST_EXTRA_LINES)


def sections(steps: Sequence[Step], lines: Sequence[str]) -> list[Section]:
    """Return the sections of an output that some steps have printed: all of its lines, in order."""
    steps = [_BESIDE, *steps]
    found: list[Section] = []
    begin = first = 0
    for at, place, count in _said(steps, lines):
        found += _between(steps[first:at], lines, begin, place)
        found.append(Section(place, place + count, SAID))
        begin, first = place + count, at + 1
    return [*found, *_between(steps[first:], lines, begin, len(lines))]


def _said(steps: Sequence[Step], lines: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return (the step, the place of its first line, how many) of each text that the line says; none where one may be somewhere else."""
    said = [(at, step.text[:-1].split("\n")) for at, step in enumerate(steps) if step.text is not None]
    keyed = [(at, text, max(text, key=len)) for at, text in said]
    keyed = [(at, text, key) for at, text, key in keyed if len(key) >= _LEAST_SAID]
    keys = {key for *_, key in keyed}
    places = [place for place, line in enumerate(lines) if line in keys]
    if [lines[place] for place in places] != [key for *_, key in keyed]:
        return []
    endings = tuple(keys)
    if any(line.endswith(endings) and line not in keys for line in lines):  # it may be said behind a line without an end
        return []
    found = []
    end = 0
    for place, (at, text, key) in zip(places, keyed):
        begin = place - text.index(key)
        if begin < end or list(lines[begin : begin + len(text)]) != text:
            return []
        end = begin + len(text)
        found.append((at, begin, len(text)))
    return found


def _between(steps: Sequence[Step], lines: Sequence[str], begin: int, end: int) -> Iterator[Section]:
    """Yield the sections of what some steps have printed: up to the last line that may be a file's, and what is behind that."""
    own = [step for step in steps if step is not _BESIDE]
    others = [step for step in own if step.kind != kinds.READ]
    most = end - begin if len(others) < len(own) else 0
    if others and most:
        reads = [at for at, step in enumerate(steps) if step.kind == kinds.READ]
        most = _most(steps[: reads[-1] + 1], most)
        if all(step.numbered for step in own if step.kind == kinds.READ):
            numbered = [at for at in range(begin, begin + most) if _is_numbered(lines[at])]
            most = numbered[-1] + 1 - begin if numbered else 0
    if most:
        yield Section(begin, begin + most, kinds.READ)
    if begin + most < end:
        yield Section(begin + most, end, printed.careful(others))


def _is_numbered(line: str) -> bool:
    number, tab, _ = line.partition("\t")
    return bool(tab) and number.strip(" ").isdecimal()


def _most(steps: Sequence[Step], limit: int) -> int:
    """Return how many lines some steps print at most, where there are no more than `limit`."""
    most = 0
    for step in steps:
        if step.most is None:
            return limit
        most += step.most
    return min(most, limit)
