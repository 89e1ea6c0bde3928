"""Find what a word of a request names: a result (`T12`, `12`, a tool_use id or a unique part of one), a pin, a profile."""

from __future__ import annotations

from .. import text
from ..errors import PopkitError
from ..policy import globs
from ..policy.ruleset import DEFAULT
from ..views import phrases
from ..views.report import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..views.shapes import Report, ResultRow

_NEAR = 5
# The shortest part of an id that is accepted: a shorter one could match by chance.
_LEAST = 4
GO_BACK = DEFAULT  # not a profile to choose, but the end of a choice
_PATTERN_CHARS = frozenset("/.*?[\\")


class ResultNotFound(PopkitError):
    """No result has that name, or more than one; the message says what to do."""


def number_of(word: str) -> int | None:
    """Return 12 for `T12`, `t12` and `12`."""
    digits = word[1:] if word[:1] in ("T", "t") else word
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None


def find_result(report: Report, word: str) -> ResultRow:
    """Return the row of a report that a word names; NotFound where there is none, or where it could be several."""
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
        raise ResultNotFound(f"{text.quote(word)} could be {which}. Give more of the id, or the number")
    raise ResultNotFound(_unknown(report, word, number))


def _unknown(report: Report, word: str, number: int | None) -> str:
    rows = report["results"]
    if not rows:
        return "there are no results in this context yet"
    if number is None:
        like = f"Give a number such as {phrases.number(rows[-1])}. The newest are {_names(rows)}"
        return f"no result has an id with {text.quote(word)} in it. {like}"
    near = sorted(rows, key=lambda row: (abs(row["number"] - number), row["number"]))[:_NEAR]
    near.sort(key=lambda row: row["number"])
    if 0 < number <= report["calls"]:
        return f"T{number} is out of the context (compacted). Near it: {_names(near)}"
    return f"there is no call T{number}. The newest is T{report['calls']}. Near it: {_names(near)}"


def _names(rows: list[ResultRow]) -> str:
    return text.listed([phrases.number(row) for row in rows[-_NEAR:]])


class UnknownName(PopkitError):
    """An unknown name; the message lists the known ones."""


def profile_target(name: str) -> str | None:
    """Return the profile that a name means for the session; None to go back to the configured one."""
    return None if name == GO_BACK else name


def pin_target(report: Report, word: str) -> str:
    """Return the id that a word names, or the word itself where it is a path pattern."""
    try:
        row = find_result(report, word)
        if row["state"] == "cleared":
            raise UnknownName(f"{phrases.number(row)} was cleared. To bring it back and hold it: restore {phrases.number(row)} --in-place")
        return row["id"]
    except ResultNotFound:
        if number_of(word) is not None or not word or len(word) > globs.LONGEST_PATTERN:
            raise
        if not _PATTERN_CHARS.isdisjoint(word) or matching(report, word):
            return word
        raise


def unpin_target(report: Report, word: str) -> str:
    """Return the pin that a word names: the pin itself, or that of a result."""
    pins = report["pins"]
    if word in pins:
        return word
    try:
        row = find_result(report, word)
    except ResultNotFound:
        like = [pin for pin in pins if word and word in pin]
        if len(like) == 1:
            return like[0]
        raise UnknownName(f"nothing is pinned as {text.quote(word)}. {_pinned(report)}") from None
    if row["id"] in pins:
        return row["id"]
    name = phrases.number(row)
    if not row["pinned_by"]:
        raise UnknownName(f"{name} is not pinned. {_pinned(report)}")
    if row["pinned_by"] in pins:
        raise UnknownName(f"{name} is held by the pattern {text.quote(row['pinned_by'])}. Unpin that instead")
    raise UnknownName(f"{name} is held by {text.quote(row['pinned_by'])} in the configuration. To see the files: popkit config path")


def _pinned(report: Report) -> str:
    names = {row["id"]: phrases.number(row) for row in report["results"]}
    pins = [names.get(pin) or text.quote(pin) for pin in report["pins"]]
    return "Pinned: " + text.listed(pins) if pins else "Nothing is pinned in this session"
