"""Serve the operations to agents (`popkit mcp`): an MCP server on standard input and output.

From the stream inwards: `tool_service` reads and writes bytes, `json_rpc` makes messages of them, `server` answers them and queues calls of
tools, `tool_service` checks a call against its schema (`schemas`) and runs the function in `tool_answers`, with a `ToolCall`, which is
defined here with its errors.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ALL = "all"


class ToolError(Exception):
    """A mistake of the caller; the message says what to do instead."""


def _silent(done: float, total: float | None = None) -> None:
    """Show no progress."""


class ToolCall:
    """One call. `folder`: the project's, or one in it · `wide`: it covers all projects · `progress(done, total)`: reports to the client,
    and ends the tool if the answer is no longer wanted."""

    def __init__(
        self, environ: Mapping[str, str], folder: str, arguments: dict[str, Any] | None = None,
        progress: Callable[..., None] = _silent, wide: bool = False,
    ) -> None:  # fmt: skip
        self.environ = environ
        self.folder = os.path.abspath(folder)
        self.arguments = arguments or {}
        self.progress = progress
        self.wide = wide

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.arguments.get(name, default)

    def whole(self, name: str, default: int) -> int:
        """Return an argument as a whole number; JSON writes 5 as 5.0 too."""
        return int(self.arguments.get(name, default))

    @property
    def home(self) -> str:
        """Return our folder; NoHome."""
        from hooks.utils.io.home import popkit_home

        return popkit_home(self.environ)

    @property
    def project(self) -> str | None:
        """Return the key of the project that the tool may read; None for all."""
        from hooks.utils.state.memory import project_of

        return None if self.wide else project_of(self.home, self.folder).repository.key

    @property
    def all_projects(self) -> bool:
        """Return whether the user lets tools read all projects; only the user's own file can allow that."""
        from hooks.utils.config import effective
        from hooks.utils.io import home

        try:
            settings = effective(home.plugin_root(), self.home, "")
        except home.NoHome:
            return False
        return settings["mcp"]["all_projects"] is True


def message_of(error: Exception) -> str:
    """Return the message for an error that the caller or the user can fix; "" for a fault of ours."""
    from hooks.utils.io.files import LockTimeout
    from hooks.utils.io.home import NoHome
    from hooks.utils.io.sqlite_file import StoreError
    from hooks.utils.reclaim import access, restoring

    from ..governance import GovernanceError
    from ..memory.holds import OnHold
    from ..memory.items import BadItem
    from ..memory.memory import Busy, NotThere
    from ..memory.stores import DuplicateId, StoreUnavailable

    if isinstance(error, DuplicateId):
        return f"{error}: nothing was added"
    if isinstance(error, OnHold):
        return f"{error.what}. Nothing was changed. Only the user decides whether to release it: tell them, and leave it alone"
    if isinstance(error, (ToolError, GovernanceError, BadItem, NotThere, Busy, StoreUnavailable, NoHome, LockTimeout)):
        return str(error)
    if isinstance(error, (access.Refused, restoring.NotFound, StoreError)):
        return str(error)
    if isinstance(error, sqlite3.Error):
        return f"the store cannot be used now: {error}. Try again; `popkit doctor` tells the user more"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return ""
