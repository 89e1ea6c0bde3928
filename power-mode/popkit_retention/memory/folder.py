"""Memory's folder, as the job sees it: its lock, its backups, the alerts that hooks tell of. What belongs to a project is
`hooks.utils.state.memory`'s."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hooks.utils.edges import files, home
from hooks.utils.host import repository
from hooks.utils.state import memory

from . import exchange

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

    def set_alerts(self, alerts: list[dict[str, object]], now: float) -> None:
        """Leaves each project that hooks keep a folder of the alerts that are about it; those that are over go."""
        for key in self._projects():
            project = memory.Project(self.home, repository.Repository(key, "", ""))
            project.set_alerts(
                {str(alert["id"]): _seconds(alert["at"], now) for alert in alerts if home.safe_name(str(alert["project"])) == key}
            )

    def _projects(self) -> list[str]:
        try:
            names = sorted(os.listdir(self.path))
        except OSError:
            return []
        return [name for name in names if os.path.isfile(os.path.join(self.path, name, memory.SETTINGS))]

    def back_up(self, store: Store, now: float) -> str | None:
        """Once a week a backup of the ARCHIVE tier; the path of a new one. BadItem, OSError where it cannot be made; the last ones stay."""
        folder = os.path.join(self.path, "backups")
        try:
            times = {name: at for name in os.listdir(folder) if (at := exchange.backed_up_at(name)) is not None}
        except FileNotFoundError:
            times = {}
        if times and 0 <= now - max(times.values()) < exchange.EVERY_S:
            return None
        text = exchange.backup(store, now)
        files.make_private_folder(folder)
        path = os.path.join(folder, exchange.backup_name(now))
        files.replace_text(path, text)
        for name in sorted(times, key=times.__getitem__, reverse=True)[exchange.KEPT_BACKUPS - 1 :]:
            os.unlink(os.path.join(folder, name))
        return path


def _seconds(at: object, now: float) -> float:
    return float(at) if isinstance(at, (int, float)) else now
