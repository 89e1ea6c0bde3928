"""Keep memory's folder: its lock, its backups, the alerts in it that hooks show. The files of a single project belong to
`popkit_retention.core.state.memory`."""

from __future__ import annotations

import os

from popkit_retention.core.io import files, home, repository
from popkit_retention.core.state import memory, memory_alerts


class Folder:
    """`$POPKIT_HOME/memory`."""

    def __init__(self, popkit_home: str) -> None:
        self.home = popkit_home
        self.path = os.path.join(popkit_home, memory.FOLDER)

    @property
    def lock(self) -> str:
        """Return the path of the lock that one job at a time holds."""
        return os.path.join(self.path, "job.lock")

    @property
    def backups(self) -> str:
        """Return the folder of the backups that `back_up` makes."""
        return os.path.join(self.path, "backups")

    def set_alerts(self, alerts: list[dict[str, object]], now: float) -> None:
        """Write each project's alerts into the folder that hooks keep for it; remove alerts that no longer apply."""
        for key in self._projects():
            project = memory.Project(self.home, repository.Repository(key, "", ""))
            memory_alerts.set_alerts(
                project, {str(alert["id"]): _seconds(alert["at"], now) for alert in alerts if home.safe_name(str(alert["project"])) == key}
            )

    def _projects(self) -> list[str]:
        return [name for name in files.names(self.path) if os.path.isfile(os.path.join(self.path, name, memory.SETTINGS))]


def _seconds(at: object, now: float) -> float:
    return float(at) if isinstance(at, (int, float)) else now
