"""The retention of stored data: its policies, its holds, its collections, its archives, its log.

Read `policies` (what a policy says) and `domains` (the data that policies rule, and what they say of a resource) first; both are pure.
`controller` is the entry for all callers, over a `workspace`: the lock and files of `data_folder`, the `log`, the policies in force
(`policy_file`, changed by `revisions`, which also keeps agents' pending requests). Each operation is an entry of the log before it is done,
and is done again if a process was killed in between: `collection`, `archives` with `manifests` and `restores`, holds (`workspace`).
`answers` makes JSON of what they return.

The errors are defined here. Every message says what is wrong, with which thing, and what to do; nothing was changed.
"""

from __future__ import annotations

from popkit_retention.core.errors import PopkitError

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # without those that are read as others


def random_letters() -> str:
    """Return the six random letters and digits that the id of a hold, a request or an archive ends with."""
    import secrets  # seldom, and it loads much

    return "".join(secrets.choice(_LETTERS) for _ in range(6))


def shown(value: object, most: int = 40) -> str:
    """Return a value as a message names it: its beginning, or its type where Python cannot print it."""
    try:
        return repr(value)[:most]
    except ValueError:  # a whole number with thousands of digits
        return type(value).__name__


def one_line(message: object) -> str:
    """Return another program's message as one printable line: it may quote a corrupt file."""
    return "".join(char if char.isprintable() else " " for char in str(message))


class GovernanceError(PopkitError):
    """The base of all of them."""


class BadPolicy(GovernanceError, ValueError):
    """A value that no policy can have."""


class BadRequest(GovernanceError, ValueError):
    """An invalid argument."""


class Conflict(GovernanceError):
    """Somebody else has changed the policies in the meantime."""


class ResourceNotFound(GovernanceError, LookupError):
    """Nothing has that name or id, or several things could be meant."""


class ResourceOnHold(GovernanceError):
    """A hold forbids it; the message names the hold, who wanted it and why."""


class DomainUnavailable(GovernanceError):
    """The store of a domain cannot be used now."""


class GovernanceTooNew(GovernanceError):
    """A later version of PopKit has written it."""


class GovernanceDamaged(GovernanceError):
    """A file is not as it was written."""


class GovernanceBusy(GovernanceError):
    """Another process holds the lock and took too long."""
