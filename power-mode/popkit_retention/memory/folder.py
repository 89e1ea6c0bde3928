"""Memory's folder, as the job sees it: its lock, its backups, the alerts that hooks tell of. What belongs to a project is
`hooks.utils.state.memory`'s."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from hooks.utils.edges import home, repository
from hooks.utils.state import marked, memory

from . import marks

if TYPE_CHECKING:
    from .stores import Store


class Folder:
    """`$POPKIT_HOME/memory`."""

    def __init__(self, popkit_home: str) -> None:
        self.home = popkit_home
        self.path = os.path.join(popkit_home, memory.FOLDER)

    @property
    def lock(self) -> str:
        """The lock that one job at a time holds."""
        return os.path.join(self.path, "job.lock")

    @property
    def backups(self) -> str:
        """The folder of the backups that `backups.back_up` makes."""
        return os.path.join(self.path, "backups")

    def set_alerts(self, alerts: list[dict[str, object]], now: float) -> None:
        """Leaves each project that hooks keep a folder of the alerts that are about it; those that are over go."""
        for key in self._projects():
            project = memory.Project(self.home, repository.Repository(key, "", ""))
            project.set_alerts(
                {str(alert["id"]): _seconds(alert["at"], now) for alert in alerts if home.safe_name(str(alert["project"])) == key}
            )

    def set_marks(self, store: Store) -> None:
        """Leaves hooks what others than the user have marked, of all projects."""
        for part in (marked.FORGOTTEN, marked.MEMORY):
            marked.replace(self.home, part, partial(_rows, store, part))

    def _projects(self) -> list[str]:
        try:
            names = sorted(os.listdir(self.path))
        except OSError:
            return []
        return [name for name in names if os.path.isfile(os.path.join(self.path, name, memory.SETTINGS))]


def _rows(store: Store, part: str) -> list[dict[str, object]]:
    return marks.told(store)[part]


def _seconds(at: object, now: float) -> float:
    return float(at) if isinstance(at, (int, float)) else now
