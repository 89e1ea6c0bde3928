"""Ledgers follow their transcripts: a context is settled whenever it is rebuilt, and most sessions go on afterwards. So what has gone on
is settled again before sums are told, and each session when it ends.
"""

from __future__ import annotations

from ..hosts.claude_code import projects
from ..io import files
from ..io.system import os
from . import live, peek, session
from .site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .store import ContextFiles

# With one question so many bytes of transcripts are read again; a second is enough for some 20 MB.
BYTES = 32 << 20
# What of a journal is booked.
_BOOKED = tuple(f'"event":"{kind}"' for kind in ("entered", "warmed", "clear", "outside", "undo", "advice", "memory"))


def is_due(site: Site, transcript_path: str) -> bool:
    """Whether anything is booked in the main context of a session, and its transcript is not too large for a hook."""
    try:
        return bool(transcript_path) and os.stat(transcript_path).st_size <= live.REBUILD_BYTES and _is_booked(site.paths())
    except (OSError, ValueError):
        return False


def settle(site: Site, transcript_path: str) -> None:
    """Settles the main context of a session."""
    try:
        live.reconcile(site, transcript_path)
    except (OSError, ValueError):
        return  # what was settled of it stays


def settle_agents(site: Site, transcript_path: str) -> None:
    """Settles the subagents of a session that have gone on since, as far as BYTES go, the smallest first."""
    left = BYTES
    found = [paths for paths in peek.contexts_of(site.home, site.session_id) if paths.agent_id]
    due = [(*told, paths) for paths in found for told in _due_of(paths, transcript_path, "")]
    for size, transcript, paths in sorted(due, key=lambda told: told[0]):
        left -= size
        if left < 0:
            return
        try:
            live.reconcile(site, transcript, paths.agent_id)
        except (OSError, ValueError):
            continue  # it cannot be read: what was settled of it stays


def catch_up(site: Site, but: str = "") -> int:
    """Settles the contexts of all sessions whose transcripts have gone on since, the smallest first, as far as BYTES go, but at least one;
    returns how many remain. `but`: a transcript that was read just now."""
    left, remaining = BYTES, 0
    for number, (size, paths, transcript) in enumerate(sorted(_due(site.home, but), key=lambda found: found[0])):
        left -= size
        if left < 0 and number:
            remaining += 1
            continue
        try:
            live.reconcile(_site_of(site, paths.session_id), transcript, paths.agent_id)
        except (OSError, ValueError):
            continue  # it cannot be read: what was settled of it stays
    return remaining


def _site_of(site: Site, session_id: str) -> Site:
    """The site of another session, with the configuration of the project that it was begun in."""
    environ = {name: value for name, value in site.environ.items() if name != "CLAUDE_PROJECT_DIR"}
    return Site(environ, session_id, session.read(site.home, session_id).get("project") or "")


def _due(popkit_home: str, but: str) -> Iterator[tuple[int, ContextFiles, str]]:
    """(bytes of the transcript, context, transcript) of those of which something is booked, and whose transcript has gone on since."""
    for seen in peek.contexts(popkit_home):
        transcript = session.read(popkit_home, seen.paths.session_id).get("transcript") or ""
        for size, own in _due_of(seen.paths, transcript, but):
            yield size, seen.paths, own


def _due_of(paths: ContextFiles, transcript: str, but: str) -> Iterator[tuple[int, str]]:
    """(bytes of its transcript, transcript) of a context that is due, of a session with this transcript."""
    if transcript and paths.agent_id:
        transcript = projects.transcript_of_agent(transcript, paths.agent_id)
    try:
        size = os.stat(transcript).st_size if transcript and transcript != but else 0
        state = peek.state(paths) if size and _is_booked(paths) else None
    except (OSError, ValueError):
        return  # nothing to settle from, or nothing to settle
    # A folder may have another name than its session.
    if state is not None and state.session_id == paths.session_id and state.agent_id == paths.agent_id and state.counts.settled != size:
        yield size, transcript


def _is_booked(paths: ContextFiles) -> bool:
    """Whether a journal has anything that the ledger books."""
    journal = files.read_text(paths.journal) or ""
    return any(mark in journal for mark in _BOOKED)
