"""Split texts into terms.

A word is a run of letters and digits, `_` within it too; anything else between words (`/`, `.`, `-`, quotes) parts them, so a path
is its segments. A word made of several gives each of them and the whole without joints: `getUserName` and `get_user_name` both give get,
user, name and getusername. All is in small letters.
"""

from __future__ import annotations

import functools
import re
import unicodedata

# Longer words are data (base64, minified code); so are those with more humps, which count only as a whole.
LONGEST = 40
_MOST_HUMPS = 8
_SHORTEST, _SHORTEST_NUMBER = 2, 3  # line numbers and single letters distinguish nothing
_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Of languages that are written without spaces, each two neighbours are a term.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+)")


def terms_of(text: str) -> list[str]:
    """Return the terms of a text, each once, in the order of the alphabet. A term has letters and digits alone."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    all_terms: set[str] = set()
    for word in set(_WORD.findall(text)):
        all_terms.update(_of_word(word))
    return sorted(all_terms)


@functools.lru_cache(2_048)  # most words of a text have been seen before
def _of_word(word: str) -> set[str]:
    pieces = [piece for piece in word.split("_") if piece]
    parts: list[str] = []
    for piece in pieces:
        if piece.isascii():
            humps = _HUMP.findall(piece)
            parts += humps if len(humps) <= _MOST_HUMPS else ()
        else:
            parts += [term for run in _UNSPACED.split(piece) for term in _of_run(run)]
    if not _UNSPACED.search(word):
        parts.append("".join(pieces))
    return {term for part in parts if _is_distinctive(term := part.lower())}


def _of_run(run: str) -> list[str]:
    if len(run) > 2 and _UNSPACED.match(run):
        return [run[at : at + 2] for at in range(len(run) - 1)]
    return [run]


def _is_distinctive(term: str) -> bool:
    if len(term) > LONGEST or not term:
        return False
    if term.isascii():
        return len(term) >= (_SHORTEST_NUMBER if term.isdigit() else _SHORTEST)
    return len(term) >= _SHORTEST or _UNSPACED.match(term) is not None
