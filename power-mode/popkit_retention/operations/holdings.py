"""All stores that keep something in our folder: doctor, uninstall and the page go by this list."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module

from hooks.utils.io import storage
from hooks.utils.text import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hooks.utils.io.storage import Storage

# The modules that declare a STORAGE, in the order in which doctor checks them.
STORES = (
    "hooks.utils.archive.opening",
    "hooks.utils.config.fields",
    "hooks.utils.hosts.opencode.host",
    "hooks.utils.io.failures",
    "hooks.utils.state.warmth",
    "hooks.utils.reclaim.cold_compaction",
    "hooks.utils.state.limits",
    "hooks.utils.state.sockets",
    "hooks.utils.state.prompt_overhead",
    "hooks.utils.state.sweeping",
    "hooks.utils.state.trials",
    "popkit_retention.extras",
    "popkit_retention.memory.folder",
    "popkit_retention.governance.data_folder",
    "popkit_retention.governance.manifests",
    "popkit_retention.usage.database",
    "popkit_retention.bill.digests",
    "popkit_retention.dashboard.instance",
    "popkit_retention.cli.doctor_command",
    "popkit_retention.cli.opencode_before",
    "popkit_retention.cli.statusline_install",
)


@lru_cache(maxsize=1)
def every() -> tuple[Storage, ...]:
    """Return what all stores keep."""
    return tuple(each for name in STORES for each in import_module(name).STORAGE)


def owner(popkit_home: str, path: str) -> Storage | None:
    """Return whose a file below our folder is; None for what PopKit has not made. The folder may hold other things: POPKIT_HOME can be the
    host's own, or the user's, which have a `projects` of their own."""
    below = storage.below(popkit_home, path)
    return next((each for each in every() if each.owns(popkit_home, below)), None)


def folders() -> set[str]:
    """Return the names of the folders that PopKit makes directly in its own."""
    return {folder.partition("/")[0] for each in every() for folder in each.files if folder}


def trees(popkit_home: str) -> Iterator[str]:
    """Yield the folders, from ours on, below which files may be ours, links left out."""
    for folder in sorted({folder for each in every() for folder in each.files if folder}):
        first = os.path.join(popkit_home, folder.partition("/")[0])
        if not os.path.islink(first) and not os.path.islink(os.path.join(popkit_home, folder)):
            yield folder


def paths(popkit_home: str) -> Iterator[str]:
    """Yield the files where ours may be: directly in our folder, and below the folders that PopKit makes in it."""
    for folder in ("", *trees(popkit_home)):
        yield from storage.paths_in(popkit_home, folder)


def sizes(popkit_home: str) -> dict[str, dict[str, int]]:
    """Return title -> {`files`, `bytes`} of what is there, the large ones first; "" is what PopKit has not made, as far as
    that was looked at."""
    found: dict[str, dict[str, int]] = {}
    for path in paths(popkit_home):
        mine = owner(popkit_home, path)
        known = found.setdefault(mine.title if mine else "", {"files": 0, "bytes": 0})
        known["files"] += 1
        known["bytes"] += storage.size_of(path)
    return dict(sorted(found.items(), key=lambda each: -each[1]["bytes"]))


def is_shared(popkit_home: str) -> bool:
    """Return whether others keep something of their own in our folder: POPKIT_HOME is the host's, or the user's."""
    ours = folders()
    return any(name not in ours and not owner(popkit_home, os.path.join(popkit_home, name)) for name in os.listdir(popkit_home))


def in_words(sizes: Mapping[str, Mapping[str, int]]) -> str:
    """Return titles and sizes, as in: archive 12 MB, kept originals 47 MB. What is empty is left out."""
    return ", ".join(f"{title or 'other files'} {size(each['bytes'])}" for title, each in sizes.items() if each["bytes"])
