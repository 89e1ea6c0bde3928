"""A result's text, in which references replace what the context already shows. Pure.

Of a run of lines the first and the last stay, with their numbers; between them one line tells which call above shows the others, which
lines of its result they are, and words with which they begin and end. A reader who sees the context alone finds them by that, and nothing
else by the same words: where another result would fit too, the lines enter. What the host adds to a result for the model (a reminder) is
never part of a run, and a line that must be read in its place is never left out. Where a command has run again, durations may differ that
say nothing: then the reference says so.
"""

from __future__ import annotations

from . import durations
from .call_names import plain
from .numbering import listed
from .shown import ContextLines, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import NamedTuple

    from .shown import Run

    class Reduction(NamedTuple):
        """`text` as it enters · `leans_on`: ids of what references name, in order · `lines`: how many are left out · `is_exact`: no
        reference stands for lines whose durations are others."""

        text: str
        leans_on: tuple[str, ...]
        lines: int
        is_exact: bool = True

    class _Reference(NamedTuple):
        """A reference in the place of `lines[first:last]`: what it `says`, and the id of what it `leans_on`; `saved` characters."""

        first: int
        last: int
        says: str
        leans_on: str
        saved: int
        is_exact: bool

else:
    from collections import namedtuple

    Reduction = namedtuple("Reduction", "text leans_on lines is_exact", defaults=(True,))
    _Reference = namedtuple("_Reference", "first last says leans_on saved is_exact")

# A reference that is hardly shorter than what it replaces is one more thing to follow.
_LEAST_SAVED_CHARS = 40
# Words are of so many characters at the least, if one of the lines nearest to that end has them, and at the most.
_LEAST_WORDS, _MOST_WORDS, _NEAREST = 12, 32, 3
# With this the host begins what it adds to a result for the model.
REMINDER = "<system-reminder>"
# So a part of a diff begins, and what the signs before its lines say.
_HUNK = "@@ -"
SIGNED = {"+": "added", "-": "removed", " ": "unchanged"}


def lines_of(text: str) -> list[str]:
    """Return the lines that a text shows, without the numbers of a listing, up to what the host adds for the model."""
    return listed(_own(text))[0]


def source(id: str, name: str, text: str, path: str = "") -> Source:
    """Return a Source of the lines of a text."""
    lines, stretches = listed(_own(text))
    numbered = [(begin, end, first) for begin, end, first in stretches if first is not None]
    return Source(id, name, lines, path, numbered)


def _own(text: str) -> list[str]:
    """Return the lines of a text up to what the host adds for the model, and the empty lines before that."""
    own, added, _ = text.partition(REMINDER)
    return (own.rstrip("\r\n") if added else own).split("\n")


def say_once(
    text: str,
    shown: ContextLines,
    path: str = "",
    handle: str = "",
    stay: Callable[[list[str]], Sequence[int]] | None = None,
    earlier: Sequence[Source] = (),
) -> Reduction:
    """Return the text with runs that `shown` has as references. `path`: only what was read of that file counts. `handle`: of the archived
    whole, named once. `stay`: of some lines the places, in order, of those that are never left out; asked only where some would be.
    `earlier`: what the same command has shown before, from which durations may differ."""
    lines, stretches = listed(_own(text))
    whole = text.split("\n")
    runs = shown.runs(lines, path, stretches)
    bare, signed = _without_signs(lines, stretches, runs)
    if signed:
        runs = sorted([*runs, *shown.runs(bare, path, signed)], key=lambda run: run.begin)
    again = durations.runs(lines, stretches, earlier) if earlier else []
    staying = stay(lines) if stay and (runs or again) else ()

    def references(runs: list[Run], signed: Sequence[tuple[int, int, int | None]] = ()) -> Iterator[_Reference]:
        for run in [part for whole_run in runs for part in _parts(whole_run, staying)]:
            first, last = run.begin + 1, run.end - 1
            number = next(
                (first - begin + count for begin, end, count in stretches if count is not None and first in range(begin, end)), None
            )
            is_signed = any(first in range(begin, end) for begin, end, _ in signed)
            hidden, of_diff = (bare, SIGNED[lines[first][0]] + " ") if is_signed else (lines, "")
            says = _reference(hidden[first:last], number, run.at + 1, run.source, shown, of_diff)
            saved = sum(map(len, whole[first:last])) + last - first - len(says)
            if says and saved >= _LEAST_SAVED_CHARS:
                is_exact = hidden[first:last] == list(run.source.lines[run.at + 1 : run.at + 1 + last - first])
                yield _Reference(first, last, says, run.source.id, saved, is_exact)

    chosen = list(references(runs, signed))
    if again:
        chosen = max(chosen, _disjoint([*chosen, *references(again)]), key=lambda some: sum(one.saved for one in some))
    pieces: list[str] = []
    at = 0
    for one in chosen:
        pieces += [*whole[at : one.first], f"[{one.says}]"]
        at = one.last
    if pieces and handle:
        pieces[-1] = f"{pieces[-1][:-1]}; to see all: popkit restore {handle}]"
    return Reduction(
        "\n".join([*pieces, *whole[at:]]),
        tuple(dict.fromkeys(one.leans_on for one in chosen)),
        sum(one.last - one.first for one in chosen),
        all(one.is_exact for one in chosen),
    )


def _disjoint(references: Iterable[_Reference]) -> list[_Reference]:
    """Return of references of which some are over others those that save most, in the order of the lines; between two a line stays."""
    chosen: list[_Reference] = []
    for one in sorted(references, key=lambda one: -one.saved):
        if all(one.last < other.first or other.last < one.first for other in chosen):
            chosen.append(one)
    return sorted(chosen)


def _without_signs(
    lines: Sequence[str], stretches: Sequence[tuple[int, int, int | None]], runs: Sequence[Run]
) -> tuple[list[str], list[tuple[int, int, int | None]]]:
    """Return (lines without the signs of a diff, [(begin, end, None)] of the stretches that have one sign, beside some runs)."""
    if not any(line.startswith(_HUNK) for line in lines) or any(first is not None for *_, first in stretches):
        return [], []
    taken = {at for run in runs for at in range(run.begin, run.end)}
    bare = list(lines)
    signed: list[tuple[int, int, int | None]] = []
    is_hunk = False
    for at, line in enumerate(lines):
        is_hunk = line.startswith(_HUNK) or (is_hunk and line[:1] in SIGNED)
        if is_hunk and line[:1] in SIGNED and at not in taken:
            bare[at] = line[1:]
            begin = signed.pop()[0] if signed and signed[-1][1] == at and lines[at - 1][0] == line[0] else at
            signed.append((begin, at + 1, None))
    return bare, signed


def _parts(run: Run, staying: Sequence[int]) -> Iterator[Run]:
    """Yield a run, parted at the lines that stay: each is the last of one part and the first of the next."""
    begin = run.begin
    for place in staying:
        if begin < place < run.end - 1:
            yield run._replace(begin=begin, end=place + 1, at=run.at + begin - run.begin)
            begin = place
    yield run._replace(begin=begin, at=run.at + begin - run.begin)


def _reference(hidden: list[str], number: int | None, at: int, source: Source, shown: ContextLines, of_diff: str) -> str:
    """Return the line in place of those that a source shows from `at` on, the same or with other durations; `number` that a listing gives
    the first of them here. `of_diff`: what their signs say of them here. "" where other lines would fit it as well, or nothing could be
    named of them."""
    count = len(hidden)
    standing = list(source.lines[at : at + count])
    is_exact = standing == hidden
    words = (_words(standing, not is_exact), _words(standing[::-1], not is_exact))
    if not (is_exact or all(words)):
        return ""
    there = source.number(at, at + count)
    is_last = shown.is_last(source)
    others = [] if is_last else shown.namesakes(source)
    if others is None:
        return ""
    for other in [source, *others]:
        for place in [at] if there is None else other.at(there, count):
            lines = list(other.lines[place : place + count])
            if lines != standing and _fits(lines, words, is_exact):
                return ""
    here = f"{count} {of_diff}lines" if number is None else f"lines {_range(number, count)}"
    call = f"your {'last ' if is_last and not shown.is_only(source) else ''}{source.name} above"
    if source.is_input:
        call = f"the input of {call}"
    where = f", there {_range(there, count)}" if there is not None else f", there lines {_range(at + 1, count)} of it"
    but = "" if is_exact else f", {durations.difference(hidden, standing)}"
    return f"{here} as in {call}{'' if there == number is not None else where}{but}: from «{words[0]}» to «{words[1]}»"


def _range(first: int, count: int) -> str:
    return f"{first}–{first + count - 1}"


def _fits(lines: list[str], words: tuple[str, str], is_exact: bool) -> bool:
    """Return whether a reader may take these lines for those that begin and end with the words."""
    return _has(lines, words[0], is_exact) and _has(lines[::-1], words[1], is_exact)


def _has(lines: list[str], words: str, is_exact: bool) -> bool:
    return any(line.startswith(words) for without in {False, not is_exact} for line in _opening_lines(lines, without))


def _opening_lines(lines: list[str], without_durations: bool) -> list[str]:
    """Return the first lines that say anything; up to their durations, where these may be others."""
    opening: list[str] = []
    for line in lines:
        if line.strip():
            opening.append(plain(durations.cut(line) if without_durations else line))
            if len(opening) == _NEAREST:
                break
    return opening


def _words(lines: list[str], without_durations: bool = False) -> str:
    """Return the beginning of the first of some lines that says enough, else of the longest of those nearest."""
    opening = _opening_lines(lines, without_durations) or [""]
    line = next((line for line in opening if len(line) >= _LEAST_WORDS), max(opening, key=len))
    if len(line) <= _MOST_WORDS:
        return line
    words = line[:_MOST_WORDS].rpartition(" ")[0]
    return words if len(words) >= _LEAST_WORDS else line[:_MOST_WORDS]
