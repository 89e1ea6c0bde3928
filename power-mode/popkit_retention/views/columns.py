"""What all views of memory and retention are laid out with: pairs of a name and what there is to say of it, times from now. Pure."""

from __future__ import annotations

from hooks.utils import text

ASIDE = 11  # columns of the left column of pairs


def pair(name: str, said: str) -> list[str]:
    """Return a name and what is said of it, in two columns."""
    lines = text.wrap(said, text.WIDTH - ASIDE)
    return [f"{text.pad(name, ASIDE)}{lines[0]}".rstrip(), *[" " * ASIDE + line for line in lines[1:]]]


def pairs(name: str, said: list[str]) -> list[str]:
    """Return a name, and what is said of it in several lines."""
    return [line for at, each in enumerate(said) for line in pair("" if at else name, each)]


def ago(at: float, now: float) -> str:
    """Return how long ago a time was."""
    return "just now" if now - at < 1 else text.span(now - at) + " ago"


def ahead(at: float, now: float) -> str:
    """Return how far ahead a time is."""
    return "now" if at - now < 1 else "in " + text.span(at - now)
