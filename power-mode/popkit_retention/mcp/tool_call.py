"""What a tool is told: its arguments, whose project it is, what the user allows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hooks.utils.io.repository import Repository

ALL = "all"


class Mistake(Exception):
    """What the caller has to do otherwise; the message says what."""


def _silent(done: float, total: float | None = None) -> None:
    """Tells nobody."""


class Asked:
    """One call. `folder`: the project's, or one in it · `wide`: it is about all projects · `progress(done, total)`: tells the client, and
    ends the tool where the answer is not wanted any more."""

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
        """A whole number; JSON writes 5 as 5.0 too."""
        return int(self.arguments.get(name, default))

    @property
    def repository(self) -> Repository:
        """The project."""
        from hooks.utils.io import home
        from hooks.utils.state import memory

        return memory.project_of(home.popkit_home(self.environ), self.folder).repository

    @property
    def project(self) -> str | None:
        """The key of the one project that may be seen; None: all."""
        return None if self.wide else self.repository.key

    @property
    def all_projects(self) -> bool:
        """Whether the user lets tools see all projects; only the user's own file can say so."""
        from hooks.utils.config import remembered
        from hooks.utils.io import home

        try:
            settings = remembered.effective(home.plugin_root(), home.popkit_home(self.environ), "")
        except home.NoHome:
            return False
        return settings["mcp"]["all_projects"] is True
