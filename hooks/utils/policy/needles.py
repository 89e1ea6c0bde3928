"""Tell what a glob holds, without matching it: that decides about most texts. Pure."""

from __future__ import annotations


def is_wild(pattern: str) -> bool:
    """Return whether `pattern` holds anything but literal characters."""
    return "*" in pattern or "?" in pattern or "[" in pattern


def needle_of(pattern: str) -> str:
    """Return a text that is part of everything the pattern matches; "" where none is obvious."""
    if "[" in pattern or "\\" in pattern or "/" in pattern:
        return ""
    return max(pattern.replace("?", "*").split("*"), key=len)
