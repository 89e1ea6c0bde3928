"""Errors that a caller, or the user, can do something about, and how they are told."""

from __future__ import annotations

import sqlite3

from hooks.utils.io.files import LockTimeout
from hooks.utils.io.home import NoHome
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.reclaim import access, restoring

from ..governance.errors import GovernanceError
from ..memory.holds import OnHold
from ..memory.items import BadItem
from ..memory.memory import Busy, NotThere
from ..memory.stores import DuplicateId, StoreUnavailable
from .asking import Mistake

_SAID = (
    Mistake, GovernanceError, BadItem, NotThere, Busy, OnHold, StoreUnavailable, NoHome, LockTimeout, access.Refused,
    restoring.NotFound, StoreError,
)  # fmt: skip


def message_of(error: Exception) -> str:
    """What to tell of an error; "" for one that is a fault of ours."""
    if isinstance(error, DuplicateId):
        return f"{error}: nothing was added"
    if isinstance(error, OnHold):
        return f"{error.what}. Nothing was changed. Only the user decides whether to release it: tell them, and leave it alone"
    if isinstance(error, _SAID):
        return str(error)
    if isinstance(error, sqlite3.Error):
        return f"the store cannot be used now: {error}. Try again; `popkit doctor` tells the user more"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return ""
