"""Recognise words that look random. Pure.

A word that was drawn by chance is known by how often its kind of character changes: a person's words run on (`getUserById2`, `2024-01-31`,
`base64`), those of a generator change at every second character. Hashes, ids of commits and UUIDs name things and open nothing: without a
word beside them that speaks of a secret they are left alone.
"""

from __future__ import annotations

_HEX = frozenset("0123456789abcdefABCDEF-")
# Alone: so many letters and digits in one run, and at most so many characters a change.
RANDOM_CHARS, _ALONE_RUN = 16, 2.7
# Beside a word that speaks of a secret less is enough.
_BESIDE_CHARS, _BESIDE_RUN = 8, 3.4
# Of base64 as a whole.
_ENCODED_RUN = 2.4
_DIGIT, _LOWER, _UPPER, _OTHER = range(4)
# What these begin is public: digests, public keys, ids of messages and of calls.
_PUBLIC = tuple(
    "sha1- sha256- sha384- sha512- sha1: sha256: sha512: md5- md5: h1: aaaa toolu_ msg_ req_ call_ ses_ prt_ prrt_ pr_ kwdo".split()
)
# No word is examined further than this: what is longer is text or data.
_MOST_WORD_CHARS = 400


def _kinds(word: str) -> list:
    return [
        _DIGIT if "0" <= char <= "9" else _LOWER if "a" <= char <= "z" else _UPPER if "A" <= char <= "Z" else _OTHER
        for char in word[:_MOST_WORD_CHARS]
        if char not in "_-."
    ]


def _changes(kinds: list) -> int:
    """Return the number of stretches of one kind; a capital and the small letters behind it are one."""
    count, last, capitals = 0, None, 0
    for kind in kinds:
        if kind != last and not (kind == _LOWER and capitals == 1):
            count += 1
        capitals = capitals + 1 if kind == _UPPER else 0
        last = kind
    return count


def is_hex(word: str) -> bool:
    return _HEX.issuperset(word)


def _is_random_alone(word: str) -> bool:
    """Return whether a word of letters and digits is a secret, whatever is around it."""
    if len(word) < RANDOM_CHARS or word.isalpha() or is_hex(word):
        return False
    kinds = _kinds(word)
    digits = kinds.count(_DIGIT)
    if not digits or digits == len(kinds) or _OTHER in kinds:
        return False
    if len(word) < 20 and not (_LOWER in kinds and _UPPER in kinds):
        return False
    return len(kinds) / _changes(kinds) <= _ALONE_RUN


def looks_random(word: str) -> bool:
    """Return whether a word is a secret where the words around it speak of one."""
    if (
        len(word) < _BESIDE_CHARS
        or word.isalpha()
        or word.isdigit()
        or "/" in word[:2]
        or "(" in word
        or "$" in word[:1]
        or word.startswith(_PUBLIC)
    ):
        return False
    if is_hex(word):
        return len(word) >= 16 and not word.isdigit() and not word.replace("-", "").isdigit()
    kinds = _kinds(word)
    if _DIGIT not in kinds or not (_LOWER in kinds or _UPPER in kinds) or kinds.count(_OTHER) > len(kinds) // 3:
        return False
    changes = _changes(kinds)
    return changes >= 4 and len(kinds) / changes <= _BESIDE_RUN


def may_hold_random(text: str) -> bool:
    """Return whether a word of a text may be a secret."""
    return any(len(word) >= _BESIDE_CHARS and not word.isalpha() and _may_be(word) for word in text.split())


def _may_be(word: str) -> bool:
    stripped = word.strip("\"'`;,.:()[]{}")
    return looks_random(stripped) or bool(random_runs(stripped))


def random_runs(word: str) -> list:
    """Return [(begin, end)] of the runs in a word that nobody types, with what is glued to them; a part of a path is none."""
    if len(word) < RANDOM_CHARS or word.isalpha() or is_file(word) or is_public(word):
        return []
    spans, at = [], 0
    for piece in word.split("="):  # NAME=VALUE; at the end of base64 it means nothing
        if len(piece) >= RANDOM_CHARS and not piece.isalpha() and not is_public(piece):
            spans += [(at + begin, at + end) for begin, end in _runs(piece)]
        at += len(piece) + 1
    return spans


def _runs(word: str) -> list:
    if _is_encoded(word) or _is_grouped(word):
        return [(0, len(word))]
    spans, at = [], 0
    while at < len(word):
        end = at
        while end < len(word) and word[end].isalnum():
            end += 1
        if end - at >= RANDOM_CHARS and word[at - 1 : at] != "/" and word[end : end + 1] != "/" and _is_random_alone(word[at:end]):
            while at and word[at - 1] in "-_+" and word[at - 2 : at - 1].isalnum():
                at -= 1
                while at and word[at - 1].isalnum():
                    at -= 1
            while end < len(word) and (word[end].isalnum() or word[end] in "-_+~"):
                end += 1
            spans.append((at, end))
        at = end + 1
    return spans


def _is_encoded(word: str) -> bool:
    """Return whether a word is base64 with slashes or plus signs: all of it changes as often as chance, which no path does."""
    letters = word.replace("/", "").replace("+", "").replace("_", "").replace("-", "")
    if len(letters) < 32 or word[0] in "/.~" or not letters.isalnum() or is_hex(letters):
        return False
    kinds = _kinds(letters)
    return {_DIGIT, _LOWER, _UPPER}.issubset(kinds) and len(kinds) / _changes(kinds) <= _ENCODED_RUN


def _is_grouped(word: str) -> bool:
    """Return whether a word is groups of capitals and digits with dashes between them, as licences and recovery keys are."""
    groups = word.split("-")
    if len(groups) < 4 or not word.isupper() or is_hex(word) or any(not 2 <= len(group) <= 8 or not group.isalnum() for group in groups):
        return False
    kinds = _kinds(word)
    return len(kinds) / _changes(kinds) <= _ALONE_RUN


def is_public(word: str) -> bool:
    return word.lower().startswith(_PUBLIC)


def is_file(word: str) -> bool:
    """Return whether a word ends like the name of a file."""
    ending = word.rpartition(".")[2]
    return len(ending) < len(word) and len(ending) <= 5 and (ending.isalpha() or ending[:2] in ("mp", "7z"))
