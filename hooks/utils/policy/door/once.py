"""A result's text with what the context already shows said as a reference to it. Pure.

Of a run of lines the first and the last stay, with their numbers; between them one line names what shows the others and the words with
which they begin and end. What the host adds to a result for the model (a reminder) is never part of a run.
"""

from __future__ import annotations

from .numbered import listed
from .shown import Shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from .shown import Run

    class Said(NamedTuple):
        """`text` as it enters · `leans_on`: ids of what references name, in order · `lines`: how many are left out."""

        text: str
        leans_on: tuple[str, ...]
        lines: int

else:
    from collections import namedtuple

    Said = namedtuple("Said", "text leans_on lines")

# A reference that is hardly shorter than what it stands for is one more thing to follow.
_LEAST_SAVED_CHARS = 40
_WORDS_CHARS = 32
# With this the host begins what it adds to a result for the model.
REMINDER = "<system-reminder>"


def lines_of(text: str) -> list[str]:
    """The lines that a text shows, without the numbers of a listing, up to what the host adds for the model."""
    return listed(_own(text))[0]


def _own(text: str) -> list[str]:
    """The lines of a text up to what the host adds for the model, and the empty lines before that."""
    said, added, _ = text.partition(REMINDER)
    return (said.rstrip("\r\n") if added else said).split("\n")


def say_once(text: str, shown: Shown, path: str = "") -> Said:
    """The text with runs that `shown` has as references. `path`: only what was read of that file counts."""
    lines, stretches = listed(_own(text))
    whole = text.split("\n")
    pieces: list[str] = []
    leans_on: dict[str, None] = {}
    at = left_out = 0
    for run in shown.runs(lines, path, stretches):
        reference = _reference(lines, run)
        first, last = run.begin + 1, run.end - 1
        if sum(map(len, whole[first:last])) + last - first < len(reference) + _LEAST_SAVED_CHARS:
            continue
        pieces += [*whole[at:first], reference]
        leans_on[run.source.id] = None
        left_out += last - first
        at = last
    return Said("\n".join([*pieces, *whole[at:]]), tuple(leans_on), left_out)


def _reference(lines: list[str], run: Run) -> str:
    hidden = lines[run.begin + 1 : run.end - 1]
    spoken = [line for line in hidden if line.strip()] or [""]
    return f"[{len(hidden)} lines as in {_plain(run.source.name)}: from «{_words(spoken[0])}» to «{_words(spoken[-1])}»]"


def _words(line: str) -> str:
    """The first words of a line."""
    line = _plain(line)
    if len(line) <= _WORDS_CHARS:
        return line
    return line[:_WORDS_CHARS].rpartition(" ")[0] or line[:_WORDS_CHARS]


def _plain(text: str) -> str:
    """A text in one line, without what moves a terminal's cursor or cannot be written."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
