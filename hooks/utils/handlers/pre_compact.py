"""The conversation is about to be folded into a summary."""

from __future__ import annotations

from ..edges import live, store
from ..edges.payload import text


def handle(payload: dict, environ) -> None:
    """Brings the state up to date with the transcript while all of it is still the context: calls that fired no hook are counted, a
    rewound branch is dropped. The compaction itself ends what is live when SessionStart(compact) says that it happened."""
    site = live.site_of(payload, environ)
    if site is None:
        return
    paths = site.paths()
    with paths.locked():
        live.rebuilt_if_small(site, paths, text(payload, "transcript_path"), store.load(paths))
