"""Marks for deletion that somebody other than the user has made, as the sessions are told of them."""

from __future__ import annotations

from functools import partial

from popkit_retention.core.state import marked

from .items import BY_POLICY, BY_TOOL
from .stores.protocol import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .items import Item
    from .stores.protocol import Store


ACTORS_KEY = "governed"  # of the value in the store: id -> who had a policy mark it


def actors(store: Store) -> Mapping[str, object]:
    """Return who had a retention policy mark each marked item, by id."""
    return mapping(store.value(ACTORS_KEY))


def notices(store: Store, project: str | None = None) -> dict[str, list[marked.MarkedCount]]:
    """Return the marks of a project (None: of all) that the user did not make and is notified of: rows of
    `popkit_retention.core.state.marked`, by its parts."""
    known = actors(store)
    by_part: dict[str, list[tuple[str, str, str, float]]] = {marked.FORGOTTEN: [], marked.MEMORY: []}
    for item in store.scan(project, marked=True, bare=True):
        if item.marked_by == BY_TOOL:
            by_part[marked.FORGOTTEN].append(_mark(item, BY_TOOL))
        elif item.marked_by == BY_POLICY and known.get(item.id) in (marked.BY_TOOL, marked.BY_JOB):
            by_part[marked.MEMORY].append(_mark(item, str(known[item.id])))
    return {part: marked.marked_rows(marks) for part, marks in by_part.items()}


def publish_marks(popkit_home: str, store: Store) -> None:
    """Write for hooks the items that somebody other than the user has marked, in all projects."""
    for part in (marked.FORGOTTEN, marked.MEMORY):
        marked.replace_marked(popkit_home, part, partial(_rows, store, part))


def _rows(store: Store, part: str) -> list[marked.MarkedCount]:
    return notices(store)[part]


def _mark(item: Item, by: str) -> tuple[str, str, str, float]:
    return item.project, by, item.id, item.mark.due_at if item.mark else 0.0
