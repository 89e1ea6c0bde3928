"""Settle stale ledgers: those of sessions that have continued since they were counted.

A context is settled whenever it is rebuilt, and most sessions go on afterwards: so their sums are settled again before they are shown, and
each session when it ends.
"""

from __future__ import annotations

from ..hosts.transcripts import projects
from ..io import files
from ..io.system import os
from . import session, store, stored_contexts
from .opening import is_small
from .reconciling import reconcile
from .site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Bytes of transcripts that one call reads again; a second is enough for some 20 MB.
SETTLED_BYTES = 32 << 20
# The entries of a journal that the ledger books.
_BOOKED = tuple(f'"event":"{kind}"' for kind in ("entered", "clear", "outside", "undo", "advice", "memory"))


def is_due(site: Site, transcript_path: str) -> bool:
    """Return whether anything is booked in the main context of a session, and its transcript is not too large for a hook."""
    try:
        return is_small(transcript_path) and _is_booked(site.paths())
    except (OSError, ValueError):
        return False


def settle(site: Site, transcript_path: str) -> None:
    """Settle the main context of a session."""
    try:
        reconcile(site, transcript_path)
    except (OSError, ValueError):
        return  # its earlier sums stay


def settle_agents(site: Site, transcript_path: str) -> None:
    """Settle the subagents of a session that have gone on since, the smallest first, as far as SETTLED_BYTES go."""
    left = SETTLED_BYTES
    contexts = [paths for paths in stored_contexts.contexts_of(site.home, site.session_id) if paths.agent_id]
    due = [(*one, paths) for paths in contexts for one in _due_of(paths, transcript_path)]
    for size, transcript, paths in sorted(due):
        left -= size
        if left < 0:
            return
        try:
            reconcile(site, transcript, paths.agent_id)
        except (OSError, ValueError):
            pass  # it cannot be read: its earlier sums stay


def catch_up(site: Site, but: str | None = None) -> int:
    """Settle the contexts of all sessions whose transcripts have gone on since, the smallest first, as far as SETTLED_BYTES go, but at
    least one; return how many remain. `but`: a transcript that was read just now."""
    left, remaining = SETTLED_BYTES, 0
    for number, (size, paths, transcript) in enumerate(sorted(_due(site.home, but), key=lambda row: row[0])):
        left -= size
        if left < 0 and number:
            remaining += 1
            continue
        try:
            reconcile(_site_of(site, paths.session_id), transcript, paths.agent_id)
        except (OSError, ValueError):
            pass  # it cannot be read: its earlier sums stay
    return remaining


def _site_of(site: Site, session_id: str) -> Site:
    """Return the site of another session, with the configuration of the project that it was begun in."""
    environ = {name: value for name, value in site.environ.items() if name != "CLAUDE_PROJECT_DIR"}
    return Site(environ, session_id, session.read(site.home, session_id).project or "")


def _due(popkit_home: str, but: str | None) -> Iterator[tuple[int, store.ContextFiles, str]]:
    """Yield (bytes of the transcript, context, transcript) of the contexts with bookings whose transcript has gone on since."""
    for paths, _ in stored_contexts.contexts(popkit_home):
        transcript = session.read(popkit_home, paths.session_id).transcript or ""
        for size, own in _due_of(paths, transcript, but):
            yield size, paths, own


def _due_of(paths: store.ContextFiles, transcript: str, but: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield (bytes of its transcript, transcript) of a context that is due, of a session with this transcript."""
    if transcript and paths.agent_id:
        transcript = projects.transcript_of_agent(transcript, paths.agent_id)
    try:
        size = os.stat(transcript).st_size if transcript and transcript != but else 0
        state = stored_contexts.stored_state(paths) if size and _is_booked(paths) else None
    except (OSError, ValueError):
        return  # nothing to settle from, or nothing to settle
    # A folder may have another name than its session.
    if state is not None and state.session_id == paths.session_id and state.agent_id == paths.agent_id and state.counts.settled != size:
        yield size, transcript


def _is_booked(paths: store.ContextFiles) -> bool:
    """Return whether a journal has anything that the ledger books."""
    text = files.read_text(paths.journal) or ""
    return any(mark in text for mark in _BOOKED)
