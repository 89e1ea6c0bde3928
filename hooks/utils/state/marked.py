"""Store the items marked for deletion in a small file that services write for hooks to show."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import as_object, as_objects, dumps, seconds, text_list, whole
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypedDict

    class MarkedCount(TypedDict):
        """The marked things of a project: how many, `by` whom, the ids of the first MARKED_NAMED, when (seconds) the first is deleted."""

        project: str
        by: str
        count: int
        ids: list[str]
        first: float


MARKED_FILE = "marked.json"  # in governance's folder
PARTS = FORGOTTEN, MEMORY, RAG = ("forgotten", "memory", "rag")
BY_TOOL, BY_JOB = "tool", "job"
MARKED_NAMED = 5  # ids of a row
_MARKED_VERSION = 1
_MOST = 1 << 53


def marked_rows(marks: Iterable[tuple[str, str, str, float]]) -> list[MarkedCount]:
    """Return marks (project, who, id, when it is deleted in seconds) as rows, one for each project and who."""
    rows: dict[tuple[str, str], MarkedCount] = {}
    for project, by, id, at in marks:
        row = rows.setdefault((project, by), {"project": project, "by": by, "count": 0, "ids": [], "first": at})
        row["count"] += 1
        row["first"] = min(row["first"], at)
        if len(row["ids"]) < MARKED_NAMED:
            row["ids"].append(id)
    return [rows[key] for key in sorted(rows)]


def replace_marked(popkit_home: str, part: str, rows: Callable[[], list[MarkedCount]]) -> None:
    """Replace a part by the rows that `rows()` returns, called under the lock. OSError where that cannot be written."""
    path = join(popkit_home, home.GOVERNANCE, MARKED_FILE)
    if not has_marked(popkit_home) and not rows():
        return
    files.make_private_folder(join(popkit_home, home.GOVERNANCE))
    with files.lock_of(path):
        parts, new = _marked_parts(path), rows()
        if parts.get(part, []) != new:
            files.replace_text(path, dumps({"version": _MARKED_VERSION, "parts": {**parts, part: new}}))


def has_marked(popkit_home: str) -> bool:
    """Return whether the file exists."""
    return files.is_there(join(popkit_home, home.GOVERNANCE, MARKED_FILE))


def marked_of(popkit_home: str, project: str) -> list[tuple[str, MarkedCount]]:
    """Return (part, row) of each mark of a project, by its key; nothing where the file cannot be read."""
    parts = _marked_parts(join(popkit_home, home.GOVERNANCE, MARKED_FILE))
    return [(part, row) for part in PARTS for row in parts.get(part, ()) if row["project"] == project]


def _marked_parts(path: str) -> dict[str, list[MarkedCount]]:
    value = files.read_object(path)
    parts = as_object(value.get("parts")) if value.get("version") == _MARKED_VERSION else {}
    return {part: [row for row in map(_marked, as_objects(rows)) if row is not None] for part, rows in parts.items()}


def _marked(row: dict[str, Any]) -> MarkedCount | None:
    """Return a stored row; None for what is none."""
    project, ids = row.get("project"), text_list(row.get("ids"))
    count, first = whole(row.get("count"), _MOST), seconds(row.get("first"))
    if not isinstance(project, str) or row.get("by") not in (BY_TOOL, BY_JOB) or ids is None or ids != row["ids"] or not count or not first:
        return None
    return {"project": project, "by": row["by"], "count": count, "ids": ids, "first": first}
