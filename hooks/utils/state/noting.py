"""Journal the events of a context, which its stored state then follows."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps
from ..policy import engine
from ..policy.events import ProfileChosen
from . import journal, store
from .opening import REST_FROM, open_context
from .site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..policy.events import Entered, Event


def note(site: Site, paths: store.ContextFiles, entries: Sequence[journal.Entry], *also: Event) -> None:
    """Journal entries, and apply them and `also` these events to the stored state. Without a stored state there is nothing to update; where
    another process holds the lock, the next reconcile does it."""
    try:
        with paths.locked():
            _follow_entries(site, paths, entries, also)
    except files.LockTimeout:
        for entry in entries:
            store.journal(paths, entry)


def _follow_entries(site: Site, paths: store.ContextFiles, entries: Sequence[journal.Entry], also: Iterable[Event]) -> None:
    for entry in entries:
        store.journal(paths, entry)
    stored = store.load(paths)
    if stored is None:
        return
    stored.state.expired = store.read_expired(paths, stored.state)
    rules = site.rules_for(stored.state.profile)
    engine.reindex(stored.state, rules)
    for event in (*map(journal.event_of, entries), *also):
        if isinstance(event, ProfileChosen):
            rules = site.rules_for(event.profile)
        if event is not None:
            engine.observe(stored.state, event, rules)
    store.save_rebuilt(paths, stored)


def note_entered(site: Site, paths: store.ContextFiles, event: Entered) -> None:
    """Let the stored state follow that a result has entered shorter, which happens with many a call: a state that does not know the result
    yet is not loaded, and of a large one that does little more than its row. Where another process holds the lock the next reconcile does
    it."""
    id = files.encoded(dumps(event.id))
    try:
        with paths.locked():
            known = store.load(paths, REST_FROM) if _is_named(id, paths.state) else None
            if known is not None:
                stored, rules = open_context(site, paths, known)
                if event.id in stored.state.live:
                    engine.observe(stored.state, event, rules)
                    store.save(paths, stored, rules)
                    return
            if _is_named(id, paths.expired):
                _follow_entries(site, paths, (), (event,))
    except files.LockTimeout:
        return


def _is_named(id: bytes, path: str) -> bool:
    """Return whether a file of a context names a result."""
    data = files.read_bytes(path)
    return data is not None and id in data
