"""The tokenizer of the model of `popkit setup embeddings`: BERT's uncased WordPiece (Devlin et al., 2019). Text is never read as markup:
"[CLS]" in a text is always three ordinary tokens."""

from __future__ import annotations

import bz2
import os
import unicodedata
from functools import lru_cache
from itertools import count

# bert-base-uncased (Google, Apache License 2.0): a token a line, in the order of their ids, without those that are not used.
UNKNOWN, BEGIN, END = 100, 101, 102  # [UNK] [CLS] [SEP]
_UNUSED = (range(1, 100), range(104, 999))  # ids
VOCABULARY = os.path.join(os.path.dirname(__file__), "data", "wordpiece.txt.bz2")
LONGEST_WORD = 100  # characters; a longer one is unknown
_INSIDE = "##"  # how tokens begin that continue a word
# Each character of these ranges is a word.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)  # fmt: skip


def ids_of(text: str, most: int) -> list[int]:
    """Return the token ids of a text between those that mark its beginning and end, at most this many together; a text that is too long
    loses its end."""
    ids = [BEGIN]
    # A token has at least one character, except for characters that are left out; the slack is for these.
    for word in _words(text[: most * (LONGEST_WORD + 1)]):
        ids += _pieces(word)
        if len(ids) >= most:
            break
    return [*ids[: most - 1], END]


def _words(text: str) -> list[str]:
    """Return lower-case words without accents; punctuation and ideographs are words of their own."""
    if text.isascii():
        return "".join(map(_separated_ascii, text)).lower().split()
    stripped = (char for char in unicodedata.normalize("NFD", "".join(map(_separated, text))) if unicodedata.category(char) != "Mn")
    return "".join(f" {char} " if _is_punctuation(char) else char for char in "".join(stripped).lower()).split()


@lru_cache(maxsize=128)
def _separated_ascii(char: str) -> str:
    return f" {char} " if _is_punctuation(char) else _separated(char)


@lru_cache(maxsize=1 << 14)
def _separated(char: str) -> str:
    """Return a character with the blanks that separate it; "" for control characters and the like."""
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co"):
        return ""
    return f" {char} " if any(first <= ord(char) <= last for first, last in _IDEOGRAPHS) else char


def _is_punctuation(char: str) -> bool:
    """Return whether a character is punctuation, or one of those that ASCII has beside letters and digits ($, +, `, …)."""
    return unicodedata.category(char).startswith("P") or (char.isascii() and char.isprintable() and not char.isalnum() and char != " ")


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, int]:
    with bz2.open(VOCABULARY, "rt", encoding="utf-8") as file:
        tokens = [line[::-1] for line in file.read().splitlines()]  # written backwards they take less room
    ids = (id for id in count() if not any(id in unused for unused in _UNUSED))
    return dict(zip(tokens, ids))


@lru_cache(maxsize=1 << 15)
def _pieces(word: str) -> tuple[int, ...]:
    """Return the longest token that a word begins with, then the longest that continues it, and so on; UNKNOWN where there is none."""
    if len(word) > LONGEST_WORD:
        return (UNKNOWN,)
    known = _vocabulary()
    ids: list[int] = []
    at = 0
    while at < len(word):
        prefix = _INSIDE if at else ""
        end = next((end for end in range(len(word), at, -1) if prefix + word[at:end] in known), 0)
        if not end:
            return (UNKNOWN,)
        ids.append(known[prefix + word[at:end]])
        at = end
    return tuple(ids)
