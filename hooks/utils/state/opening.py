"""Open the state of a context as stored, or a new one, with its rules."""

from __future__ import annotations

from ..io.system import os
from ..policy import engine
from ..policy.context import ContextState
from . import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.ruleset import Ruleset
    from .site import Site

# A hook that finds no state rebuilds it from a transcript of at most this size; a larger one waits until a person asks.
REBUILD_BYTES = 16 * 1024 * 1024
# From this size on (bytes), rows of a state that a call does not concern stay unparsed.
REST_FROM = 16_000


def open_context(site: Site, paths: store.ContextFiles, known: store.StoredState | None) -> tuple[store.StoredState, Ruleset]:
    """Return (the stored context, or a new one for None; the rules under its profile). The caller holds the lock."""
    stored = known
    if stored is None:
        stored = store.StoredState(ContextState(paths.session_id, paths.agent_id))
        stored.state.profile = site.session.profile
    rules = site.rules_for(stored.state.profile)
    if known is None and site.session.model:
        stored.state.calibration = rules.models.model(site.session.model).tokens
    if stored.rows is not None:
        stored.rows.open(stored.state, rules)
    else:
        engine.reindex(stored.state, rules)
    if paths.agent_id and site.session.profile != stored.state.profile:
        from ..policy.events import ProfileChosen

        rules = site.rules()
        engine.observe(stored.state, ProfileChosen(site.session.profile, stored.state.at), rules)
    return stored, rules


def is_small(transcript_path: str) -> bool:
    """Return whether there is a transcript, of a size that a hook has time for."""
    try:
        return bool(transcript_path) and os.stat(transcript_path).st_size <= REBUILD_BYTES
    except (OSError, ValueError):
        return False
