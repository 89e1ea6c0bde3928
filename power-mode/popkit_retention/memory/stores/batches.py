"""A batch as the methods of a store that make it up, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import Outdated

if TYPE_CHECKING:
    from . import Batch, Store


def write_all(store: Store, batch: Batch) -> None:
    """Makes the changes of a batch one by one: that they are one is for the caller to see to."""
    for key, value in batch.given.items():
        check_given(key, value, store.value(key))
    store.add(batch.add)
    store.change(batch.change)
    for id, text in batch.originals.items():
        store.keep_original(id, text)
    for ids, at, session in batch.access:
        store.access(ids, at, session)
    store.remove(batch.remove)
    for key, value in batch.values.items():
        store.set_value(key, value)
    store.log(batch.log)


def check_given(key: str, value: object, now: object) -> None:
    """Outdated where a value is not as it was read."""
    if now != value:
        raise Outdated(f"{key!r:.60} has been changed meanwhile. Try again")
