"""The errors of governance. Every message says what is wrong, with which thing, and what to do; nothing was changed."""

from __future__ import annotations

from popkit_retention.core.errors import PopkitError


class GovernanceError(PopkitError):
    """The base of all errors of governance."""


class BadPolicy(GovernanceError, ValueError):
    """A value that no policy can have."""


class BadRequest(GovernanceError, ValueError):
    """An invalid argument."""


class Conflict(GovernanceError):
    """Another caller changed the policies in the meantime."""


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
