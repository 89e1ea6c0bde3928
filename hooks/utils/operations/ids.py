"""Which results a person means: `T12`, `12`, a tool_use id or a unique part of one, a path pattern. Pure."""

from __future__ import annotations

from .. import text
from ..policy import globs
from ..views import phrases

_NEAR = 5
# Of a part of an id so many letters must be given: less is chance.
_LEAST = 4


class NotFound(Exception):
    """No result, or more than one, goes by that name; the message says what to do."""


def number_of(word: str) -> int | None:
    """12 for `T12`, `t12` and `12`."""
    digits = word[1:] if word[:1] in ("T", "t") else word
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None


def find(report: dict, word: str) -> dict:
    """The row of a report that a word names; NotFound where there is none, or where it could be several."""
    rows = report["results"]
    number = number_of(word)
    if number is not None:
        for row in rows:
            if row["number"] == number:
                return row
    exact = [row for row in rows if row["id"] == word]
    like = exact or ([row for row in rows if word in row["id"]] if len(word) >= _LEAST else [])
    if len(like) == 1:
        return like[0]
    if like:
        which = _names(like) if len(like) <= _NEAR else f"{len(like)} results, the newest {_names(like)}"
        raise NotFound(f"{shown(word)} could be {which}. Give more of the id, or the number")
    raise NotFound(_unknown(report, word, number))


def matching(report: dict, pattern: str) -> list:
    """The rows that a path pattern holds."""
    return [row for row in report["results"] if any(globs.matches(pattern, subject) for subject in row["subjects"])]


def _unknown(report: dict, word: str, number: int | None) -> str:
    rows = report["results"]
    if not rows:
        return "there are no results in this context yet"
    if number is None:
        return (
            f"no result has an id with {shown(word)} in it. Give a number such as {phrases.number(rows[-1])}. The newest are {_names(rows)}"
        )
    near = sorted(rows, key=lambda row: (abs(row["number"] - number), row["number"]))[:_NEAR]
    near.sort(key=lambda row: row["number"])
    if 0 < number <= report["calls"]:
        return f"T{number} is out of the context (compacted). Near it: {_names(near)}"
    return f"there is no call T{number}. The newest is T{report['calls']}. Near it: {_names(near)}"


def _names(rows: list) -> str:
    return text.listed([phrases.number(row) for row in rows[-_NEAR:]])


def shown(word: str) -> str:
    """A word of the user's, as an answer repeats it."""
    return '"' + text.cut(text.clean(word), 40) + '"'
