"""The types of arguments: how a word is read, which words would be right, what a shell can complete. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DIGITS = 18  # int() is slow for more


class Type:
    """The type of a value. `kind` names its row in the table below. `low` to `high`: bounds of a number, of a text's characters, of a
    list's entries (None: no bound). `known`: the words to choose from; `of`: the Type of a list's entries; `about`: what a model has to
    know beyond that."""

    __slots__ = ("about", "high", "kind", "known", "low", "of")

    def __init__(
        self, kind: str, low: int = 0, high: int | None = None, known: tuple[str, ...] = (), of: Type | None = None, about: str = ""
    ) -> None:  # fmt: skip
        self.kind = kind
        self.low = low
        self.high = high
        self.known = known
        self.of = of
        self.about = about

    def expected(self) -> str:
        """Return a description of the words that are accepted."""
        return _KINDS[self.kind][1](self)

    def read(self, word: str) -> Any:
        """Return the value of a word; ValueError for one that is not of this type."""
        return _KINDS[self.kind][0](self, word)


class Moment:
    """A point in time: `age` seconds from now, or `at` (seconds since the epoch). `word` is how the user wrote it."""

    __slots__ = ("age", "at", "word")

    def __init__(self, word: str, age: int = 0, at: float | None = None) -> None:
        self.word = word
        self.age = age
        self.at = at

    def ago(self, now: float) -> float:
        """Return it in seconds since the epoch; a duration counts back from `now`."""
        return max(0.0, now - self.age) if self.at is None else self.at

    def ahead(self, now: float) -> float:
        """Return it in seconds since the epoch; a duration counts on from `now`."""
        return now + self.age if self.at is None else self.at


def text(low: int, high: int) -> Type:
    """Return the type of texts of `low` to `high` characters."""
    return Type("text", low, high)


def whole(low: int = 1, high: int = 999_999_999) -> Type:
    """Return the type of whole numbers within bounds."""
    return Type("whole", low, high)


def choice(*known: str) -> Type:
    """Return the type of one of these words, however it is spelt."""
    return Type("choice", known=known)


def choices(*known: str) -> Type:
    """Return the type of several words with commas between them: of these, or any where none are given."""
    return Type("choices", known=known)


def several(of: Type, low: int, high: int) -> Type:
    """Return the type of lists, which only agents give."""
    return Type("list", low, high, of=of)


def _read_text(type: Type, word: str) -> str:
    if len(word) < type.low or (type.high is not None and len(word) > type.high):
        raise ValueError(word)
    return word


def _read_whole(type: Type, word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= _DIGITS and type.low <= int(word) <= (type.high or 0)):
        raise ValueError(word)
    return int(word)


def _read_choice(type: Type, word: str) -> str:
    for known in type.known:
        if known.lower() == word.lower():
            return known
    raise ValueError(word)


def _read_choices(type: Type, word: str) -> tuple[str, ...]:
    words = [each.strip() for each in word.split(",") if each.strip()]
    if not words:
        raise ValueError(word)
    return tuple(_read_choice(type, each) if type.known else each for each in words)


def _read_age(_type: Type, word: str) -> Moment:
    number, unit = word[:-1], word[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise ValueError(word)
    return Moment(word, age=int(number) * _UNITS[unit])


def _read_when(type: Type, word: str) -> Moment:
    try:
        return _read_age(type, word)
    except ValueError:
        from datetime import datetime, timezone

    try:
        at = datetime.fromisoformat(word[:-1] + "+00:00" if word.endswith(("Z", "z")) else word)
        return Moment(word, at=(at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp())
    except OverflowError:
        raise ValueError(word) from None


def _either(type: Type) -> str:
    words = [word.lower() for word in type.known]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


# kind -> (what reads a word, which words are right)
_KINDS = {
    "text": (_read_text, lambda of: "a text" if of.high is None else f"a text of {of.low:,} to {of.high:,} characters"),
    "whole": (_read_whole, lambda of: f"a whole number from {of.low:,} to {of.high:,}"),
    "choice": (_read_choice, _either),
    "choices": (_read_choices, lambda of: (_either(of) if of.known else "words") + ", several with commas"),
    "age": (_read_age, lambda _: "a whole number followed by s, m, h, d or w, such as 30d"),
    "when": (_read_when, lambda _: "a time such as 2h, 3d, 2026-02-21 or 2026-02-21T16:15"),
}
TEXT, AGE, WHEN = Type("text"), Type("age"), Type("when")
FILE = FOLDER = TEXT
