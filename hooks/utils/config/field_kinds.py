"""The kinds of values that configuration keys have.

A field is a dict: `kind`, what that kind needs (`low` and `high`, `words`, `of`, `fields`, …), `about` in words for people, and `null`
where null is allowed (what it means, in words).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Field = dict[str, Any]  # see above

MOST_CALLS = 1_000_000
LONGEST_PATTERN = 256
LONGEST_TEXT = 2_000


def whole(low: int, high: int, about: str = "") -> Field:
    return {"kind": "whole", "low": low, "high": high, "about": about}


def number(low: float, high: float, meaning: str, about: str = "") -> Field:
    return {"kind": "number", "low": low, "high": high, "meaning": meaning, "about": about}


def address(schemes: tuple[str, ...], form: str, credentials: str) -> Field:
    """Return the kind of URLs with one of the schemes, or "". They name no user and no password, which come from `credentials`."""
    return {"kind": "address", "schemes": schemes, "form": form, "credentials": credentials, "longest": LONGEST_TEXT}


def word(*words: str) -> Field:
    return {"kind": "word", "words": words}


def listed(of: Field, items: str) -> Field:
    """Return the kind of lists; `items` names them in messages."""
    return {"kind": "list", "of": of, "what": items}


def keyed(of: Field, items: str) -> Field:
    """Return the kind of objects whose keys are patterns; `items` names them in messages."""
    return {"kind": "map", "key": PATTERN, "of": of, "what": items}


def record(name: str, fields: dict[str, Field], rule: str = "") -> Field:
    return {"kind": "record", "name": name, "fields": fields, "rule": rule}


def described(about: str, kind: Field, **more: object) -> Field:
    """Return a kind with its meaning for this key."""
    return {**kind, "about": about, **more}


FLAG = {"kind": "flag", "about": ""}
PATTERN = {"kind": "text", "shortest": 1, "longest": LONGEST_PATTERN}
PROSE = {"kind": "text", "shortest": 0, "longest": LONGEST_TEXT}
