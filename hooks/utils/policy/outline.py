"""What stays of a large result beside the notice that it was cleared: names that it held, in a tenth of its size. Pure.

Most of what is needed again of a result that has been quiet is a name: a path, an identifier, a version. The short ones come first, for of
them the most fit.
"""

from __future__ import annotations

from .masking import shapes

# Identifiers, paths, versions, addresses: long enough not to be chance.
NAME = r"[A-Za-z0-9_][A-Za-z0-9_\-./:@]{10,190}[A-Za-z0-9_]"
# What a path, a hidden file or a scope begins with belongs to it.
_BEGINNING = r"(?:~?\.{0,2}/)?[.@]?"
# A word or two of plain language say nothing.
PLAIN = r"[A-Za-z][a-z]+(?:[-/.][A-Za-z]?[a-z]+)?\Z"
SHARE = 0.1
# Shorter texts have none: 300 tokens.
LEAST_CHARS = 870


def most_tokens(tokens: int) -> int:
    """Tokens of the outline of a result of so many, at most."""
    return int(tokens * SHARE) if tokens * 2.9 >= LEAST_CHARS else 0


def outline(text: str) -> str:
    """The names in a text, each once, in at most a tenth of its characters; "" for none."""
    import re

    if len(text) < LEAST_CHARS:
        return ""
    plain = re.compile(PLAIN).match
    names = sorted(
        {name for name in re.findall(_BEGINNING + NAME, shapes.without(text)) if not plain(name)}, key=lambda name: (len(name), name)
    )
    room, kept = int(len(text) * SHARE), []
    for name in names:
        room -= len(name) + 1
        if room < 0:
            break
        kept.append(name)
    return " ".join(kept)
