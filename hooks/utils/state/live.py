"""Let a context follow what happens in its session, as the hooks see it: load, observe one event, save.

What a hook cannot add because another process holds the lock waits beside the state (pending.py).
"""

from __future__ import annotations

from ..io import files
from ..policy import engine
from ..policy.tools import EDITS
from . import store, watched_files
from .opening import REST_FROM, is_small, open_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..policy.calls import Call
    from ..policy.lifecycle import Decision
    from ..policy.ruleset import Ruleset
    from .site import Site


def change(site: Site, paths: store.ContextFiles, transcript_path: str, work: Callable[[store.Stored, Ruleset], object]) -> None:
    """Let `work(stored, rules)` change a context, after what is pending in it, and save it unless the answer is False. A context that is
    not stored is rebuilt first, without the lock. LockTimeout when another process holds it for too long."""
    for is_last in (False, True):
        with paths.locked():
            known = store.load(paths, REST_FROM)
            if known is not None or is_last or not is_small(transcript_path):
                stored, rules = open_context(site, paths, known)
                done = _take_in_pending(paths, stored, rules)
                if work(stored, rules) is not False or done:
                    store.save(paths, stored)
                if done:
                    from . import pending

                    pending.remove(done)
                return
        from . import reconciling  # seldom

        reconciling.rebuild_if_small(site, paths, transcript_path)


def _take_in_pending(paths: store.ContextFiles, stored: store.Stored, rules: Ruleset) -> list[str]:
    if not files.spilled(paths.state):
        return []
    from . import pending

    return pending.take_in(paths, stored, rules, lambda call: observe_call(paths, stored, call, rules, False))


def add_call(site: Site, paths: store.ContextFiles, transcript_path: str, call: Call, commits: bool) -> None:
    """Observe a completed call in its context and save it; a call that is there already changes nothing, because a hook may be registered
    twice. What another process's lock keeps out waits beside the state."""

    def observe(stored: store.Stored, rules: Ruleset) -> bool:
        if call.id in stored.state.live:
            return False
        observe_call(paths, stored, call, rules, commits)
        return True

    try:
        change(site, paths, transcript_path, observe)
    except files.LockTimeout:
        from . import journal, pending

        pending.note(paths, call, entries=[journal.committed(call.id, call.committed, call.at)] if commits else [])


def observe_call(paths: store.ContextFiles, stored: store.Stored, call: Call, rules: Ruleset, commits: bool) -> list[Decision]:
    """Observe a completed call: first what it changed on disk, then itself; journal what the transcript will not tell."""
    if call.operation in EDITS and call.path and not call.outcome.error:
        stored.watched.drop(call.path)  # the agent itself edits it
    decisions = notice_changes(paths, stored, rules, call.at, call.id, store.LOOKED_AT)
    if commits:
        from . import journal  # seldom

        store.journal(paths, journal.committed(call.id, call.committed, call.at))
    decisions.extend(engine.observe(stored.state, call, rules))
    result = stored.state.live.get(call.id)
    if result is not None and not call.outcome.error:
        for part in result.parts:
            path = part[0][5:]
            if part[0].startswith("read:") and path not in stored.watched:
                seen = watched_files.file_stamp(path)
                if seen is not None:
                    stored.watched.add(path, seen)
    return decisions


def notice_changes(
    paths: store.ContextFiles, stored: store.Stored, rules: Ruleset, at: float, call_id: str = "", most: int = 0
) -> list[Decision]:
    """Expire what was read of files that have changed on disk by other means than the edit tools; look at the first `most` of them (0 for
    all)."""
    changes = watched_files.changed_files(stored.watched, most)
    if not changes:
        return []
    for path in changes:
        stored.watched.drop(path)
    from ..policy.events import FilesChanged  # seldom
    from . import journal

    store.journal(paths, journal.files_changed(changes, at, call_id))
    return engine.observe(stored.state, FilesChanged(changes, at), rules)
