"""The types of arguments and flags: how a word is read, which words would be right, what a shell can complete. Pure.

`read` returns the value of a word and raises ValueError for one that is not of the type; `expected` says which are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DIGITS = 18  # int() takes longer for more than anybody means
FILE, FOLDER = "file", "folder"


class Type:
    """What all types have: the words that are `known`, and what a shell `completes` beyond these: FILE or FOLDER."""

    __slots__ = ()
    known: tuple[str, ...] = ()
    completes = ""

    def expected(self) -> str:
        """Return which words are right."""
        raise NotImplementedError

    def read(self, word: str) -> Any:
        """Return the value of a word; ValueError for one that is not of this type."""
        raise NotImplementedError


class Text(Type):
    """Text of `least` to `most` characters (None: any number of them). `completes`: FILE or FOLDER where it is the path of one."""

    __slots__ = ("completes", "least", "most")

    def __init__(self, least: int = 0, most: int | None = None, completes: str = "") -> None:
        self.least = least
        self.most = most
        self.completes = completes

    def expected(self) -> str:
        return "a text" if self.most is None else f"a text of {self.least:,} to {self.most:,} characters"

    def read(self, word: str) -> str:
        if len(word) < self.least or (self.most is not None and len(word) > self.most):
            raise ValueError(word)
        return word


class Whole(Type):
    """A whole number from `low` to `high`."""

    __slots__ = ("high", "low")

    def __init__(self, low: int = 1, high: int = 999_999_999) -> None:
        self.low = low
        self.high = high

    def expected(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"

    def read(self, word: str) -> int:
        if not (word.isascii() and word.isdigit() and len(word) <= _DIGITS and self.low <= int(word) <= self.high):
            raise ValueError(word)
        return int(word)


class Choice(Type):
    """One of the `known` words, however it is spelt."""

    __slots__ = ("known",)

    def __init__(self, *known: str) -> None:
        self.known = known

    def expected(self) -> str:
        words = [word.lower() for word in self.known]
        return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))

    def read(self, word: str) -> str:
        for each in self.known:
            if each.lower() == word.lower():
                return each
        raise ValueError(word)


class Choices(Type):
    """Several words with commas between them: of the `known` ones, or any where none are given."""

    __slots__ = ("known", "one")

    def __init__(self, *known: str) -> None:
        self.known = known
        self.one: Type = Choice(*known) if known else Text()

    def expected(self) -> str:
        return f"{self.one.expected() if self.known else 'words'}, several with commas"

    def read(self, word: str) -> tuple[str, ...]:
        words = tuple(self.one.read(each.strip()) for each in word.split(",") if each.strip())
        if not words:
            raise ValueError(word)
        return words


class Moment:
    """A point in time: `age` seconds from now, or `at` (seconds since the epoch). `word` is how the user wrote it."""

    __slots__ = ("age", "at", "word")

    def __init__(self, word: str, age: int = 0, at: float | None = None) -> None:
        self.word = word
        self.age = age
        self.at = at

    def ago(self, now: float) -> float:
        """Return it in seconds since the epoch, where a duration means so long ago."""
        return max(0.0, now - self.age) if self.at is None else self.at

    def ahead(self, now: float) -> float:
        """Return it in seconds since the epoch, where a duration means so far ahead."""
        return now + self.age if self.at is None else self.at


class Age(Type):
    """A duration: `90s`, `30m`, `2h`, `3d`, `1w`."""

    __slots__ = ()

    def expected(self) -> str:
        return "a whole number followed by s, m, h, d or w, such as 30d"

    def read(self, word: str) -> Moment:
        number, unit = word[:-1], word[-1:]
        if unit not in _UNITS or not (number.isascii() and number.isdigit() and len(number) < 10):
            raise ValueError(word)
        return Moment(word, age=int(number) * _UNITS[unit])


class When(Age):
    """A duration, or a date with or without a time, in UTC unless it says otherwise."""

    __slots__ = ()

    def expected(self) -> str:
        return "a time such as 2h, 3d, 2026-02-21 or 2026-02-21T16:15"

    def read(self, word: str) -> Moment:
        try:
            return super().read(word)
        except ValueError:
            from datetime import datetime, timezone

            try:
                at = datetime.fromisoformat(word[:-1] + "+00:00" if word.endswith(("Z", "z")) else word)
                return Moment(word, at=(at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp())
            except OverflowError:
                raise ValueError(word) from None
