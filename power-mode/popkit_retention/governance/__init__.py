"""The retention of stored data: its policies, its holds, its collections, its archives, its log.

    from popkit_retention.governance import Controller

    with Controller(os.environ) as governance:
        governance.configure("memory", {"older_than_days": 60})

`Controller`, `AsyncGovernance` and the errors are here, each loaded on first use; docs/design/governance.md says what each module is for.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "AsyncGovernance": "asynchronous",
    "BadPolicy": "errors",
    "BadRequest": "errors",
    "Conflict": "errors",
    "Controller": "controller",
    "DomainUnavailable": "errors",
    "GovernanceBusy": "errors",
    "GovernanceDamaged": "errors",
    "GovernanceError": "errors",
    "GovernanceTooNew": "errors",
    "ResourceNotFound": "errors",
    "ResourceOnHold": "errors",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .asynchronous import AsyncGovernance
    from .controller import Controller
    from .errors import (
        BadPolicy,
        BadRequest,
        Conflict,
        DomainUnavailable,
        GovernanceBusy,
        GovernanceDamaged,
        GovernanceError,
        GovernanceTooNew,
        ResourceNotFound,
        ResourceOnHold,
    )

__all__ = [
    "AsyncGovernance",
    "BadPolicy",
    "BadRequest",
    "Conflict",
    "Controller",
    "DomainUnavailable",
    "GovernanceBusy",
    "GovernanceDamaged",
    "GovernanceError",
    "GovernanceTooNew",
    "ResourceNotFound",
    "ResourceOnHold",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOMES[name], __name__), name)
