"""What tools and the hourly job have marked for deletion, so that the user sees it: a small file that services rewrite and hooks read.

Each part is one writer's: FORGOTTEN is memory's (what an agent's tool forgot), MEMORY and RAG are governance's (what retention policies let
go of). What the user has marked himself is not told.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, loads
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypedDict

    class Marked(TypedDict):
        """How many things of a project somebody has marked, the ids of the first NAMED, when (seconds) the first is deleted."""

        project: str
        by: str
        count: int
        ids: list[str]
        first: float


FOLDER, NAME = "data/state", "marked.json"  # in our folder
PARTS = FORGOTTEN, MEMORY, RAG = ("forgotten", "memory", "rag")
BY_TOOL, BY_JOB = "tool", "job"
NAMED = 5  # ids of a row
_VERSION = 1
_LARGEST = 1e12  # seconds: in 30,000 years


def rows_of(marks: Iterable[tuple[str, str, str, float]]) -> list[Marked]:
    """Marks (project, who, id, when it is deleted in seconds) as rows, one for each project and who."""
    rows: dict[tuple[str, str], Marked] = {}
    for project, by, id, at in marks:
        row = rows.setdefault((project, by), {"project": project, "by": by, "count": 0, "ids": [], "first": at})
        row["count"] += 1
        row["first"] = min(row["first"], at)
        if len(row["ids"]) < NAMED:
            row["ids"].append(id)
    return [rows[key] for key in sorted(rows)]


def replace(popkit_home: str, part: str, rows: Callable[[], list[Marked]]) -> None:
    """Replaces a part by these rows, which are asked for while no other process does the same. OSError where that cannot be written."""
    path = join(popkit_home, FOLDER, NAME)
    if not is_there(popkit_home) and not rows():
        return
    files.make_private_folder(join(popkit_home, FOLDER))
    with files.Lock(path + ".lock"):
        parts, made = _parts(path), rows()
        if parts.get(part, []) != made:
            files.replace_text(path, dumps({"version": _VERSION, "parts": {**parts, part: made}}))


def is_there(popkit_home: str) -> bool:
    """Whether anything was ever told."""
    return files.is_there(join(popkit_home, FOLDER, NAME))


def of_project(popkit_home: str, project: str) -> list[tuple[str, Marked]]:
    """(part, row) for what is marked of a project, by its key; nothing where the file cannot be read."""
    parts = _parts(join(popkit_home, FOLDER, NAME))
    return [(part, row) for part in PARTS for row in parts.get(part, ()) if row["project"] == project]


def _parts(path: str) -> dict[str, list[Marked]]:
    try:
        value = loads(files.read_text(path) or "")
    except (OSError, ValueError):
        return {}
    parts = value.get("parts") if isinstance(value, dict) and value.get("version") == _VERSION else None
    if not isinstance(parts, dict):
        return {}
    return {part: [row for row in rows if _is_row(row)] for part, rows in parts.items() if isinstance(rows, list)}


def _is_row(row: object) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("project"), str)
        and row.get("by") in (BY_TOOL, BY_JOB)
        and all(_is_number(row.get(name)) for name in ("count", "first"))
        and isinstance(row.get("ids"), list)
        and all(isinstance(id, str) for id in row["ids"])
    )


def _is_number(value: object) -> bool:
    """Whether it is a number of things, or a time that somebody can be told."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _LARGEST
