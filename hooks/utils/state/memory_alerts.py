"""Store the memories that will soon be forgotten in a small file that services write for hooks to show."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .memory import Project

ALERTS = "alerts.json"  # in the folder of a project's memory


def set_alerts(project: Project, due: dict[str, float]) -> None:
    """Set the items of value that will soon be forgotten: id -> when (seconds). Alerts that were shown stay so."""
    shown = [id for id in _alerts(project).get("told", ()) if id in due]
    files.replace_text(join(project.folder, ALERTS), dumps({"due": due, "told": shown}))


def unseen_alerts(project: Project) -> dict[str, float]:
    """Return the alerts that were not shown yet."""
    known = _alerts(project)
    return {id: at for id, at in known["due"].items() if id not in known["told"]} if known else {}


def note_alerts_seen(project: Project, ids: list[str]) -> None:
    """Note that these alerts were shown."""
    known = _alerts(project)
    if known:
        files.replace_text(join(project.folder, ALERTS), dumps({**known, "told": sorted({*known["told"], *ids})}))


def _alerts(project: Project) -> dict[str, Any]:
    """Return {`due`: id -> seconds, `told`: ids}; {} where there are none that can be read."""
    value = files.read_object(join(project.folder, ALERTS))
    if not isinstance(value.get("due"), dict) or not isinstance(value.get("told"), list):
        return {}
    due = {id: at for id, at in value["due"].items() if isinstance(at, (int, float)) and not isinstance(at, bool)}
    return {"due": due, "told": [id for id in value["told"] if isinstance(id, str)]}
