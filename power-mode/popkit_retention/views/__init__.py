"""The layout that the texts of several features share: pairs of a name and its text, rows beside their head, times relative to now.
Pure."""

from __future__ import annotations

from popkit_retention.core import text, units

ASIDE = 11  # columns of the left column of pairs


def pair(name: str, content: str) -> list[text.Line]:
    """Return a name and its text in two columns."""
    return text.pair(name, content, ASIDE)


def pairs(name: str, contents: list[str]) -> list[text.Line]:
    """Return a name, and its text in several lines."""
    return [line for at, content in enumerate(contents) for line in pair("" if at else name, content)]


def beside(head: str, words: str, indent: str = "") -> text.Line:
    """Return a row whose text continues under itself, beside the columns of its head."""

    def lines(columns: int) -> list[str]:
        first, *rest = text.wrapped(indent + words, max(10, columns - len(head)), indent)
        return [head + first, *(" " * len(head) + line for line in rest)]

    return lines


def ago(at: float, now: float) -> str:
    """Return how long ago a time was."""
    return "just now" if now - at < 1 else units.span(now - at) + " ago"


def ahead(at: float, now: float) -> str:
    """Return how far ahead a time is."""
    return "now" if at - now < 1 else "in " + units.span(at - now)
