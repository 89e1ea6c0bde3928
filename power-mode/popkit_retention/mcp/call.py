"""The call of a tool, as the tool receives it: project, arguments, progress."""

from __future__ import annotations

import os
from typing import Any

from popkit_retention.core.errors import PopkitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ToolError(PopkitError):
    """A mistake of the caller; the message says what to do instead."""


def _silent(done: float, total: float | None = None) -> None:
    """Show no progress."""


class ToolCall:
    """A call. `folder`: the project's, or one in it · `wide`: it covers all projects · `progress(done, total)`: reports to the client, and
    ends the tool if the answer is no longer wanted."""

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
        from popkit_retention.core.io.home import popkit_home

        return popkit_home(self.environ)

    @property
    def session_home(self) -> str:
        """Return the folder with what is kept of the session that runs the server; our own where that is unknown. NoHome."""
        from popkit_retention.core.state.site import Site

        return Site(self.environ, self.environ.get("CLAUDE_CODE_SESSION_ID") or "", self.folder).home

    @property
    def project(self) -> str | None:
        """Return the key of the project that the tool may read; None for all."""
        from popkit_retention.core.state.memory import project_of

        return None if self.wide else project_of(self.home, self.folder).repository.key

    @property
    def all_projects(self) -> bool:
        """Return whether the user lets tools read all projects; only the user's own file can allow that."""
        from popkit_retention.core.config.cached import effective
        from popkit_retention.core.io import home

        try:
            settings = effective(home.plugin_root(), self.home, "")
        except home.NoHome:
            return False
        return settings["mcp"]["all_projects"] is True
