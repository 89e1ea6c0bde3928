"""What stays of a large result beside the notice that it was cleared, in a tenth of its size. Pure.

Most of what is needed again of a result that has been quiet is a name: a path, an identifier, a version. The short ones come first, for of
them the most fit. Of a run it is how it went: its verdict, what failed and with which values; of one that a newer run has superseded the
verdict alone.
"""

from __future__ import annotations

from .masking import mask, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .context import Result

# Identifiers, paths, versions, addresses: long enough not to be chance.
NAME = r"[A-Za-z0-9_][A-Za-z0-9_\-./:@]{10,190}[A-Za-z0-9_]"
# What a path, a hidden file or a scope begins with belongs to it.
_BEGINNING = r"(?:~?\.{0,2}/)?[.@]?"
# A word or two of plain language say nothing.
PLAIN = r"[A-Za-z][a-z]+(?:[-/.][A-Za-z]?[a-z]+)?\Z"
SHARE = 0.1
# Shorter texts have none: 300 tokens.
LEAST_CHARS = 870
# All that an outline is made of: by that a placeholder is known again (placeholder.py).
CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@~=<>! ")
# What a line of a run's output holds that tells of a failure or of its values, and how one begins that tells of a success.
_TELLING = (
    "FAIL", "not ok", "✕", "✗", "✖", "×", "●", "rror", "xpected", "eceived", "ctual", "assert", "panicked", "left:", "right:", "got:",
    "want:",
)  # fmt: skip
_PASSING = ("PASS", "ok ", "✓", "✔", "√", "--- PASS", "test result: ok")
_LINE_CHARS = 200
_BETWEEN = " -- "


def most_tokens(tokens: int) -> int:
    """Tokens of the outline of a result of so many, at most."""
    return int(tokens * SHARE) if tokens * 2.9 >= LEAST_CHARS else 0


def outline_of(result: Result, text: str) -> str:
    """What stays of a Result of this text, on one line; "" for nothing."""
    if not result.kind.startswith("run"):
        return outline(text)
    room = int(len(text) * SHARE) if len(text) >= LEAST_CHARS else 0
    superseded = result.ended is not None and result.ended[0] == "superseded"
    rest = [] if superseded else [line for line in shapes.without(text).splitlines() if not passes(line)]
    kept: list[str] = []
    for line in [result.verdict, *(mask(line[:_LINE_CHARS]) for line in rest if tells(line))]:
        said = " ".join("".join(char if char in CHARS else " " for char in line).split())
        if said and not any(said in other for other in kept) and len(said) + len(_BETWEEN) <= room:
            kept.append(said)
            room -= len(said) + len(_BETWEEN)
    names = _names("\n".join(line for line in rest if not tells(line)), room)
    return _BETWEEN.join([*kept, names] if names else kept)


def passes(line: str) -> bool:
    """Whether a line of a run's output tells of something that went well."""
    line = line.strip()
    return line.startswith(_PASSING) or line.endswith(("PASSED", " ok"))


def tells(line: str) -> bool:
    """Whether it tells of a failure: what failed, what was expected, what came."""
    return line.strip().startswith("E  ") or any(word in line for word in _TELLING)


def outline(text: str) -> str:
    """The names in a text, each once, in at most a tenth of its characters; "" for none."""
    return _names(text, int(len(text) * SHARE)) if len(text) >= LEAST_CHARS else ""


def _names(text: str, room: int) -> str:
    import re

    plain = re.compile(PLAIN).match
    names = sorted(
        {name for name in re.findall(_BEGINNING + NAME, shapes.without(text)) if not plain(name)}, key=lambda name: (len(name), name)
    )
    kept = []
    for name in names:
        room -= len(name) + 1
        if room < 0:
            break
        kept.append(name)
    return " ".join(kept)
