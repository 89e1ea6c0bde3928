"""The words of a text, as the shell would see them at any depth of quotes. Pure; in time that the text's length bounds."""

from __future__ import annotations

from .named import value_at

QUOTES = frozenset("\"'`")
# Everything that ends a word, as blanks: places stay as they are.
_BLANKS = str.maketrans(dict.fromkeys("\t\r\n\f\v\"'`|;&()<>", " "))
_BREAKS = frozenset("|;&\n")
_BLANKS_IN = frozenset(" \t\r\n\f\v\"'`")
# How many words of a command are looked at from one that promises a secret.
AHEAD = 24
# A quoted word without blanks is one word up to this length, whatever it holds.
_QUOTED_CHARS = 200


class Line:
    """The words of a text, each with its place, what stands between it and the word before, and whether a command begins with it."""

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
        """Return whether two words stand in one command."""
        return 0 <= other < len(self.words) and self.starts[number] == self.starts[other]

    def command(self, number: int) -> list[str]:
        """Return the first words of the command that a word belongs to, from that word on, in small letters."""
        most = min(len(self.words), number + AHEAD)
        return [self.words[other].lower() for other in range(number, most) if self.same(number, other)]


def _blank(text: str) -> str:
    """Return the text with a blank for all that stands between words."""
    text = text.replace('\\"', "  ").replace("\\'", "  ")
    pieces, at = [], 0
    while at < len(text):
        begin = min([place for quote in "'\"" if (place := text.find(quote, at, at + _QUOTED_CHARS)) >= 0], default=-1)
        if begin < 0:
            pieces.append(text[at : at + _QUOTED_CHARS].translate(_BLANKS))
            at += _QUOTED_CHARS
            continue
        end = text.find(text[begin], begin + 1, begin + _QUOTED_CHARS)
        inner = text[begin + 1 : end] if end >= 0 else ""
        is_word = inner[:1].isalnum() and _BLANKS_IN.isdisjoint(inner)
        stop = end if is_word else begin
        pieces += (text[at:begin].translate(_BLANKS), " ", inner + " " if is_word else "")
        at = stop + 1
    return "".join(pieces)
