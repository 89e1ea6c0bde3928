"""The stores in our folder, which doctor, uninstall and the page go through."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module

from popkit_retention.core.io import storage
from popkit_retention.core.units import size

from .. import features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from popkit_retention.core.io.storage import Storage

# The modules that declare a STORAGE, in the order in which doctor checks them: those of no feature, between which features have theirs.
_FIRST = (
    "popkit_retention.core.archive",
    "popkit_retention.core.config.fields",
    "popkit_retention.core.config.gone",
    "popkit_retention.core.hosts.opencode.kept_transcripts",
    "popkit_retention.core.hosts.pi.kept_transcripts",
    "popkit_retention.core.io.hook_log",
    "popkit_retention.core.reclaim.auto_compaction",
    "popkit_retention.core.state.limit_readings",
    "popkit_retention.core.state.prompt_breakdowns",
    "popkit_retention.core.state.status_line",
    "popkit_retention.core.state.sockets",
    "popkit_retention.core.state.closed",
    "popkit_retention.core.state.sweeping",
    "popkit_retention.extras",
)
_LAST = ("popkit_retention.cli.doctor_failures", "popkit_retention.cli.shell_setup", "popkit_retention.cli.claude_settings")


def declaring() -> tuple[str, ...]:
    """Return the modules that declare a STORAGE."""
    return (*_FIRST, *(module for feature in features.every() for module in feature.stores), *_LAST)


@lru_cache(maxsize=1)
def every() -> tuple[Storage, ...]:
    """Return the STORAGE of all stores."""
    return tuple(store for name in declaring() for store in import_module(name).STORAGE)


def owner(popkit_home: str, path: str) -> Storage | None:
    """Return the store that a file below our folder belongs to; None for a file that PopKit did not make. The folder may hold other things:
    POPKIT_HOME can be the host's own folder, or the user's, each with a `projects` of its own."""
    below = storage.below(popkit_home, path)
    return next((store for store in every() if store.owns(popkit_home, below)), None)


def folders() -> set[str]:
    """Return the names of the folders that PopKit makes directly in its own."""
    return {folder.partition("/")[0] for store in every() for folder in store.files if folder}


def trees(popkit_home: str) -> Iterator[str]:
    """Yield the folders in which files may be ours, beginning with our own. Links are left out."""
    for folder in sorted({folder for store in every() for folder in store.files if folder}):
        first = os.path.join(popkit_home, folder.partition("/")[0])
        if not os.path.islink(first) and not os.path.islink(os.path.join(popkit_home, folder)):
            yield folder


def paths(popkit_home: str) -> Iterator[str]:
    """Yield all files that may be ours: directly in our folder, and below the folders that PopKit makes in it."""
    for folder in ("", *trees(popkit_home)):
        yield from storage.paths_in(popkit_home, folder)


def sizes(popkit_home: str) -> dict[str, dict[str, int]]:
    """Return title -> {`files`, `bytes`} of what is there, the largest first; "" is for files in these folders that PopKit did not make."""
    by_title: dict[str, dict[str, int]] = {}
    for path in paths(popkit_home):
        store = owner(popkit_home, path)
        known = by_title.setdefault(store.title if store else "", {"files": 0, "bytes": 0})
        known["files"] += 1
        known["bytes"] += storage.size_of(path)
    return dict(sorted(by_title.items(), key=lambda entry: -entry[1]["bytes"]))


def is_shared(popkit_home: str) -> bool:
    """Return whether our folder is shared: POPKIT_HOME is the host's folder, or the user's."""
    ours = folders()
    return any(name not in ours and not owner(popkit_home, os.path.join(popkit_home, name)) for name in os.listdir(popkit_home))


def in_words(sizes: Mapping[str, Mapping[str, int]]) -> str:
    """Return titles and sizes, as in: archive 12 MB, kept originals 47 MB. Empty ones are left out."""
    return ", ".join(f"{title or 'other files'} {size(figures['bytes'])}" for title, figures in sizes.items() if figures["bytes"])
