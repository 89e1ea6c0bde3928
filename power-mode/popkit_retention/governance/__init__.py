"""The retention of stored data: its policies, its holds, its collections, its archives, its log.

    from popkit_retention.governance import Controller

    with Controller(os.environ) as governance:
        governance.configure("memory", {"older_than_days": 60})

`Controller`, `AsyncGovernance` and the errors are here, each loaded on first use. Read `policies` (what a policy says) and `domains` (the
data that policies rule, and what they say of a resource) first; both are pure. `controller` is the entry for all callers, over a
`workspace`: the lock and files of `data_folder`, the `log`, the policies in force (`policy_file`, changed by `revisions`), the requests
of agents (`agent_requests`). Each operation is an entry of the log before it is done, and is done again if a process was killed in
between: `collection`, `archives` with `manifests` and `restores`, `holds`. `answers` makes JSON of what they return.
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
