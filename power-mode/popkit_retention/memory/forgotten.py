"""What the user, or an agent's tool, wants forgotten: the ids that are not to be learnt again, kept for each project beside its items."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .holds import Holds
    from .items import Item
    from .stores import Batch, Store

_KEY = "forgotten:"  # and a project


def of(store: Store, project: str) -> Mapping[str, object]:
    """What of a project is not to be learnt again, by id."""
    known = store.value(_KEY + project)
    return known if isinstance(known, dict) else {}


def note(batch: Batch, store: Store, items: Sequence[Item], forgotten: bool) -> None:
    """Lets a batch note that these items are forgotten, or no longer."""
    for project in {item.project for item in items}:
        before = set(of(store, project))
        mine = {item.id for item in items if item.project == project}
        batch.values[_KEY + project] = dict.fromkeys(sorted(before | mine if forgotten else before - mine), True)


def gone(store: Store, held: Holds) -> set[str]:
    """What of all projects is forgotten and deleted, but for what a hold keeps."""
    ids = {
        id for key, known in store.values(_KEY).items() if isinstance(known, dict) for id in known if not held.on_id(id, key[len(_KEY) :])
    }
    return ids - {item.id for item in store.get(sorted(ids))}
