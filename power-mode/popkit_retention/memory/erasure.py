"""Erasure: which items leave no copy once they are deleted.

An item that the user or an agent's tool wants forgotten is not learnt again, and leaves no copy in backups, in the text that sessions
received, or in freed space of the store's file. The forgotten ids are kept for each project beside its items. The job calls
`prepare_erasure` before it deletes and `finish_erasure` after it. A note in the store says what remains to be done, so that the next run
takes over from one that was killed or found the store in use.
"""

from __future__ import annotations

from popkit_retention.core.retention_kit import sweep

from . import exchange
from .holds import Holds, read
from .items import BY_TOOL, BY_USER
from .session_journals import blank_out
from .stores.protocol import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .folder import Folder
    from .items import Item
    from .stores.protocol import Batch, Store


FORGOTTEN_KEY = "forgotten:"  # and a project


def forgotten_ids(store: Store, project: str) -> Mapping[str, object]:
    """Return, as keys, the ids that a project must not learn again."""
    return mapping(store.value(FORGOTTEN_KEY + project))


def note_forgotten(batch: Batch, store: Store, items: Sequence[Item], forgotten: bool) -> None:
    """Record in a batch that these items are forgotten, or no longer so."""
    for project in {item.project for item in items}:
        before = set(forgotten_ids(store, project))
        mine = {item.id for item in items if item.project == project}
        batch.values[FORGOTTEN_KEY + project] = dict.fromkeys(sorted(before | mine if forgotten else before - mine), True)


def _erased_ids(store: Store, held: Holds) -> set[str]:
    """Return the ids of all projects that are forgotten and deleted, except those that a hold keeps."""
    by_project = {key[len(FORGOTTEN_KEY) :]: known for key, known in store.values(FORGOTTEN_KEY).items() if isinstance(known, dict)}
    ids = {id for project, known in by_project.items() for id in known if not held.keeping(id, (), project)}
    return ids - {item.id for item in store.get(sorted(ids))}


UNWIPED_KEY = "unwiped"  # of the value in the store that says so


def prepare_erasure(store: Store, folder: Folder | None, now: float) -> None:
    """Blank the words of items that are about to be deleted out of sessions' journals: afterwards nobody knows them."""
    held = read(store, now)
    going = [item for item in store.scan(marked=True, bare=True) if _goes(item, now, held)]
    if not going:
        return
    store.set_value(UNWIPED_KEY, True)
    if folder is not None:
        blank_out(folder.home, (text for item in going for text in _texts(store, item)))


def finish_erasure(store: Store, folder: Folder | None, now: float) -> None:
    """Remove deleted items from the backups, and rewrite the store's file without them."""
    if folder is not None:
        exchange.erase_from_backups(folder.backups, _erased_ids(store, read(store, now)))
    if store.value(UNWIPED_KEY) is not None and store.compact():
        store.set_value(UNWIPED_KEY, None)


def _goes(item: Item, now: float, held: Holds) -> bool:
    if item.marked_by not in (BY_USER, BY_TOOL):
        return False
    return sweep.next_step(item.mark, now, held=held.on(item) is not None) == sweep.DELETE


def _texts(store: Store, item: Item) -> Iterator[str]:
    yield item.text
    if item.original:
        yield store.original(item.id) or ""
    yield from (value for value in item.details.values() if isinstance(value, str))
