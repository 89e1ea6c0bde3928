"""Quote foreign text in an error or a report. Pure."""

from __future__ import annotations


def shown(value: object, most: int = 40) -> str:
    """Return a value as a message names it: its beginning, or its type where Python cannot print it."""
    try:
        return repr(value)[:most]
    except ValueError:  # a whole number with thousands of digits
        return type(value).__name__


def one_line(message: object) -> str:
    """Return another program's message as one printable line: it may quote a corrupt file."""
    return "".join(char if char.isprintable() else " " for char in str(message))
