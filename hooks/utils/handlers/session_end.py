"""A session ends; it may be resumed later."""

from __future__ import annotations

from ..edges import live, store
from ..edges.payload import text
from ..edges.system import now as time_of_day
from ..policy import engine, events


def handle(payload: dict, environ) -> None:
    """Ends what lives for the session. The transcript does not tell of it, so the journal does."""
    site = live.site_of(payload, environ)
    if site is None:
        return
    now = time_of_day(environ)
    paths = site.paths()
    with paths.locked():
        if store.load(paths) is None:
            return  # nothing was tracked
        stored, rules = live.open_context(site, paths)
        store.journal(paths, {"event": "end", "at": now, "why": text(payload, "reason")})
        engine.observe(stored.state, events.SessionEnded(now, text(payload, "reason")), rules)
        store.save(paths, stored)
