"""Holds: which items must stay unchanged whatever the policies say.

Holds and the count of marks are in the store, beside the items. `popkit retention hold` makes and ends holds. Code that marks, deletes or
shortens items reads the holds first, and writes only where they are still the same (`Batch.expected`), and where nobody has made a mark
or taken one back since.
"""

from __future__ import annotations

import os
import time

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io.codec import as_objects
from popkit_retention.core.retention_kit.holds import ActiveHolds, Hold

from .stored_lessons import read_lesson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .items import Item
    from .stores.protocol import Batch, Store


KEY = "holds"  # of the value in the store: a list of objects, oldest first
MARKS_KEY = "marks"  # of the value that changes whenever somebody makes a mark or takes one back


class ItemOnHold(PopkitError):
    """A hold forbids the change; the message names the hold, and says what to do. Nothing was changed. `what`: which hold, without what to
    do."""

    def __init__(self, what: str, hold_id: str) -> None:
        super().__init__(f"{what}. Release it first: popkit retention hold release {hold_id}")
        self.what = what


class Holds(ActiveHolds):
    """The holds of a store that are in force at a time. `value`: the stored value that they were read from; `marks`: the state of the marks
    then."""

    __slots__ = ("marks", "value")

    def __init__(self, value: object, marks: object, now: float) -> None:
        super().__init__(map(Hold.of, entries(value)), now)
        self.value = value
        self.marks = marks

    def on(self, item: Item) -> Hold | None:
        """Return the hold that keeps an item; None where none does."""
        return self.keeping(item.id, (item.episode,), item.project)

    def expected(self) -> dict[str, object]:
        """Return values for `Batch.expected`: the batch is written only if the holds are still these and nobody has touched a mark."""
        return {KEY: self.value, MARKS_KEY: self.marks}


def read(store: Store, now: float) -> Holds:
    """Return the holds that are in force at a time (seconds), including those on everything that a held session has taught. Read them
    before the items that they are about."""
    held = Holds(store.value(KEY), store.value(MARKS_KEY), now)
    if held.sessions:
        for project in {total.project for total in store.totals()}:
            for session, hold in held.sessions.items():
                lesson = read_lesson(store, project, session)
                held.items.update((id, hold) for id in lesson.writes if id not in held.items)
    return held


def touch_marks(batch: Batch) -> None:
    """Record in a batch that it makes or takes back a mark, so that decisions by the earlier marks are made again."""
    if any("marked_at" in change.to for change in batch.change):
        batch.values[MARKS_KEY] = os.urandom(8).hex()


def entries(value: object) -> list[Mapping[str, object]]:
    """Return all holds, past and present, as the store has them."""
    return [*as_objects(value)]


def in_words(hold: Hold) -> str:
    """Return who wants a hold, why, and until when: "alice: audit, until 2027-01-01"."""
    end = f", until {time.strftime('%Y-%m-%d', time.gmtime(hold.until))}" if isinstance(hold.until, (int, float)) else ""
    return f"{hold.who}: {hold.why}{end}"


def refuse(items: Iterable[Item], held: Holds) -> None:
    """Raise ItemOnHold for the first of these items that a hold keeps."""
    for item in items:
        hold = held.on(item)
        if hold:
            raise ItemOnHold(f"{item.id} is on hold ({in_words(hold)})", str(hold.id))


def drop(batch: Batch, ids: set[str]) -> list[dict[str, object]]:
    """Remove from a batch all that it would do to these items; return the audit entries that were removed."""
    batch.change = [change for change in batch.change if change.id not in ids]
    batch.remove = [id for id in batch.remove if id not in ids]
    for id in ids:
        batch.originals.pop(id, None)
    dropped = [entry for entry in batch.log if entry.get("id") in ids]
    batch.log = [entry for entry in batch.log if entry.get("id") not in ids]
    return dropped
