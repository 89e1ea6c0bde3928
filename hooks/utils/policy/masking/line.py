"""The words of a text, as the shell would see them at any depth of quotes. Pure; in time that the text's length bounds."""

from __future__ import annotations

QUOTES = frozenset("\"'`")
# Everything that ends a word, as blanks: places stay as they are.
_BLANKS = str.maketrans(dict.fromkeys("\t\r\n\f\v\"'`|;&()<>", " "))
_BREAKS = frozenset("|;&\n")
_BLANKS_IN = frozenset(" \t\r\n\f\v\"'`")
# How many words of a command are examined from one that promises a secret.
AHEAD = 24
# What ends a bare word.
_STOPS = " \t\r\n\"'&;|)<>"
# An apostrophe between what is in single quotes.
_APOSTROPHE = """"'"'"""
# A quoted word without blanks is one word up to this length, whatever it holds.
_QUOTED_CHARS = 200


class Line:
    """The words of a text, each with its place, what is between it and the word before, and whether a command begins with it."""

    def __init__(self, text: str):
        self.text = text
        self.words: list[str] = []
        self.begins: list[int] = []
        self.gaps: list[str] = []
        self.starts: list[int] = []
        at = end = 0
        start = 0
        blank = _blank(text)
        for word in blank.split():
            at = blank.index(word, end)
            gap = text[end:at]
            if not _BREAKS.isdisjoint(gap):
                start = len(self.words)
            self.words.append(word)
            self.begins.append(at)
            self.gaps.append(gap)
            self.starts.append(start)  # number of the word that its command begins with
            end = at + len(word)

    def value(self, number: int) -> tuple[int, int]:
        """Return (begin, end) of the value that begins with a word: with the quotes around it, or as the shell would take it."""
        at = self.begins[number]
        gap = self.gaps[number]
        if gap[-1:] in QUOTES:
            at -= 2 if gap[-2:-1] == "\\" else 1
        return value_at(self.text, at)

    def rest(self, number: int, skip: int) -> tuple[int, int]:
        """Return (begin, end) of a value that is glued to the beginning of a word."""
        at = self.begins[number] + skip
        return value_at(self.text, at)

    def same(self, number: int, other: int) -> bool:
        """Return whether two words belong to one command."""
        return 0 <= other < len(self.words) and self.starts[number] == self.starts[other]

    def command(self, number: int) -> list[str]:
        """Return the first words of the command that a word belongs to, from that word on, in small letters."""
        most = min(len(self.words), number + AHEAD)
        return [self.words[other].lower() for other in range(number, most) if self.same(number, other)]


def _blank(text: str) -> str:
    """Return the text with a blank for everything between words."""
    text = text.replace('\\"', "  ").replace("\\'", "  ")
    pieces, at = [], 0
    while at < len(text):
        begin = min([place for quote in "'\"" if (place := text.find(quote, at, at + _QUOTED_CHARS)) != -1], default=-1)
        if begin == -1:
            pieces.append(text[at : at + _QUOTED_CHARS].translate(_BLANKS))
            at += _QUOTED_CHARS
            continue
        end = text.find(text[begin], begin + 1, begin + _QUOTED_CHARS)
        inner = text[begin + 1 : end] if end != -1 else ""
        is_word = inner[:1].isalnum() and _BLANKS_IN.isdisjoint(inner)
        stop = end if is_word else begin
        pieces += (text[at:begin].translate(_BLANKS), " ", inner + " " if is_word else "")
        at = stop + 1
    return "".join(pieces)


def value_at(text: str, at: int, is_member: bool = False) -> tuple[int, int]:
    """Return (begin, end) of the value at a place: a shell word, or a member of an object, whose quotes stay. Empty for a variable."""
    first = text[at : at + 1]
    if first in ("'", '"'):
        return _quoted(text, at, is_member)
    if first == "$" and is_variable(text[at + 1 : at + 2]):
        return at, at
    begin = at
    while text[begin : begin + 1] == "\\":
        begin += 1
    if begin > at and text[begin : begin + 1] in ("'", '"'):  # an object inside a quoted word
        if text[begin + 1 : begin + 2] == "$" and text[begin + 2 : begin + 3].isupper():
            return at, at
        end = text.find(text[at : begin + 1], begin + 1)
        return begin + 1, end if end != -1 else len(text)
    return at, _word_end(text, at, is_member)


def is_variable(following: str) -> bool:
    return following.isalpha() or following in ("(", "{", "_")


def _quoted(text: str, at: int, is_member: bool) -> tuple[int, int]:
    """Return (begin, end) of what is in quotes; empty when the quote closes one that was opened before the name, or holds a
    variable."""
    quote = text[at]
    end = at + 1
    while end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" and quote == '"' else 1
    following = text[at + 1 : at + 2]
    if not following or following in " \t\n;&|)," or (following in "'\"" and end >= len(text)):
        return at, at
    named = text[at + 2 : at + 3]
    if following == "$" and quote == '"' and is_variable(named) and (not is_member or not named.islower()):
        return at, at
    if is_member or (text[end + 1 : end + 2] in _STOPS and not text.startswith(_APOSTROPHE, end + 1)):
        return at + 1, min(end, len(text))
    return at, _word_end(text, end + 1, is_member)  # the shell joins it with what follows


def _word_end(text: str, at: int, is_member: bool) -> int:
    """Return the end of a bare word, with what is quoted inside it."""
    end, depth = at, 0
    while end < len(text):
        char = text[end]
        if char == "\\":
            end += 2
        elif char in "'\"":
            closing = text.find(char, end + 1)
            inner = text[end + 1 : closing]
            if closing == -1 or not inner or inner != "".join(inner.split()):
                break
            end = closing + 1
        elif char == ")" and depth > 0:
            depth -= 1
            end += 1
        elif char in _STOPS or (is_member and char in ",}]"):
            break
        else:
            depth += char == "("
            end += 1
    return min(end, len(text))
