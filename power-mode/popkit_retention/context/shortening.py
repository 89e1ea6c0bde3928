"""Shorter texts for old calls: listings without their line numbers, inputs without their long texts. Pure."""

from __future__ import annotations

import re
from typing import Any

_NUMBER = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_LEAST_LINES = 10  # of a listing: a shorter one would gain nothing
# In the input of a call, a longer text is shortened to its beginning.
_LONG_CHARS, _BEGINNING_CHARS = 400, 80


def bare(text: str) -> str | None:
    """Return a listing without the numbers of its lines, which mean nothing once it is old; None for any other text."""
    if _NUMBER.match(text) is None:
        return None
    without, count = _NUMBER.subn("", text)
    return without if count >= _LEAST_LINES and 10 * count > 9 * text.count("\n") else None


def short(value: Any) -> Any:
    """Return the input of a call with its long texts shortened: the file has the whole text. The same value where none is long."""
    if isinstance(value, str) and len(value) > _LONG_CHARS:
        return f"{value[:_BEGINNING_CHARS]}… [PopKit left out {len(value) - _BEGINNING_CHARS} characters]"
    if isinstance(value, dict):
        return {name: short(item) for name, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value
