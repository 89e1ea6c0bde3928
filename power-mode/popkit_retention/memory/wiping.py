"""What the user or an agent's tool wants forgotten leaves no copy once it is deleted: neither in backups, nor in what sessions were given,
nor in what the store's file has freed.

The job calls `prepare` before it deletes and `finish` behind it. A note in the store says what is still to be done, so that a run that was
killed, or met a store in use, leaves it to the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import backups, forgotten, holds, struck
from .items import BY_TOOL, BY_USER
from .transitions import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .folder import Folder
    from .items import Item
    from .stores import Store

KEY = "unwiped"  # of the value in the store that says so


def prepare(store: Store, folder: Folder | None, now: float) -> None:
    """Strikes what is about to be deleted out of the journals of sessions: afterwards nobody knows its words."""
    going = [item for item in store.scan(marked=True, bare=True) if _goes(item, now)]
    if not going:
        return
    store.set_value(KEY, True)
    if folder is not None:
        struck.strike(folder.home, (text for item in going for text in _texts(store, item)))


def finish(store: Store, folder: Folder | None, now: float) -> None:
    """Takes what is deleted out of the backups, and has the store's file written anew without it."""
    if folder is not None:
        backups.forget(folder.backups, forgotten.gone(store, holds.read(store, now)))
    if store.value(KEY) is not None and store.compact():
        store.set_value(KEY, None)


def _goes(item: Item, now: float) -> bool:
    return item.marked_by in (BY_USER, BY_TOOL) and item.marked_at is not None and now - item.marked_at >= GRACE_S


def _texts(store: Store, item: Item) -> Iterator[str]:
    yield item.text
    if item.original:
        yield store.original(item.id) or ""
    yield from (value for value in item.details.values() if isinstance(value, str))
