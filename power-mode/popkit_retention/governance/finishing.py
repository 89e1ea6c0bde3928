"""What a killed process has logged and not done is done, by whoever comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import archiving, collection, configuring, holding, restoring
from .errors import DomainUnavailable, TooNew

if TYPE_CHECKING:
    from collections.abc import Callable

    from .domains import Domain
    from .folder import Folder
    from .log import Entry, Log

    Finish = Callable[[Folder, Domain, Log, Entry, float], None]

_DEEDS: dict[str, Finish] = {
    collection.MARK: collection.finish_mark,
    collection.UNMARK: collection.finish_unmark,
    collection.DELETE: collection.finish_delete,
    archiving.ARCHIVE: archiving.finish_archive,
    archiving.REMOVE: archiving.finish_remove,
    restoring.RESTORE: restoring.finish_restore,
    holding.HOLD: holding.finish,
    holding.RELEASE: holding.finish,
}


def finish(folder: Folder, log: Log, domain: Callable[[str], Domain], now: float) -> None:
    """Finishes every deed that is not; the caller holds the lock. What a domain that cannot be used now has to do waits for it. TooNew for
    a deed that this PopKit does not know."""
    for entry in log.unfinished():
        deed = str((entry.todo or {}).get("do"))
        if deed == configuring.CONFIGURE:
            configuring.finish(folder, log, entry)
        elif deed in _DEEDS:
            try:
                _DEEDS[deed](folder, domain(entry.domain), log, entry, now)
            except DomainUnavailable:
                continue  # whoever asks for that domain is told
        else:
            raise TooNew(f"a later PopKit has begun something that this one cannot finish (entry {entry.number} of the log). Update PopKit")
