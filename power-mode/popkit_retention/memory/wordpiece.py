"""Text -> token ids, as BERT's uncased models expect them (WordPiece; Devlin et al., 2019, and its reference tokenizer). Pure, but for the
vocabulary's file.

Text is never read as markup: "[CLS]" in a text is three ordinary tokens, whatever wrote it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from pathlib import Path

# bert-base-uncased (Google, Apache License 2.0): a token a line, its number is its id.
VOCABULARY = Path(__file__).parent / "data" / "wordpiece.txt"
UNKNOWN, BEGIN, END = 100, 101, 102  # [UNK] [CLS] [SEP]
LONGEST_WORD = 100  # characters; a longer one is unknown
_INSIDE = "##"  # how tokens begin that continue a word
# Of these each character is a word.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)  # fmt: skip


def ids_of(text: str, most: int) -> list[int]:
    """The ids of a text between those of its begin and its end, at most so many together; what is too long loses its end."""
    ids = [BEGIN]
    # A token has a character at least, but for those that are left out; the slack is for these.
    for word in _words(text[: most * (LONGEST_WORD + 1)]):
        ids += _pieces(word)
        if len(ids) >= most:
            break
    return [*ids[: most - 1], END]


def _words(text: str) -> list[str]:
    """Lower-case words without accents, punctuation and ideographs apart."""
    if text.isascii():
        return "".join(map(_ascii_as_said, text)).lower().split()
    stripped = (char for char in unicodedata.normalize("NFD", "".join(map(_as_said, text))) if unicodedata.category(char) != "Mn")
    return "".join(f" {char} " if _is_punctuation(char) else char for char in "".join(stripped).lower()).split()


@lru_cache(maxsize=128)
def _ascii_as_said(char: str) -> str:
    return f" {char} " if _is_punctuation(char) else _as_said(char)


@lru_cache(maxsize=1 << 14)
def _as_said(char: str) -> str:
    """A character with what separates it, nothing for one that says nothing."""
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co"):
        return ""
    return f" {char} " if any(first <= ord(char) <= last for first, last in _IDEOGRAPHS) else char


def _is_punctuation(char: str) -> bool:
    """Punctuation, and what ASCII has beside letters and digits ($, +, `, …)."""
    return unicodedata.category(char).startswith("P") or (char.isascii() and char.isprintable() and not char.isalnum() and char != " ")


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, int]:
    return {token: id for id, token in enumerate(VOCABULARY.read_text(encoding="utf-8").splitlines())}


@lru_cache(maxsize=1 << 15)
def _pieces(word: str) -> tuple[int, ...]:
    """The longest token that a word begins with, then the longest that continues it, and so on; unknown where there is none."""
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
