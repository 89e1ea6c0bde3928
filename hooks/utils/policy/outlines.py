"""Outline a cleared result in a tenth of its size: the outcome of a run, the names of any other text. Pure.

Most of what is needed again of a result that has been quiet is a name: a path, an identifier, a version. The short ones come first, for of
them the most fit. Of a run it is how it went: its verdict, what failed and with which values; of one that a newer run has superseded the
verdict alone. The verdict of any other stays whatever its size, or an older run would have the last word.
"""

from __future__ import annotations

from . import kinds, secret_shapes
from .masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .context import Result

# Identifiers, paths, versions, addresses: long enough not to be chance.
NAME = r"[A-Za-z0-9_][A-Za-z0-9_\-./:@]{10,190}[A-Za-z0-9_]"
# What a path, a hidden file or a scope begins with belongs to it.
_BEGINNING = r"(?:~?\.{0,2}/)?[.@]?"
# What searches and traces write before a line: its file, its number (with a dash: a neighbour of what was found), and then what it says. A
# host's name with a port looks the same where nothing follows.
_FILE = r"[^:/]*\.[A-Za-z][A-Za-z0-9]{0,9}"
_LINE = rf"(?:([^:]*/{_FILE})[:-][0-9]+(?:[:-](.*))?|({_FILE}):[0-9]+:(.*))\Z"
# A word or two of plain language say nothing.
PLAIN = r"[A-Za-z][a-z]+(?:[-/.][A-Za-z]?[a-z]+)?\Z"
OUTLINE_SHARE = 0.1
# Shorter texts have none: 300 tokens.
LEAST_CHARS = 870
# All that an outline is made of: by that a placeholder is known again.
OUTLINE_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@~=<>! ")
# What a line of a run's output holds that tells of a failure or of its values, and how one begins that tells of a success.
_FAILURE_WORDS = (
    "FAIL", "not ok", "✕", "✗", "✖", "×", "●", "rror", "xpected", "eceived", "ctual", "assert", "panicked", "left:", "right:", "got:",
    "want:",
)  # fmt: skip
_PASSING = ("PASS", "ok ", "✓", "✔", "√", "--- PASS", "test result: ok")
_LINE_CHARS = 200
BETWEEN = " -- "
_NOT_AT_END = "-./:@"
SHORTEST_NAME, LONGEST_NAME = 12, 192  # characters of a name, as in NAME
_IN_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@~"
_BLANKED = bytes(code if code in _IN_NAMES else 32 for code in range(256))


class Findings:
    """The content of an outline: of a run's output the lines that show a failure (`failures`), secrets masked, and the `names` in the
    rest; of any other text its names. Names come once, the short ones first, as many as fit."""

    __slots__ = ("failures", "names")

    def __init__(self, names: Sequence[str], failures: Sequence[str] = ()) -> None:
        self.names = names
        self.failures = failures


def most_tokens(tokens: int) -> int:
    """Return the most tokens that the outline of a result of so many has."""
    return int(tokens * OUTLINE_SHARE) if tokens * 2.9 >= LEAST_CHARS else 0


def is_superseded(result: Result) -> bool:
    """Return whether a newer run of the same has had the word since."""
    return result.ended is not None and result.ended[0] == "superseded"


def verdict_line(result: Result) -> str:
    """Return the outcome of a run or an error, in a line that stays whatever its size; "" for anything else, and for superseded results."""
    if not kinds.of(result.kind).ends_in_verdict or is_superseded(result):
        return ""
    hidden = result.error or any(mark in line for line in result.subjects[:1] for mark in "|;")  # else the command's exit is the run's
    return _in_letters(result.verdict if hidden else f"exit 0: {result.verdict}".rstrip(": "))


def findings(text: str, is_run: bool) -> Findings:
    """Return what an outline of this text is made of; `is_run`: it is the output of a run."""
    if len(text) < LEAST_CHARS:
        return Findings([])  # there is no room for any
    bare, lines = secret_shapes.without(text), []
    if is_run:
        rest = [line for line in bare.splitlines() if not passes(line)]
        lines = [mask(line[:_LINE_CHARS]) for line in rest if is_failure_line(line)]
        bare = "\n".join(line for line in rest if not is_failure_line(line))
    return Findings(_fitting(_names(bare), _room(text)), lines)


def possible_names(texts: Iterable[str]) -> set[str]:
    """Return the words in texts that can be names, those of SHORTEST characters and more."""
    words = "\n".join(texts).encode("ascii", "replace").translate(_BLANKED).decode("ascii").split()
    names = {word for word in words if len(word) >= SHORTEST_NAME}
    numbered = [word for word in names if ":" in word or ("-" in word and "/" in word)]
    names.difference_update(numbered)
    for word in numbered:
        names.update(_without_number(word))
    return {name.rstrip(_NOT_AT_END) for name in names if len(name) >= SHORTEST_NAME}


def _without_number(word: str) -> list[str]:
    """Return the names in a word: where it is a file with the number of a line, the file and the beginning of what the line says."""
    import re

    found = re.match(_LINE, word)
    return [word] if found is None else [part for part in found.groups() if part]


def is_plain(word: str) -> bool:
    """Return whether a word is one of plain language, or a number: no name."""
    import re

    return word.isdigit() or re.match(PLAIN, word) is not None


def outline_of(result: Result, text: str) -> str:
    """Return what stays of a Result of this text, on one line; "" for nothing."""
    part = verdict_line(result)
    pieces = [part] if part else []
    if not kinds.is_run(result.kind):
        return BETWEEN.join(filter(None, [*pieces, " ".join(findings(text, False).names)]))
    room = _room(text)
    known = Findings([]) if is_superseded(result) else findings(text, True)
    for line in [result.verdict, *known.failures]:
        part = _in_letters(line)
        if part and not any(part in other for other in pieces) and len(part) + len(BETWEEN) <= room:
            pieces.append(part)
            room -= len(part) + len(BETWEEN)
    return BETWEEN.join(filter(None, [*pieces, " ".join(_fitting(known.names, room))]))


def _in_letters(line: str) -> str:
    return " ".join("".join(char if char in OUTLINE_CHARS else " " for char in line).split())


def passes(line: str) -> bool:
    """Return whether a line of a run's output tells of something that went well."""
    line = line.strip()
    return line.startswith(_PASSING) or line.endswith(("PASSED", " ok"))


def is_failure_line(line: str) -> bool:
    """Return whether a line shows a failure: its name, the expected value, the actual value."""
    return line.strip().startswith("E  ") or any(word in line for word in _FAILURE_WORDS)


def outline(text: str) -> str:
    """Return the names in a text, each once, in at most a tenth of its characters; "" for none."""
    return " ".join(findings(text, False).names)


def _room(text: str) -> int:
    """Return how many characters an outline of this text may have."""
    return int(len(text) * OUTLINE_SHARE) if len(text) >= LEAST_CHARS else 0


def _names(text: str) -> list[str]:
    """Return the names in a text, each once, by length."""
    import re

    if not text:
        return []
    plain = re.compile(PLAIN).match
    found = {match[0] + (":" if text[match.end() : match.end() + 1] == ":" else "") for match in re.finditer(_BEGINNING + NAME, text)}
    names = {part.rstrip(_NOT_AT_END) for word in found for part in _without_number(word)}
    return sorted([name for name in names if len(name) >= SHORTEST_NAME and not plain(name)], key=lambda name: (len(name), name))


def _fitting(names: Sequence[str], room: int) -> list[str]:
    """Return as many of the names, from the first, as fit into so many characters."""
    chosen = []
    for name in names:
        room -= len(name) + 1
        if room < 0:
            break
        chosen.append(name)
    return chosen
