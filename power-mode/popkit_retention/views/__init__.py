"""The texts of memory, retention and the archive: plain values in, lines out. Pure. They share pairs of a name and its text, and times
relative to now."""

from __future__ import annotations

from hooks.utils import text
from hooks.utils import units

ASIDE = 11  # columns of the left column of pairs


def pair(name: str, content: str) -> list[text.Line]:
    """Return a name and its text in two columns."""
    return text.pair(name, content, ASIDE)


def pairs(name: str, contents: list[str]) -> list[text.Line]:
    """Return a name, and its text in several lines."""
    return [line for at, each in enumerate(contents) for line in pair("" if at else name, each)]


def ago(at: float, now: float) -> str:
    """Return how long ago a time was."""
    return "just now" if now - at < 1 else units.span(now - at) + " ago"


def ahead(at: float, now: float) -> str:
    """Return how far ahead a time is."""
    return "now" if at - now < 1 else "in " + units.span(at - now)
