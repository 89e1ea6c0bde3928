"""Recognise PopKit's own lines in any text: references, placeholders, stubs, lists, notices. Pure.

A text that comes from outside may have such lines, too: they are marked when they enter, so that none can be taken for ours. And the model
may copy one of ours into a file, where it would stand for nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NamedTuple

    class OwnLine(NamedTuple):
        """A line of ours in a text: `line` as it stands there · `says`: what is in its brackets, without the handle that only one of a
        result's lines names · `what` it stands for · `of_result`: that is only a part of a result · `handle` of what is archived, "" where
        it names none."""

        line: str
        says: str
        what: str
        of_result: bool
        handle: str

else:
    from collections import namedtuple

    OwnLine = namedtuple("OwnLine", "line says what of_result handle")

# What a text has that holds any of them: looked for before anything else. The registered line of the hook looks for the same.
SIGNS = ("popkit restore ", " as in your ", " as in the input of your ", " in a row]", " lines]", " line]", "[part of this result")
_NOTICES = "[PopKit left out "
# Stands before what looks like one of ours and is not.
MARK = "[part of this result's text:] "
_RESTORE = "popkit restore "
# How each begins, whatever it says then: what nearly looks like one of ours is marked, too.
_BEGINS = (
    r"\[(?:(PopKit cleared |PopKit left out (?![0-9,.]+ of ))|PopKit left out "
    r"|(?:lines? [0-9,.]{1,12} ?[–-] ?[0-9,.]{1,12}|[0-9,.]{1,12}(?: added| removed| unchanged)? lines?) as in (?:the input of )?your )"
)
_HANDLE = r"([a-z2-7]{8,51})"
_CLEARED = rf"\[PopKit cleared (.+) \([^()]+\)\. To see it: popkit restore {_HANDLE}\]"
_LISTED = rf"\[PopKit left out (.+): popkit restore {_HANDLE}\]"
_NOTICE = rf"\[PopKit left out ([0-9,]+ of [0-9,]+ lines)(?:; [^\]]+)?; to see all: popkit restore {_HANDLE}(?:; they name: [^\]]*)?\]"
# What names no handle, or not always.
_REFERENCE = (
    r"\[((?:lines [0-9]+–[0-9]+|[0-9]+(?: added| removed| unchanged)? lines) as in (?:the input of )?your"
    r" [^\[\]\n]{1,400}? above[^\[\]«»\n]{0,200}"
    r": from «[^«»\n]*» to «[^«»\n]*»"
    r"|the line above stands [0-9]+ times? in a row|… [0-9,]+ lines?)"
    rf"(?:; to see all: popkit restore {_HANDLE})?\]"
)
_MOST_CHARS = 20_000  # of a line of ours; a list with the names that it holds is the longest


def may_hold(text: str) -> bool:
    """Return whether it is worth a closer look for lines of ours."""
    return any(sign in text for sign in SIGNS)


def may_look_like_one(text: str) -> bool:
    """Return whether it is worth a closer look for parts to mark. Counts have a guard of their own: the line before one has its own."""
    return _NOTICES in text or any(sign in text for sign in SIGNS[:3])


def marked(text: str) -> tuple[str, int]:
    """Return the text with a mark before each part that looks like a line of ours, and how many there are. Who takes the mark before each
    away again has the text: a mark that was there already gets another."""
    if not may_look_like_one(text):
        return text, 0
    lines, count = text.split("\n"), 0
    for at, line in enumerate(lines):
        places = _beginnings(line) if may_look_like_one(line) else []
        if places:
            pieces = [line[begin:end] for begin, end in zip([0, *places], [*places, len(line)])]
            lines[at] = MARK.join(pieces)
            count += len(places)
    return "\n".join(lines), count


def _beginnings(line: str) -> list[int]:
    """Return where something in a line begins that looks like one of ours."""
    import re

    named = line.rfind(_RESTORE)
    return [match.start() for match in re.finditer(_BEGINS, line) if not match[1] or match.start() < named]


def found_in(text: str) -> Iterator[OwnLine]:
    """Yield what exactly has the form of a line of ours, wherever it stands in the text. One that is marked is not ours."""
    if not may_hold(text):
        return
    import re

    for match in re.finditer(_REFERENCE, text):
        if not _is_marked(text, match.start()):
            yield OwnLine(match[0], match[1], _in_words(match[1]), True, match[2] or "")
    at = text.find(_RESTORE)
    while at != -1:
        begin, end = text.rfind("[PopKit ", max(0, at - _MOST_CHARS), at), text.find("]", at, at + _MOST_CHARS) + 1
        line = text[begin:end]
        notice = re.fullmatch(_NOTICE, line)
        found = notice or re.fullmatch(_CLEARED, line) or re.fullmatch(_LISTED, line)
        if found and not _is_marked(text, begin):
            yield OwnLine(line, line[1:-1], found[1], bool(notice), found[2])
        at = text.find(_RESTORE, at + 1)


def marked_in(text: str) -> Iterator[str]:
    """Yield the lines of a text that have our mark before a part that looks like one of ours."""
    for line in text.split("\n") if MARK in text else ():
        if any(_is_marked(line, at) for at in _beginnings(line)):
            yield line


def _in_words(says: str) -> str:
    """Return what a reference, a count or a gap stands for."""
    times = says.removeprefix("the line above stands ").partition(" ")[0]
    return f"{times} equal lines" if says.startswith("the line above ") else says.removeprefix("… ").partition(" as in ")[0]


def _is_marked(text: str, at: int) -> bool:
    return text.endswith(MARK, 0, at)


def holds(lines: Iterable[str], own_line: OwnLine) -> bool:
    """Return whether the lines of a text hold a line of ours, with a handle or without."""
    beginning = "[" + own_line.says
    return any(line.startswith(beginning) and line[len(beginning) : len(beginning) + 1] in ("]", ";") for line in lines)
