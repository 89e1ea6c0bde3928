"""Text as a terminal shows it: columns, cutting, wrapping. Pure.

Views return lines; the skin that shows them lays them out in its width (`laid_out`). Labels and verdicts come from commands and their
output, so they are hostile: everything shown goes through `clean`.
"""

from __future__ import annotations

import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Union

    # A line of a view: itself, or a function from a number of columns to the lines that it becomes there.
    Line = Union[str, Callable[[int], list[str]]]

WIDTH = 70  # of a terminal of 80 columns, Claude Code keeps 10 for itself
NARROWEST, WIDEST = 40, 110  # longer lines are hard to read
_LEAST_BESIDE = 24
ELLIPSIS = "…"
ASIDE = 10  # columns of the left column of pairs
# Combining marks that a letter may have; more would only reach into the lines above.
_MARKS = 2
# Categories that must not reach a terminal: controls, formats (bidi overrides, joiners), surrogates, unassigned code points, frames
# around letters.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Me"))
_EMOJI_STYLE = "\ufe0f"  # makes some terminals draw the letter before it two columns wide
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"}


def clean(text: object) -> str:
    """Return the text on one line, without anything that moves the cursor, hides or reorders letters."""
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    chars: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", "".join(map(_seen, text))):
        marks = marks + 1 if unicodedata.category(char) == "Mn" else 0
        if marks <= _MARKS and (chars or not marks):
            chars.append(char)
    return "".join(chars)


def _seen(char: str) -> str:
    """Return the character itself if it may be shown, else something in its place, or ""."""
    category = unicodedata.category(char)
    if char in "\t\n\r" or category in ("Zl", "Zp", "Zs"):
        return " "
    if category == "Co":
        return "?"
    return "" if category in _UNSEEN or char == _EMOJI_STYLE else char


def visible(line: str) -> str:
    """Return a line of a content, all of it; what would move the cursor, hide or reorder letters is escaped."""
    if line.isascii() and line.isprintable():
        return line
    return "".join([char if _is_harmless(char) else char.encode("unicode_escape").decode("ascii") for char in line])


def without_controls(text: str) -> str:
    """Return a text in which control characters other than tabs and line ends are escaped."""
    return text.translate(_CONTROLS)


def _is_harmless(char: str) -> bool:
    return char == "\t" or char.isprintable() or unicodedata.category(char) == "Zs"


def width(text: str) -> int:
    """Return the number of columns of a clean text."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.category(char) == "Mn" else 1


def cut(text: str, columns: int) -> str:
    """Return the beginning of a text, at most `columns` wide, with an ellipsis where something is left out."""
    if width(text) <= columns:
        return text
    return _beginning(text, columns - 1).rstrip() + ELLIPSIS if columns > 0 else ""


def cut_start(text: str, columns: int) -> str:
    """Return the end of a text, at most `columns` wide: the end of a path says more."""
    if width(text) <= columns:
        return text
    if columns <= 0:
        return ""
    end = _beginning(text[::-1], columns - 1)[::-1]
    while end and _columns(end[0]) == 0:
        end = end[1:]
    return ELLIPSIS + end.lstrip()


def _beginning(text: str, columns: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += _columns(char)
        if used > columns:
            return text[:at]
    return text


def pad(text: str, columns: int) -> str:
    """Return the text exactly `columns` wide, cut or padded."""
    text = cut(text, columns)
    return text + " " * (columns - width(text))


def width_of(columns: int) -> int:
    """Return how wide lines may be where there are `columns` of them: a shell may have more than Claude Code gives, or fewer."""
    return max(NARROWEST, min(WIDEST, columns))


def laid_out(lines: Iterable[Line], width: int = WIDTH) -> list[str]:
    """Return the lines of a view, laid out in `width` columns. A plain text is drawn for WIDTH columns: where there are fewer, it goes on
    below."""
    return [each for line in lines for each in (_folded(line, width) if isinstance(line, str) else line(width))]


def _folded(line: str, columns: int) -> list[str]:
    if columns >= WIDTH or width(line) <= columns:
        return [line]
    return wrapped(line, columns, " " * (len(line) - len(line.lstrip())) + "  ")


def whole(*lines: str) -> Line:
    """Return lines that stay as they are in any width: contents, and commands to copy. A terminal breaks them itself."""
    return lambda _columns: list(lines)


def wrapped(text: str, columns: int, indent: str = "") -> list[str]:
    """Return lines of at most `columns` columns; those after the first begin with the indent, the first with the blanks that the text
    begins with, but neither with more than half of the columns. A word that is too long is cut up."""
    text, indent = clean(text), indent[: columns // 2]
    lines: list[str] = []
    line, fresh = text[: len(text) - len(text.lstrip())][: columns // 2], True
    for word in text.split():
        if not fresh and width(line) + 1 + width(word) > columns:
            lines.append(line)
            line, fresh = indent, True
        while fresh and width(line) + width(word) > columns:
            head = _beginning(word, columns - width(line)) or word[0]
            lines.append(line + head)
            line, word = indent, word[len(head) :]
        line += word if fresh else " " + word
        fresh = False
    return [*lines, line.rstrip()]


def wrap(text: str, indent: str = "") -> list[Line]:
    """Return a paragraph; see `wrapped`."""
    return [lambda columns: wrapped(text, columns, indent)]


def pair(name: str, content: str, aside: int = ASIDE) -> list[Line]:
    """Return a paragraph in a column of its own, with a name in the `aside` columns on the left of its first line."""

    def lines(columns: int) -> list[str]:
        first, *more = wrapped(content, columns - aside)
        return [f"{pad(name, aside)}{first}".rstrip(), *(" " * aside + line for line in more)]

    return [lines]


def entry(name: str, content: str, aside: int) -> list[Line]:
    """Return a paragraph beside its name, in a column that begins behind `aside` columns; below a name that is too long for that, and
    further left where so little room is beside the names that words would be cut up."""

    def lines(columns: int) -> list[str]:
        indent = aside if columns - aside >= _LEAST_BESIDE else len(name) - len(name.lstrip()) + 4
        if indent == aside and width(name) < aside:
            return laid_out(pair(name, content, aside), columns)
        return [*_folded(name, columns), *wrapped(" " * indent + clean(content), columns, " " * indent)]

    return [lines]


def fitted(line: str) -> Line:
    """Return a line that is cut where it does not fit."""
    return lambda columns: [cut(line, columns).rstrip()]


def folded(line: str, indent: str) -> list[Line]:
    """Return a line unchanged where it fits, else as a paragraph."""
    return [lambda columns: wrapped(line, columns, indent) if width(line) > columns else [line]]


def indented(lines: Iterable[Line], indent: str) -> list[Line]:
    """Return lines behind an indent."""
    return [lambda columns: [indent + line for line in laid_out(lines, columns - len(indent))]]


def heading(text: str, columns: int) -> list[str]:
    """Return a text cut to `columns`, with a rule below it."""
    text = cut(clean(text), columns)
    return [text, "─" * width(text)]


def title(text: str) -> list[Line]:
    """Return the head of an answer: it begins with an empty line, because the client writes a text of its own on that line."""
    return ["", lambda columns: heading(text, columns)]


def beginning(items: Sequence, most: int) -> tuple[Sequence, int]:
    """Return (the items that a list shows, how many it leaves out): at most `most`, and one more where its line would say "1 more"."""
    shown = items if len(items) <= most + 1 else items[:most]
    return shown, len(items) - len(shown)


def enumerated(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def listed(words: list, most: int = 8) -> str:
    """Return `a, b, c and 4 more`."""
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most} more"


def quote(word: str) -> str:
    """Return a word of the user's as an answer repeats it."""
    return '"' + cut(clean(word), 40) + '"'


def as_json(data: object) -> str:
    """Return JSON in ASCII, so that nothing in it moves a terminal's cursor."""
    import json

    return json.dumps(data, indent=2)
