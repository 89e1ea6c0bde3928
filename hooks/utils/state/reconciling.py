"""Reconcile a context with its transcript, read without the lock, before a person is answered.

What the provider or the host has cleared from requests is noted once in the journal, which state, panel and ledger follow.
"""

from __future__ import annotations

import time

from ..io import files
from ..io.system import now as time_of_day
from ..policy import engine
from ..policy.context import ContextState
from ..policy.events import Tick
from . import journal, pending, store, watched_files
from .context_editing import editing_of, note_cleared
from .opening import is_small
from .site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .journal import Entry
    from .pending import Observation
    from .rebuild import Rebuild, Watch

# A result that a hook saw is in the transcript after this many seconds, or never (its line was lost, its session rewound).
TRANSCRIPT_LAG_S = 5.0
# How often a transcript is read again because a hook has written meanwhile.
_TRIES = 3


def remember_size(site: Site, paths: store.ContextFiles, fresh: Rebuild) -> None:
    """Keep the size at which the host compacted the session by itself: hooks read only the end of the transcript."""
    tokens = fresh.conversation.compacted_tokens
    if tokens and not paths.agent_id:
        site.remember(compacted_tokens=tokens)


def refreshed(site: Site, paths: store.ContextFiles, transcript_path: str, patience: int) -> tuple[Rebuild, bool]:
    """Return (the Rebuilt of a context, whether it was saved). Read without the lock, and save with it if nothing was written meanwhile;
    otherwise read a small transcript again, a few times. `patience`: how often to wait for lines that come late; it is read again once it
    has changed."""
    tries = _TRIES if is_small(transcript_path) else 1
    fresh, made_of = None, None
    while True:
        mark, old, waiting = store.context_stamp(paths), store.read_unlocked(paths), pending.observations(paths)
        stands = mark, watched_files.file_stamp(transcript_path)
        if fresh is None or stands != made_of:
            fresh, made_of = rebuilt(site, paths, transcript_path), stands
        if note_cleared(paths, fresh, editing_of(site.environ)):
            continue
        if old is not None and lags_behind(fresh, old.state, time_of_day(site.environ)):
            if not patience or not files.patience.left_s:
                return fresh, False
            patience -= 1
            began = time.monotonic()
            time.sleep(min(TRANSCRIPT_LAG_S / 50, files.patience.left_s))
            files.patience.spend_since(began)
            continue
        tries -= 1
        saved = _saved(paths, fresh, old, mark, waiting)
        if saved or not tries:
            return fresh, saved


def rebuild_if_small(site: Site, paths: store.ContextFiles, transcript_path: str) -> bool:
    """Rebuild a context from its transcript; return whether it was saved: not where there is none, none that a hook has time for, or one
    that the host has not finished writing."""
    if not is_small(transcript_path):
        return False
    try:
        fresh, saved = refreshed(site, paths, transcript_path, 0)
        remember_size(site, paths, fresh)
        return saved
    except (OSError, ValueError):
        return False


def _saved(paths: store.ContextFiles, fresh: Rebuild, old: store.StoredState | None, mark: store.Stamp, waiting: list[Observation]) -> bool:
    """Save what was rebuilt; return whether that was possible: no other process has written since, or holds the lock."""
    try:
        with paths.locked():
            if store.context_stamp(paths) != mark:
                return False
            if old is None:
                store.load(paths)  # sets a corrupt one aside
            stored = store.StoredState(fresh.state, old.watched if old else None)
            done = pending.settle(paths, stored, waiting, fresh.index.result_ids, fresh.conversation.rules.tools)
            store.save_rebuilt(paths, stored)
            pending.remove(done)
            return True
    except files.LockTimeout:
        return False


def rebuilt(site: Site, paths: store.ContextFiles, transcript_path: str, watch: Watch | None = None) -> Rebuild:
    """Return the Rebuilt of a context, from its transcript, its journal and its archived contents; changes nothing. `watch`: see
    `rebuild`."""
    from .archived import Originals
    from .rebuild import rebuild

    originals = Originals(site.home)
    try:
        entries = _readable_journal(site, paths)
        return rebuild(transcript_path, entries, site.rules_for, paths.session_id, paths.agent_id, originals, watch)
    finally:
        originals.close()


def lags_behind(fresh: Rebuild, known: ContextState, now: float) -> bool:
    """Return whether hooks have just seen a compaction or results that the transcript does not hold yet (the host writes up to 190 ms
    late)."""
    if fresh.index.compactions < known.epoch and now - known.at < TRANSCRIPT_LAG_S:
        return True
    return any(now - result.at < TRANSCRIPT_LAG_S and result.id not in fresh.index.result_ids for result in known.live.values())


def _readable_journal(site: Site, paths: store.ContextFiles) -> list[Entry]:
    try:
        return journal_of(site, paths)
    except OSError:
        return []  # the journal cannot be read: the transcript has to do


def journal_of(site: Site, paths: store.ContextFiles) -> list[Entry]:
    """Return the journal of a context; a subagent's begins with the profiles that the main thread chose for all."""
    entries = journal.read(paths) + pending.entries(pending.observations(paths))
    if paths.agent_id:
        entries = [entry for entry in journal.read(site.paths()) if entry["event"] == "profile"] + entries
    return entries


def reconcile(site: Site, transcript_path: str, agent_id: str = "", now: float | None = None) -> Rebuild:
    """Return the Rebuilt of a context, saved as its state if no other process is at work and it is not only read; in the answer TTLs by the
    clock are brought up to now. OSError when the transcript cannot be read."""
    paths = site.paths(agent_id)
    fresh = rebuilt(site, paths, transcript_path) if site.only_reads else refreshed(site, paths, transcript_path, 4)[0]
    if now:  # for the answer only: what is saved stays what transcript and journal give
        engine.observe(fresh.state, Tick(now), site.rules_for(fresh.state.profile))
    return fresh
