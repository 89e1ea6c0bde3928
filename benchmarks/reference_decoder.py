"""A reader of references who sees the context alone: calls with their inputs, results as they entered, and what has left. It shares no code
with the door, so what it finds is what anybody can find.

    python benchmarks/held_out.py --transcripts FOLDER --door reads any

prints for each door what this reader made of its references: *wrong* (other lines than were left out), *ambiguous* (several places fit,
with different lines), *nowhere* (no place fits), *gone* (only what has left the context would fit).
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

REFERENCE = re.compile(
    r"\[(?:lines (?P<first>\d+)–(?P<last>\d+)|(?P<count>\d+) (?:(?P<sign>added|removed|unchanged) )?lines) as in"
    r" (?P<input>the input of )?your (?P<newest>last )?"
    r"(?P<tool>[^\s:]+)(?: of (?P<about>.*))? above"
    r"(?:, there (?:(?P<from>\d+)–(?P<to>\d+)|lines (?P<begin>\d+)–(?P<end>\d+) of it))?"
    r"(?P<but>, but for the durations \(below 1s or within a factor of 2;"
    r" the longest is (?P<here>[\w. ]+) here, (?P<longest>[\w. ]+) there\))?"
    r": from «(?P<head>[^«»]*)» to «(?P<tail>[^«»]*)»(?:; to see all: popkit restore (?P<handle>[a-z2-7]+))?\]"
)
_NUMBERED = re.compile(r" *(\d+)(→|\t)(.*)", re.DOTALL)
# OpenCode shows a file behind this line, each line behind its number, a colon and a space.
_OPENS, _COLONED = "<content>", re.compile(r"(\d+)(: )(.*)", re.DOTALL)
# A number with what stands before it and the unit behind it; of durations in several units one after another the parts are added.
_TAKEN = re.compile(r"duration_ms:? (?P<bare>\d+(?:\.\d+)?)|(?:\d+(?:\.\d+)? ?(?:hours?|h|min|ms|[µu]s|ns|m|seconds?|secs?|s)\b ?)+")
_LED = re.compile(r"^\d+(?:\.\d+)? ?[a-zµ]+ ")
_UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}
_SIGNS = {"added": "+", "removed": "-", "unchanged": " "}  # before lines of a diff
_NEAREST = 3  # lines among which the words of a reference are looked for
_WRITES = ("content", "new_string", "newString")


class Found(NamedTuple):
    """`kind`: found, ambiguous, nowhere or gone · `lines` that the reference stands for, where they were found · `twice`: whether they
    stand at several places, all alike."""

    kind: str
    lines: tuple[str, ...] = ()
    twice: bool = False


class Call(NamedTuple):
    tool: str
    inputs: dict
    lines: list[tuple[int | None, str]]  # of the result: (its number in a listing, its text)
    written: list[tuple[int | None, str]]  # of the input


class Reader:
    """Reads one context. `cwd`: the folder that relative paths are of."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self.calls: dict[str, Call] = {}
        self.left: dict[str, Call] = {}  # what has stood in the context, and stands there no more
        self.away: dict[str, Call] = {}  # calls of branches that were left, as they stood last

    def sees(self, id: str, tool: str, inputs: dict, text: str) -> None:
        """A call and its result, as it entered."""
        edits = inputs.get("edits")
        parts = [inputs, *(edits if isinstance(edits, list) else [])]
        texts = [part[key] for key in _WRITES for part in parts if isinstance(part, dict) and isinstance(part.get(key), str)]
        written: list[tuple[int | None, str]] = [(None, line) for text in texts for line in text.split("\n")]
        self.calls[id] = Call(tool, inputs, listing(text), written)

    def stands(self, ids: Iterable[str]) -> set[str]:
        """The context is of these calls now, in this order; some may be of a branch that was left before. Returns those that have left."""
        known = {**self.away, **self.calls}
        before, self.calls = self.calls, {id: known.pop(id) for id in ids if id in known}
        self.away = known
        lost = before.keys() - self.calls.keys()
        self.left.update((id, before[id]) for id in lost)
        for id in self.calls.keys() - before.keys():
            if self.calls[id].lines:  # what was cleared before stays so
                del self.left[id]
        return lost

    def sees_cleared(self, ids: Iterable[str]) -> None:
        """The results of these were cleared: the calls stand in the context, without what they showed."""
        for id in ids:
            self.left[id] = self.calls[id]
            self.calls[id] = self.calls[id]._replace(lines=[])

    def follows(self, reference: re.Match, of: str = "") -> Found:
        """What a reference stands for: one of a result that comes now, or of the one with this id."""
        above = dict(itertools.takewhile(lambda call: call[0] != of, self.calls.items()))
        found = self._places(reference, above)
        if not found:
            return Found("gone" if self._places(reference, self.left) else "nowhere")
        if len(set(found)) > 1:
            return Found("ambiguous")
        return Found("found", found[0], len(found) > 1)

    def _places(self, reference: re.Match, calls: dict) -> list[tuple[str, ...]]:
        named = [call for call in calls.values() if self._is_named(call, reference)]
        return [lines for call in (named[-1:] if reference["newest"] else named) for lines in places(call, reference)]

    def _is_named(self, call: Call, reference: re.Match) -> bool:
        if shape(call.tool) != reference["tool"] or (reference["input"] and not call.written):
            return False
        return reference["about"] is None or any(
            self._is(shape(value), reference["about"]) for value in call.inputs.values() if isinstance(value, str)
        )

    def _is(self, value: str, named: str) -> bool:
        folder = shape(self.cwd).rstrip("/\\")
        below = re.sub(r"^[/\\]", "", value[len(folder) :]) if re.match(re.escape(folder) + r"[/\\]", value) else value
        head, cut, tail = named.partition("…")
        if not cut:
            return named == below
        return len(below) > len(head) + len(tail) and below.startswith(head) and below.endswith(tail)


def references(text: str) -> list[tuple[int, re.Match]]:
    """[(place of its line, the reference)] of a text."""
    found = [(at, REFERENCE.fullmatch(line)) for at, line in enumerate(text.split("\n"))]
    return [(at, reference) for at, reference in found if reference]


def shape(text: str) -> str:
    """A text in one line, as names and words are written."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    for sign, written in (("[", "［"), ("]", "］"), ("«", "‹"), ("»", "›"), ("…", "...")):
        line = line.replace(sign, written)
    return line


def listing(text: str) -> list[tuple[int | None, str]]:
    """[(number, line)] of a text: what counts on from line to line is a number, anything else is text."""
    lines = text.split("\n")
    begin = lines.index(_OPENS) if _OPENS in lines else len(lines)
    numbered = [_NUMBERED.fullmatch(line) or (_COLONED.fullmatch(line) if at > begin else None) for at, line in enumerate(lines)]
    numbers = [int(found[1]) if found and len(found[1]) < 12 else None for found in numbered]
    counted = [
        number is not None
        and any(0 <= other < len(numbers) and numbers[other] == number + step for other, step in ((at - 1, -1), (at + 1, 1)))
        for at, number in enumerate(numbers)
    ]
    return [(numbers[at], numbered[at][3]) if counted[at] else (None, line) for at, line in enumerate(lines)]  # type: ignore[index]


def count_of(reference: re.Match) -> int:
    """How many lines a reference stands for."""
    return int(reference["count"]) if reference["count"] else int(reference["last"]) - int(reference["first"]) + 1


def places(call: Call, reference: re.Match) -> list[tuple[str, ...]]:
    """The lines of each place of a call that fits a reference."""
    lines, count = call.written if reference["input"] else call.lines, count_of(reference)
    first = int(reference["from"] or reference["first"] or -1)
    begins = [int(reference["begin"] or 0) - 1]
    if not reference["begin"]:
        begins = [at for at, (number, _) in enumerate(lines) if number == first]
    found = []
    for at in begins:
        some = lines[at : at + count]
        counts_on = reference["begin"] or [number for number, _ in some] == [*range(first, first + count)]
        texts = tuple(text for _, text in some)
        but = reference["but"]
        if len(some) == count and counts_on and _near(texts, reference["head"], but) and _near(texts[::-1], reference["tail"], but):
            found.append(texts)
    return found


def _near(texts: tuple[str, ...], words: str, but: str | None) -> bool:
    """Whether one of the first lines begins with the words; where durations differ, it may begin with one of them."""
    spoken = [shape(text) for text in texts if text.strip()][:_NEAREST]
    return any(text.startswith(words) or (but and _LED.sub("", text).startswith(words)) for text in spoken) or not spoken


def rebuilds(text: str, stands_for: dict[int, tuple[str, ...]], original: list[str]) -> bool:
    """Whether these lines come of a text when what references stand for is put in their place: where one says that durations differ, but
    for those, which must keep to what it says of them."""
    lines = whole(text, stands_for)
    if len(lines) != len(original):
        return False
    begin, before = 0, 0
    for at, reference in references(text):
        if at not in stands_for:
            continue
        begin += at - before
        end = begin + len(stands_for[at])
        if reference["but"]:
            if not _but_for_durations(original[begin:end], lines[begin:end], (reference["here"], reference["longest"])):
                return False
            lines[begin:end] = original[begin:end]
        begin, before = end, at + 1
    return lines == original


def _but_for_durations(here: list[str], there: list[str], named: tuple[str, str]) -> bool:
    pairs = [(_TAKEN.finditer(one), _TAKEN.finditer(other)) for one, other in zip(here, there)]
    taken = [([_seconds(each) for each in ours], [_seconds(each) for each in theirs]) for ours, theirs in pairs]
    # A time that is the same in both (a limit, an estimate) may be longer than the longest that was taken.
    apart = [pair for ours, theirs in taken for pair in zip(ours, theirs) if pair[0] != pair[1]]
    all_taken = [[seconds for pair in taken for seconds in pair[side]] for side in (0, 1)]
    said = [_seconds(match) for match in map(_TAKEN.fullmatch, named) if match]
    return (
        [_TAKEN.split(line)[::2] for line in here] == [_TAKEN.split(line)[::2] for line in there]
        and all(max(pair) < 1 or max(pair) <= 2 * min(pair) for ours, theirs in taken for pair in zip(ours, theirs))
        and len(said) == 2
        and all(any(abs(one - each) < 1e-9 for each in some) for one, some in zip(said, all_taken))
        and all(pair[side] <= said[side] + 1e-9 for pair in apart for side in (0, 1))
    )


def _seconds(taken: re.Match) -> float:
    if taken["bare"]:
        return float(taken["bare"]) / 1000
    parts = re.findall(r"([\d.]+) ?(ms|[a-zµ])", taken[0])
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def whole(text: str, stands_for: dict[int, tuple[str, ...]]) -> list[str]:
    """The lines of a text without a listing's numbers, with what references stand for in their place. Beside a reference the numbers go on
    from those that it names."""
    lines = [line for _, line in listing(text)]
    signs = {at: _SIGNS[reference["sign"]] for at, reference in references(text) if reference["sign"]}
    for at, reference in references(text):
        for beside, number in ((at - 1, int(reference["first"] or 0) - 1), (at + 1, int(reference["last"] or 0) + 1)):
            found = _NUMBERED.fullmatch(lines[beside]) if reference["first"] and 0 <= beside < len(lines) else None
            if found and int(found[1]) == number:
                lines[beside] = found[3]
    return [signs.get(at, "") + line if at in stands_for else line for at, one in enumerate(lines) for line in stands_for.get(at, (one,))]
