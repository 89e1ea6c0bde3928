"""Errors of governance. Every message says what is wrong, with which thing, and what to do; nothing was changed."""

from __future__ import annotations


def shown(value: object, most: int = 40) -> str:
    """Return a value as a message names it: its beginning, or its type where Python does not print it."""
    try:
        return repr(value)[:most]
    except ValueError:  # a whole number of thousands of digits
        return type(value).__name__


def one_line(message: object) -> str:
    """Return another program's message as one printable line: it may quote a corrupt file."""
    return "".join(char if char.isprintable() else " " for char in str(message))


class GovernanceError(Exception):
    """The base of all of them."""


class BadPolicy(GovernanceError, ValueError):
    """Something that no policy can hold."""


class BadRequest(GovernanceError, ValueError):
    """An argument that makes no sense."""


class Conflict(GovernanceError):
    """Somebody else has changed the policies meanwhile."""


class NotThere(GovernanceError, LookupError):
    """There is no such thing, or several that a word could mean."""


class OnHold(GovernanceError):
    """A hold forbids it; the message names the hold, who wanted it and why."""


class DomainUnavailable(GovernanceError):
    """The store of a domain cannot be used now."""


class TooNew(GovernanceError):
    """A later version of PopKit has written it."""


class Damaged(GovernanceError):
    """A file is not as it was written."""


class Busy(GovernanceError):
    """Another process is at work and took too long."""
