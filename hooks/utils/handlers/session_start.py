"""A session starts, is resumed, cleared or was just compacted."""

from __future__ import annotations

from ..edges import clock, live, session, store
from ..edges.payload import text
from ..policy import engine, events


def handle(payload: dict, environ) -> None:
    """Remembers what only this event tells (model, project, folder) and makes the state follow the transcript where there is one."""
    session_id = text(payload, "session_id")
    if not session_id:
        return
    site = live.Site(environ, session_id, text(payload, "cwd"))
    rules = site.rules()
    if not rules.enabled:
        return
    facts = {"project": site.project, "transcript": text(payload, "transcript_path")}
    if text(payload, "model"):
        facts["model"] = text(payload, "model")
    compacted = text(payload, "source") == "compact"
    if compacted:
        facts["compacted"] = True
    session.update(site.home, session_id, **facts)
    paths = site.paths()
    with paths.locked():
        before = store.load(paths)
        stored = live.rebuilt_if_small(site, paths, facts["transcript"], before) or before
        if stored is None:
            stored = live.open_context(site, paths, rules)
        engine.reindex(stored.state, rules)
        if stored.state.index == 0:
            stored.state.cwd = text(payload, "cwd")
        if compacted and before is not None and stored.state.epoch == before.state.epoch:
            engine.observe(stored.state, events.Compacted(clock.now(environ)), rules)
        store.save(paths, stored)
