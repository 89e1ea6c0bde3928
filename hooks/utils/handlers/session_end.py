"""A session ends; it may be resumed later."""

from __future__ import annotations

from ..edges import clock, live, store
from ..edges.payload import text
from ..policy import engine, events


def handle(payload: dict, environ) -> None:
    """Ends what lives for the session. The transcript does not tell of it, so the journal does."""
    session_id = text(payload, "session_id")
    if not session_id:
        return
    site = live.Site(environ, session_id, text(payload, "cwd"))
    rules = site.rules()
    if not rules.enabled:
        return
    now = clock.now(environ)
    paths = site.paths()
    with paths.locked():
        stored = store.load(paths)
        if stored is None:
            return  # nothing was tracked
        engine.reindex(stored.state, rules)
        store.journal(paths, {"event": "end", "at": now, "why": text(payload, "reason")})
        engine.observe(stored.state, events.SessionEnded(now, text(payload, "reason")), rules)
        store.save(paths, stored)
