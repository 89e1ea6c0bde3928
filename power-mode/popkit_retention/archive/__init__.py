"""The archive from Python, for agents of one's own.

    with Archive() as archive:  # that of your sessions
        for found in archive.search("timeout"):
            print(found.record.id, found.lines)

Each name is loaded on first use.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "Archive": ".archive",
    "AsyncArchive": ".asynchronous",
    "Breach": "popkit_retention.core.archive.verification",
    "ContentGone": ".archive",
    "Match": "popkit_retention.core.archive.searching",
    "Hold": "popkit_retention.core.retention_kit.holds",
    "Record": "popkit_retention.core.archive",
    "RecordNotFound": "popkit_retention.core.archive",
    "RetentionIntegrityError": "popkit_retention.core.archive",
    "SearchUnavailable": "popkit_retention.core.archive.searching",
    "StoreError": "popkit_retention.core.io.sqlite_file",
    "Verification": "popkit_retention.core.archive.verification",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.archive import Record, RecordNotFound, RetentionIntegrityError
    from popkit_retention.core.archive.searching import Match, SearchUnavailable
    from popkit_retention.core.archive.verification import Breach, Verification
    from popkit_retention.core.io.sqlite_file import StoreError
    from popkit_retention.core.retention_kit.holds import Hold

    from .archive import Archive, ContentGone
    from .asynchronous import AsyncArchive

__all__ = [
    "Archive",
    "AsyncArchive",
    "Breach",
    "ContentGone",
    "Hold",
    "Match",
    "Record",
    "RecordNotFound",
    "RetentionIntegrityError",
    "SearchUnavailable",
    "StoreError",
    "Verification",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
