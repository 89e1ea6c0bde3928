"""The informative lines of an output over its kind's budget: its failures, its verdict, the best of each file, its ends. Pure.

Whole lines stay, in their order, of all but a search with a mark for each gap; the last line says how much is left out, where it is, and
what it names. No line that tells of a failure ever goes, whatever the kind and however many there are. Diffs, tables, configuration and
structured data are never touched, nor an error's message.
"""

from __future__ import annotations

from .. import kinds
from ..outlines import OUTLINE_SHARE, outline
from .failures import failures_in
from .noise import is_data
from .once import REMINDER
from .sections import Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import NamedTuple

    class Excerpt(NamedTuple):
        """`text` as it enters · `lines`: how many are left out, which only the archive has."""

        text: str
        lines: int

    class Choice(NamedTuple):
        """`kept`: the places of the lines that stay · `about` the others, in words."""

        kept: set[int]
        about: str

else:
    from collections import namedtuple

    Excerpt = namedtuple("Excerpt", "text lines")
    Choice = namedtuple("Choice", "kept about")

# Characters that the lines around failures may take, with these; the failures themselves take as many as they have.
AROUND = 4_000
# A result of a failed command of fewer characters enters whole.
LEAST_FAILED = 4_000
# A section of an output with several of its kind gets so many characters at the least.
_LEAST_SHARE = 500
# An output that hardly gets shorter enters whole.
LEAST_SAVED = 500
# Lines of a run's beginning (the exit code, the command) and of its end (the summary).
_HEAD, _TAIL = 3, 12
# Lines before and behind one that shows a failure, for its name, its values and its place.
_BEFORE, _BEHIND = 2, 8
# Lines of an output's beginning for one of its end.
_HEAD_FOR_TAIL = 2
# A gap of fewer characters is hardly longer than its mark.
_LEAST_GAP = 40
_NOTICE = "[PopKit left out "
# Characters of the first lines left out that are searched for names.
_NAMES_IN = 100_000
# A line of a search: the file, if it is named, and whether the line matches or is only next to a match.
_MATCH = r"((?:[A-Za-z]:)?[^:\n]{1,300}?[:-])?\d+([:-])"

_DEFINITION = (
    r"\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?|unsafe|virtual|override|inline)\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|type|trait|impl|module|namespace|protocol|record|const|let|var|val|macro_rules!|#define"
    r"|create (?:table|function|view)|CREATE (?:TABLE|FUNCTION|VIEW))\b"
)
# The rule under a table's head; and rows of one, of which a few say that it is one.
_RULE, _BARS, _LEAST_ROWS = r"\s*[|+]?[-=:─━]{3,}(?: ?[|+│┼] ?[-=:─━]{2,})+[|+]?\s*$", 2, 3
# The head of a table of columns, and the share of its rows in which what is between these is free; so much of it is looked at.
_HEAD_OF_TABLE = r"\s*[A-Z%#][A-Za-z%#()/_.-]*(?: +[A-Za-z%#(][A-Za-z%#()/_.-]*)+\s*$"
_ALIGNED, _LEAST_GUTTERS, _ROWS_EXAMINED, _WIDEST = 0.9, 2, 200, 200
# A row of a long listing of files.
_LISTED_FILE = r"[-dlbcps][-rwxsStT]{9}[.+@]? +\d+ "
# A line of a configuration: a section, a key with its value, an item, what opens and closes, a comment.
_SETTING = r"\s*(?:\[[^\]]+\]\s*$|[\"']?[A-Za-z_$][\w.$/-]*[\"']?(?::\s| ?=|:$).*$|- \S|[}\])]+[,;]?\s*$|[#;]\s)"
_SETTINGS = 0.8


def shorten(text: str, kind: str, error: bool = False, handle: str = "") -> Excerpt:
    """Return the informative part of an output of a kind; the whole where that is within its budget or of a kind that has none."""
    return shorten_sections(text, [Section(0, text.count("\n") + 1, kind)], error, handle)


def shorten_sections(text: str, sections: Sequence[Section], error: bool, handle: str) -> Excerpt:
    """Return the informative part of an output that several commands have printed, each as the kind that it is: those of one kind share its
    budget, and where there is more than one, each gap has a mark."""
    if len(text) <= (LEAST_FAILED if error else 0) or all(kinds.of(kind).budget is None for *_, kind in sections):
        return Excerpt(text, 0)
    own, added, rest = text.partition(REMINDER)
    lines = own.split("\n")
    end = len(lines) - 1 if not lines[-1] else len(lines)
    if not end or lines[end - 1].startswith(_NOTICE):
        return Excerpt(text, 0)
    names = [_as_failed(kind) if error else kinds.name_of(kind) for *_, kind in sections]
    chars: dict[str, int] = {}
    for (begin, stop, _), kind in zip(sections, names):
        chars[kind] = chars.get(kind, 0) + sum(len(line) + 1 for line in lines[begin : min(stop, end)])
    kept: set[int] = set()
    about = ""
    for (begin, stop, _), kind in zip(sections, names):
        stop, budget = min(stop, end), kinds.of(kind).budget
        chosen = None
        if budget is not None and chars[kind] > budget:
            chosen = _chosen(lines[begin:stop], kind, max(budget // names.count(kind), _LEAST_SHARE), error)
        kept.update(range(begin, stop) if chosen is None else [begin + at for at in chosen.kept])
        about = "" if chosen is None else chosen.about
    if len(kept) == end:
        return Excerpt(text, 0)
    is_marked = len(sections) > 1 or names[0] != kinds.SEARCH
    written = _written(lines[:end], kept, is_marked, "" if len(sections) > 1 else about, handle)
    shorter = written.text + "\n" * (end < len(lines)) + added + rest
    return Excerpt(shorter, written.lines) if len(text) - len(shorter) >= LEAST_SAVED else Excerpt(text, 0)


def _as_failed(kind: str) -> str:
    """Return the kind as which an output counts whose line has failed."""
    name = kinds.name_of(kind)
    return name if kinds.is_run(kind) or kinds.of(kind).budget is None else kinds.ERROR


def _chosen(lines: Sequence[str], kind: str, budget: int, error: bool) -> Choice | None:
    """Return the lines that stay of an output of a kind, of which so many characters may; None where all do."""
    if sum(map(len, lines)) + len(lines) <= budget:
        return None
    if kind == kinds.SEARCH:
        files = _files(lines)
        if _defines(lines) or _is_long_listing(lines):
            return None
    elif is_data("\n".join(lines), lines) or (kind == kinds.OTHER and is_listed(lines)) or (error and max(map(len, lines)) > budget):
        return None
    failures = failures_in(lines, kind)
    if kind == kinds.SEARCH:
        kept = _within(lines, _round(files.values()), budget) | set(failures)
        return Choice(kept, _counts(files, kept))
    return Choice(_essential_lines(lines, len(lines), kind, failures, budget), "")


def is_listed(lines: Sequence[str]) -> bool:
    """Return whether an output is a table or a configuration, in which every row carries information of its own."""
    import re

    filled = [line for line in lines if line.strip()]
    if (
        any(re.match(_RULE, line) for line in filled if len(line) < 1_000)
        or sum(line.count("|") >= _BARS for line in filled) >= _LEAST_ROWS
    ):
        return True
    if _is_aligned(filled) or _is_long_listing(filled):
        return True
    return bool(filled) and sum(re.match(_SETTING, line) is not None for line in filled) >= _SETTINGS * len(filled)


def _is_aligned(lines: Sequence[str]) -> bool:
    """Return whether lines are a head and rows in columns, with nothing but blanks between these."""
    import re

    head, *rows = lines[: _ROWS_EXAMINED + 1] or [""]
    if len(rows) < _LEAST_ROWS or len(head) > 1_000 or not re.match(_HEAD_OF_TABLE, head):
        return False
    most = (1 - _ALIGNED) * len(rows)
    width = min(len(head), _WIDEST)
    taken = [head[at] != " " or sum(row[at : at + 1].strip() != "" for row in rows) > most for at in range(width)]
    return sum(taken[at - 1] and not taken[at] for at in range(1, width)) >= _LEAST_GUTTERS


def _is_long_listing(lines: Sequence[str]) -> bool:
    """Return whether lines are of `ls -l` or the like, with a file in each."""
    import re

    filled = [line for line in lines if line.strip()]
    return len(filled) >= _LEAST_ROWS and sum(re.match(_LISTED_FILE, line) is not None for line in filled) >= _SETTINGS * len(filled)


def _defines(lines: Sequence[str]) -> bool:
    """Return whether a search shows the lines around a definition: they are what it was made for."""
    import re

    matches = [(line, match) for line in lines if (match := re.match(_MATCH, line))]
    beside = sum(match[2] == "-" for _, match in matches)
    return beside > 0 and any(match[2] == ":" and re.match(_DEFINITION, line[match.end() :]) for line, match in matches)


def _essential_lines(lines: Sequence[str], end: int, kind: str, failures: Sequence[int], budget: int) -> set[int]:
    """Return the places of the lines that stay of a run, an error or another output: its ends, its failures, the lines around those."""
    ends = _ends(end) if kind == kinds.OTHER else [*range(min(_HEAD, end)), *range(end - 1, max(-1, end - 1 - _TAIL), -1)]
    kept = _within(lines, ends, budget) | set(failures)
    kept = _within(lines, _around(failures, end), AROUND, kept)
    return _within(lines, _ends(end), budget, kept) if kind == kinds.ERROR else kept


def _within(lines: Sequence[str], places: Iterable[int], room: int, kept: Collection[int] = ()) -> set[int]:
    """Return `kept` and, of these places in order of their worth, those whose lines fit into so many characters with them."""
    chosen = set(kept)
    room -= sum(len(lines[at]) + 1 for at in chosen)
    for at in places:
        if room <= 0:
            break
        if at not in chosen and len(lines[at]) < room and lines[at].strip():
            chosen.add(at)
            room -= len(lines[at]) + 1
    return chosen


def _around(places: Sequence[int], end: int) -> Iterator[int]:
    """Yield the places around others, the nearest of each first."""
    for distance in range(1, _BEHIND + 1):
        for at in places:
            if at + distance < end:
                yield at + distance
            if distance <= _BEFORE and at >= distance:
                yield at - distance


def _ends(end: int) -> Iterator[int]:
    """Yield all places, from both ends."""
    head, tail = 0, end - 1
    while head <= tail:
        yield from range(head, min(head + _HEAD_FOR_TAIL, tail + 1))
        head += _HEAD_FOR_TAIL
        if head <= tail:
            yield tail
        tail -= 1


def _files(lines: Sequence[str]) -> dict[str, list[int]]:
    """Return {file: places of its matches, then of the lines beside those}; for a list of files {folder: places}."""
    import re

    match = re.compile(_MATCH).match
    files: dict[str, tuple[list[int], list[int]]] = {}
    for at, line in enumerate(lines):
        parts = match(line)
        file = (parts[1] or "")[:-1] if parts else line.rpartition("/")[0][:300]
        files.setdefault(file, ([], []))[parts is not None and parts[2] == "-"].append(at)
    return {file: matches + beside for file, (matches, beside) in files.items()}


def _round(files: Iterable[Sequence[int]]) -> Iterator[int]:
    """Yield the first of each, then the second of each, and so on."""
    left, turn = list(files), 0
    while left:
        for places in left:
            yield places[turn]
        turn += 1
        left = [places for places in left if turn < len(places)]


def _counts(files: dict[str, list[int]], kept: Collection[int]) -> str:
    """Return a text that says in which files most of the lines are that a search leaves out, in a tenth of their size."""
    counted = [(sum(at not in kept for at in places), file) for file, places in files.items() if file]
    counts, room = [], max(200, int(OUTLINE_SHARE * sum(count * len(file) for count, file in counted)))
    for count, file in sorted(counted, key=lambda pair: -pair[0]):
        room -= len(file) + 10
        if room < 0 or not count:
            break
        counts.append(f"{file} {count:,}")
    return "most of them in " + ", ".join(counts) if counts else ""


def _written(lines: Sequence[str], kept: Collection[int], marked: bool, about: str, handle: str) -> Excerpt:
    """Return the kept lines, a mark for each gap where that is wanted, and the notice."""
    out: list[str] = []
    hidden: list[str] = []
    at = 0
    while at < len(lines):
        gap = at
        while gap < len(lines) and gap not in kept:
            gap += 1
        if marked and sum(map(len, lines[at:gap])) + gap - at < _LEAST_GAP:
            out += lines[at:gap]
        elif gap > at:
            hidden += lines[at:gap]
            out += [f"[… {gap - at:,} line{'s' * (gap - at > 1)}]"] if marked else []
        out += lines[gap : gap + 1]
        at = gap + 1
    names = outline(("\n".join(hidden) + "\n")[:_NAMES_IN].rpartition("\n")[0])  # whole lines: no name is cut
    notes = [f"{_NOTICE}{len(hidden):,} of {len(lines):,} lines"]
    notes += [about] * bool(about) + [f"to see all: popkit restore {handle}"] * bool(handle) + [f"they name: {names}"] * bool(names)
    return Excerpt("\n".join([*out, "; ".join(notes) + "]"]), len(hidden))
