"""Retention policies of stored data: what may be deleted when, what is held, what was done and by whom.

Read `policies` (what a policy says) and `domains` (what policies rule over, and what they say of a resource) first; both are pure.
`controller` is the entry for all callers, over a `workspace`: the lock and files of `data_folder`, the `log`, the policies in force
(`policy_file`, changed by `revisions`, where agents' requests wait, too). Each operation is an entry of the log before it is done, and done
again if a process was killed in between: `collection`, `archives` with `manifests` and `restores`, holds (`workspace`). `answers` makes
JSON of what they return.

Here are the errors. Every message says what is wrong, with which thing, and what to do; nothing was changed.
"""

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
