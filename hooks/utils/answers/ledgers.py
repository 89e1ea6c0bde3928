"""A ledger as a person reads it: what was really reclaimed, what it was charged, what is left. Pure."""

from __future__ import annotations

from . import text

_CAUSES = (
    ("charged_rewrite", "cache rewrites"),
    ("charged_restores", "restores"),
    ("charged_refetches", "fetched again"),
    ("charged_advice", "our own text"),
)


def in_words(ledger: dict) -> str:
    """A ledger in a sentence; it is not empty."""
    said = f"{ledger['reclaimed_tokens']:,} tokens measured" if ledger["confirmed"] else "nothing measured yet"
    if ledger["pending_tokens"]:
        said += f", {text.long_tokens(ledger['pending_tokens'])} not confirmed until the session is loaded again"
    if not ledger["confirmed"] and not round(ledger["charged"]):
        return said
    return f"{said}; net {net(ledger['net'])} ({spent(ledger)})"


def net(units: float) -> str:
    """Units as the input tokens that they are worth, with their sign."""
    return f"{'-' if units < 0 else '+'}{abs(round(units)):,} input tokens"


def spent(ledger: dict) -> str:
    """What was saved, and charged for what."""
    charges = [f"{round(ledger[key]):,} {name}" for key, name in _CAUSES if round(ledger[key])]
    return f"{round(ledger['saved']):,} saved, " + (" + ".join(charges) + " charged" if charges else "nothing charged")
