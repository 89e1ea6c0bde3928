"""Holds: what must stay as it is, whatever anybody's rules say. They stand in the store, beside the items that they keep.

`popkit retention hold` makes and ends them. Whoever marks, deletes or shortens reads them first, and writes only where they are still
those that were read (`Batch.given`), and where nobody has made a mark or taken one back since.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hooks.utils.archive.holds import PROJECT, SESSION, Hold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .items import Item
    from .stores import Batch, Store

KEY = "holds"  # of the value in the store: a list of objects, oldest first
MARKS_KEY = "marks"  # of the value that is another one whenever somebody makes a mark or takes one back


class OnHold(Exception):
    """A hold forbids it; the message names the hold, and says what to do. Nothing was changed. `what`: which hold, without what to do."""

    def __init__(self, what: str, hold_id: str) -> None:
        super().__init__(f"{what}. Release it first: popkit retention hold release {hold_id}")
        self.what = what


@dataclass
class Holds:
    """The holds of a store that are in force at a time, by the id of an item, a session's id, a project's key. `value` is what they were
    read from, `marks` which state the marks were in."""

    value: object
    marks: object
    items: dict[str, Hold] = field(default_factory=dict)
    sessions: dict[str, Hold] = field(default_factory=dict)
    projects: dict[str, Hold] = field(default_factory=dict)

    def on(self, item: Item) -> Hold | None:
        """The hold that keeps an item; None where none does."""
        return self.items.get(item.id) or self.projects.get(item.project) or self.sessions.get(item.episode)

    def on_id(self, id: str, project: str) -> Hold | None:
        """The hold that keeps what has this id, be it there or not."""
        return self.items.get(id) or self.projects.get(project)

    def given(self) -> dict[str, object]:
        """For `Batch.given`: that they are still these, and that nobody has touched a mark."""
        return {KEY: self.value, MARKS_KEY: self.marks}


def read(store: Store, now: float) -> Holds:
    """The holds that are in force (seconds). What a held session has taught is held, too. To be read before the items that they are
    about."""
    found = Holds(store.value(KEY), store.value(MARKS_KEY))
    by_scope = {PROJECT: found.projects, SESSION: found.sessions}
    for hold in map(Hold.of, entries(found.value)):
        if hold.in_force(now):
            by_scope.get(hold.scope, found.items)[str(hold.target)] = hold
    if found.sessions:
        for project in {total.project for total in store.totals()}:
            for session, hold in found.sessions.items():
                found.items.update((id, hold) for id in _taught(store, project, session) if id not in found.items)
    return found


def _taught(store: Store, project: str, session: str) -> Iterable[str]:
    lesson = store.value(f"lesson:{project}:{session}")
    writes = lesson.get("writes") if isinstance(lesson, dict) else None
    return writes if isinstance(writes, dict) else ()


def touch_marks(batch: Batch) -> None:
    """Lets a batch that makes a mark or takes one back say so: whoever has decided by the marks before decides anew."""
    if any("marked_at" in change.to for change in batch.change):
        batch.values[MARKS_KEY] = secrets.token_hex(8)


def entries(value: object) -> list[Mapping[str, object]]:
    """All holds that ever were, as the store has them."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def in_words(hold: Hold) -> str:
    """Who wants a hold, why, and until when: "alice: audit, until 2027-01-01"."""
    end = f", until {time.strftime('%Y-%m-%d', time.gmtime(hold.until))}" if isinstance(hold.until, (int, float)) else ""
    return f"{hold.who}: {hold.why}{end}"


def refuse(items: Iterable[Item], held: Holds) -> None:
    """OnHold for the first of these items that a hold keeps."""
    for item in items:
        hold = held.on(item)
        if hold:
            raise OnHold(f"{item.id} is on hold ({in_words(hold)})", str(hold.id))


def drop(batch: Batch, ids: set[str]) -> list[dict[str, object]]:
    """Takes all that a batch would do to these items out of it; its entries of the audit that went with that."""
    batch.change = [change for change in batch.change if change.id not in ids]
    batch.remove = [id for id in batch.remove if id not in ids]
    for id in ids:
        batch.originals.pop(id, None)
    dropped = [entry for entry in batch.log if entry.get("id") in ids]
    batch.log = [entry for entry in batch.log if entry.get("id") not in ids]
    return dropped
