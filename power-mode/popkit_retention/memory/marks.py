"""Marks that the user has not made himself, as he is told of them: what an agent's tool forgot, and what a retention policy let a tool or
the hourly job mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.utils.state import marked

from .items import BY_POLICY, BY_TOOL
from .transitions import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .items import Item
    from .stores import Store

ACTORS_KEY = "governed"  # of the value in the store: id -> who let a policy mark it


def actors(store: Store) -> Mapping[str, object]:
    """Who let a retention policy mark what it has marked, by id."""
    known = store.value(ACTORS_KEY)
    return known if isinstance(known, dict) else {}


def told(store: Store, project: str | None = None) -> dict[str, list[marked.Marked]]:
    """What is told of a project (None: of all): rows of `hooks.utils.state.marked`, by its parts."""
    known = actors(store)
    found: dict[str, list[tuple[str, str, str, float]]] = {marked.FORGOTTEN: [], marked.MEMORY: []}
    for item in store.scan(project, marked=True, bare=True):
        if item.marked_by == BY_TOOL:
            found[marked.FORGOTTEN].append(_mark(item, BY_TOOL))
        elif item.marked_by == BY_POLICY and known.get(item.id) in (marked.BY_TOOL, marked.BY_JOB):
            found[marked.MEMORY].append(_mark(item, str(known[item.id])))
    return {part: marked.rows_of(marks) for part, marks in found.items()}


def _mark(item: Item, by: str) -> tuple[str, str, str, float]:
    return item.project, by, item.id, (item.marked_at or 0.0) + GRACE_S
