"""A tool call completed: its result gets a lifetime, and others may end. Silent: not one byte for the model."""

from __future__ import annotations

from ..edges import live, store
from ..edges.payload import call_of, text
from ..edges.system import now as time_of_day


def handle(payload: dict, environ) -> None:
    """Feeds the call to its context: the main thread, or the subagent that the payload names."""
    site = live.site_of(payload, environ)
    call = call_of(payload, time_of_day(environ))
    if site is None or call is None:
        return
    agent_id = text(payload, "agent_id")
    paths = site.paths(agent_id)
    with paths.locked():
        stored, rules = live.open_context(site, paths, "" if agent_id else text(payload, "transcript_path"))
        if call.id in stored.state.live:
            return  # the hook is registered twice
        live.observe_call(paths, stored, call, rules, payload)
        store.save(paths, stored)
