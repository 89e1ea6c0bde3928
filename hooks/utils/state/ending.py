"""End a session: what lives no longer than it expires, and what it taught is learnt."""

from __future__ import annotations

from ..io import files
from ..policy import engine, events
from . import collecting, journal, live, memory, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.ruleset import Ruleset
    from .site import Site


def end(site: Site, now: float, why: str) -> None:
    """End what lives for the session. The transcript does not tell of it, so the journal does."""
    paths, entry = site.paths(), journal.ended(why, now)

    def observe(stored: store.Stored, rules: Ruleset) -> None:
        store.journal(paths, entry)
        engine.observe(stored.state, events.SessionEnded(now, why), rules)

    try:
        live.change(site, paths, "", observe)
    except files.LockTimeout:
        from . import pending

        pending.note(paths, entries=[entry])


def start_jobs(site: Site, transcript_path: str, now: float) -> None:
    """Start the child that learns what the session has taught so far, if memory is on for the project; else the one that collects, if a
    retention policy wants it. The one that learns collects, too."""
    learns = False
    if memory.is_used(site.home):
        from . import remembering

        learns = remembering.learn(site, transcript_path, now)
    if not learns:
        collecting.start(site.home, site.environ, now)
