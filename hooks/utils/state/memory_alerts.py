"""Store the memories that will soon be forgotten in a small file that services write for hooks to show."""

from __future__ import annotations

from ..io import files
from ..io.codec import as_object, dumps, seconds, text_list
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .memory import Project

ALERTS = "alerts.json"  # in the folder of a project's memory


def set_alerts(project: Project, due: dict[str, float]) -> None:
    """Set the items of value that will soon be forgotten: id -> when (seconds). Alerts that were shown stay so."""
    _write(project, due, [id for id in _alerts(project)[1] if id in due])


def unseen_alerts(project: Project) -> dict[str, float]:
    """Return the alerts that were not shown yet."""
    due, told = _alerts(project)
    return {id: at for id, at in due.items() if id not in told}


def note_alerts_seen(project: Project, ids: list[str]) -> None:
    """Note that these alerts were shown."""
    due, told = _alerts(project)
    if due:
        _write(project, due, sorted({*told, *ids}))


def _write(project: Project, due: dict[str, float], told: list[str]) -> None:
    files.replace_text(join(project.folder, ALERTS), dumps({"due": due, "told": told}))


def _alerts(project: Project) -> tuple[dict[str, float], list[str]]:
    """Return (id -> seconds of what is due, the ids that were shown); nothing where the file cannot be read."""
    value = files.read_object(join(project.folder, ALERTS))
    told = text_list(value.get("told"))
    due = {id: seconds(at) for id, at in as_object(value.get("due")).items()} if told is not None else {}
    return {id: at for id, at in due.items() if at is not None}, told or []
