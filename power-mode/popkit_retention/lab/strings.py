"""Strings by which a miss is noticed: what the assistant writes and only a result held. Pure."""

from __future__ import annotations

import re

from hooks.utils.policy.outline import NAME, PLAIN

_NAME, _PLAIN = re.compile(NAME), re.compile(PLAIN)
_LINE_NUMBER = re.compile(r"\s*\d+(?:→|\t)")
_SHORTEST_LINE, _LONGEST_LINE = 20, 400


def strings_of(text: str) -> set:
    """The names in a text, and its stripped lines of 20 to 400 characters without their line-number prefix."""
    found = {name for name in _NAME.findall(text) if not _PLAIN.match(name)}
    for line in text.split("\n"):
        if len(line) >= _SHORTEST_LINE:
            numbered = _LINE_NUMBER.match(line)
            line = (line[numbered.end() :] if numbered else line).strip()
            if _SHORTEST_LINE <= len(line) <= _LONGEST_LINE:
                found.add(line)
    return found


def texts_in(value: object) -> list:
    """All texts within a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in texts_in(item)] if isinstance(value, list) else []
