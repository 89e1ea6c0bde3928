"""Recognise, in any text, the lines that PopKit puts into a context in place of what it leaves out of it: references, placeholders, stubs,
lists, notices. Pure.

A text that comes from outside may have such lines, too: they are marked when they enter, so that none can be taken for ours. And the model
may copy one of ours into a file, where it would stand for nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    class Stand(NamedTuple):
        """A line of ours in a text: `line` as it stands there · `what` it stands for, "" where only the archive tells · `handle` of the
        archived whole, "" where it names none · `refers`: it is a reference."""

        line: str
        what: str
        handle: str
        refers: bool

else:
    from collections import namedtuple

    Stand = namedtuple("Stand", "line what handle refers")

# What a text has that holds any of them: looked for before anything else.
SIGNS = ("[PopKit ", " as in your ", " as in the input of your ")
# Stands before what looks like one of ours and is not.
MARK = "[part of this result's text:] "
_RESTORE = "popkit restore "
# How each begins, whatever it says then: what nearly looks like one of ours is marked, too.
_BEGINS = (
    r"\[(?:(PopKit cleared |PopKit left out (?![0-9,.]+ of ))|PopKit left out "
    r"|(?:lines? [0-9,.]{1,12} ?[–-] ?[0-9,.]{1,12}|[0-9,.]{1,12} lines?) as in (?:the input of )?your )"
)
_HANDLE = r"([a-z2-7]{8,51})"
_CLEARED = rf"\[PopKit cleared (.+) \([^()]+\)\. To see it: popkit restore {_HANDLE}\]"
_LEFT_OUT = rf"\[PopKit left out (.+)(?:: |; to see all: )popkit restore {_HANDLE}(?:; they name: [^\]]*)?\]"
_REFERENCE = (
    r"\[((?:lines [0-9]+–[0-9]+|[0-9]+ lines) as in (?:the input of )?your [^\[\]\n]+ above[^\[\]«»\n]*: from «[^«»\n]*» to «[^«»\n]*»)"
    rf"(?:; to see all: popkit restore {_HANDLE})?\]"
)
_MOST_CHARS = 20_000  # of a line of ours; a list with the names that it holds is the longest


def may_hold(text: str) -> bool:
    """Return whether it is worth a closer look."""
    return any(sign in text for sign in SIGNS)


def marked(text: str) -> tuple[str, int]:
    """Return the text with a mark before each part that looks like a line of ours, and how many there are. Who takes the mark before each
    away again has the text: a mark that was there already gets another."""
    if not may_hold(text):
        return text, 0
    lines, count = text.split("\n"), 0
    for at, line in enumerate(lines):
        places = _beginnings(line) if may_hold(line) else []
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


def found_in(text: str) -> Iterator[Stand]:
    """Yield what exactly has the form of a line of ours, wherever it stands in the text. One that is marked is not ours."""
    if not may_hold(text):
        return
    import re

    for match in re.finditer(_REFERENCE, text):
        if not _is_marked(text, match.start()):
            yield Stand(match[0], match[1].partition(" as in ")[0], match[2] or "", True)
    at = text.find(_RESTORE)
    while at >= 0:
        begin, end = text.rfind("[PopKit ", max(0, at - _MOST_CHARS), at), text.find("]", at, at + _MOST_CHARS) + 1
        line = text[begin:end] if begin >= 0 and end > 0 else ""
        found = re.fullmatch(_CLEARED, line) or re.fullmatch(_LEFT_OUT, line)
        if found and not _is_marked(text, begin):
            yield Stand(line, found[1].removesuffix("; to see all"), found[2], False)
        at = text.find(_RESTORE, at + 1)


def _is_marked(text: str, at: int) -> bool:
    return text.endswith(MARK, 0, at)


def reference_in(line: str) -> str:
    """Return what a line that is a reference of ours says, without the handle that only one of a result names; "" for any other line."""
    import re

    match = re.fullmatch(_REFERENCE, line)
    return match[1] if match else ""
