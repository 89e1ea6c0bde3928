"""A context as the hooks keep it: load, observe one event, save; and reconcile it with the transcript before a person is answered.

Transcripts are read without the lock; what a hook cannot add because another process holds it waits beside the state (pending.py).
"""

from __future__ import annotations

import time

from ..hosts.claude_code import calls
from ..io import files
from ..io.system import now as time_of_day
from ..io.system import os
from ..policy import engine
from ..policy.context import ContextState
from ..policy.ruleset import Ruleset
from ..policy.tools import EDITS
from . import store
from .site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from ..policy.conversation import Conversation
    from ..policy.events import Event
    from ..policy.lifecycle import Decision
    from ..policy.tools import Call
    from .pending import Waiting
    from .rebuild import Rebuilt

# A hook that finds no state rebuilds it from a transcript of at most this size; a larger one waits until a person asks.
REBUILD_BYTES = 16 * 1024 * 1024
# A result that a hook saw is in the transcript after this many seconds, or never (its line was lost, its session rewound).
TRANSCRIPT_LAG_S = 5.0
# From this size on (bytes), rows of a state that a call does not concern stay unparsed.
REST_FROM = 16_000
# How often a transcript is read again because a hook has written meanwhile.
_TRIES = 3


def site_of(payload: dict[str, Any], environ: Mapping[str, str]) -> Site | None:
    """Return the site of the session that a payload names; None when it names none, or where PopKit is switched off."""
    session_id = calls.text(payload, "session_id")
    if not session_id:
        return None
    site = Site(environ, session_id, calls.text(payload, "cwd"))
    return site if site.enabled else None


def change(site: Site, paths: store.ContextFiles, transcript_path: str, work: Callable[[store.Stored, Ruleset], object]) -> None:
    """Let `work(stored, rules)` change a context, after what is pending in it, and save it unless the answer is False. A context that is
    not stored is rebuilt first, without the lock. LockTimeout when another process holds it for too long."""
    for is_last in (False, True):
        with paths.locked():
            known = store.load(paths, REST_FROM)
            if known is not None or is_last or not _is_small(transcript_path):
                stored, rules = open_context(site, paths, known)
                done = _taken_in(paths, stored, rules)
                if work(stored, rules) is not False or done:
                    store.save(paths, stored)
                if done:
                    from . import pending

                    pending.remove(done)
                return
        rebuild_if_small(site, paths, transcript_path)


def _taken_in(paths: store.ContextFiles, stored: store.Stored, rules: Ruleset) -> list[str]:
    if not files.spilled(paths.state):
        return []
    from . import pending

    return pending.take_in(paths, stored, rules, lambda call: observe_call(paths, stored, call, rules, False))


def open_context(site: Site, paths: store.ContextFiles, known: store.Stored | None) -> tuple[store.Stored, Ruleset]:
    """Return (the stored context, or a new one for None; the rules under its profile). The caller holds the lock."""
    stored = known
    if stored is None:
        stored = store.Stored(ContextState(paths.session_id, paths.agent_id))
        stored.state.profile = site.session.get("profile")
    rules = site.rules_for(stored.state.profile)
    if stored.rows is not None:
        stored.rows.open(stored.state, rules)
    else:
        engine.reindex(stored.state, rules)
    stored.rules = rules
    if paths.agent_id and site.session.get("profile") != stored.state.profile:
        from ..policy.events import ProfileChosen

        rules = stored.rules = site.rules()
        engine.observe(stored.state, ProfileChosen(site.session.get("profile"), stored.state.at), rules)
    return stored, rules


def rebuild_if_small(site: Site, paths: store.ContextFiles, transcript_path: str) -> bool:
    """Rebuild a context from its transcript; return whether it was saved: not where there is none, none that a hook has time for, or one
    that the host has not finished writing."""
    try:
        if not _is_small(transcript_path):
            return False
        made, saved = _refreshed(site, paths, transcript_path, 0)
        remember_size(site, paths, made)
        return saved
    except (OSError, ValueError):
        return False


def remember_size(site: Site, paths: store.ContextFiles, made: Rebuilt) -> None:
    """Keep the size at which the host compacted the session by itself: hooks read only the end of the transcript."""
    tokens = made.conversation.compacted_tokens
    if tokens and not paths.agent_id and site.session.get("compacted_tokens") != tokens:
        site.remember(compacted_tokens=tokens)


def _is_small(transcript_path: str) -> bool:
    try:
        return bool(transcript_path) and os.stat(transcript_path).st_size <= REBUILD_BYTES
    except (OSError, ValueError):
        return False


def _refreshed(site: Site, paths: store.ContextFiles, transcript_path: str, patience: int) -> tuple[Rebuilt, bool]:
    """Return (the Rebuilt of a context, whether it was saved). Read without the lock, and save with it if nothing was written meanwhile;
    otherwise read a small transcript again, a few times. `patience`: how often to wait for lines that come late."""
    from . import pending, provider_cleared

    tries = _TRIES if _is_small(transcript_path) else 1
    while True:
        mark, old, waiting = store.context_stamp(paths), store.read_unlocked(paths), pending.rows(paths)
        made = rebuilt(site, paths, transcript_path)
        if provider_cleared.note(paths, made, provider_cleared.editing_of(site.environ)):
            continue
        if old is not None and lags_behind(made, old.state, time_of_day(site.environ)):
            if not patience or not files.patience.left_s:
                return made, False
            patience -= 1
            began = time.monotonic()
            time.sleep(min(TRANSCRIPT_LAG_S / 50, files.patience.left_s))
            files.patience.spend_since(began)
            continue
        tries -= 1
        saved = _saved(paths, made, old, mark, waiting)
        if saved or not tries:
            return made, saved


def _saved(paths: store.ContextFiles, made: Rebuilt, old: store.Stored | None, mark: store.Stamp, waiting: list[Waiting]) -> bool:
    """Save what was rebuilt; return whether that was possible: no other process has written since, or holds the lock."""
    from . import pending

    try:
        with paths.locked():
            if store.context_stamp(paths) != mark:
                return False
            if old is None:
                store.load(paths)  # sets a corrupt one aside
            stored = store.Stored(made.state, old.watched if old else None)
            done = pending.settle(paths, stored, waiting, made.index.result_ids, made.conversation.rules.tools)
            store.save_rebuilt(paths, stored)
            pending.remove(done)
            return True
    except files.LockTimeout:
        return False


def rebuilt(
    site: Site, paths: store.ContextFiles, transcript_path: str, watch: Callable[[dict[str, Any], Conversation], object] | None = None
) -> Rebuilt:
    """Return the Rebuilt of a context, from its transcript, its journal and what is archived of it; changes nothing. `watch`: see
    `rebuild`."""
    from .archived import Originals
    from .rebuild import rebuild

    originals = Originals(site.home)
    try:
        journal = _readable_journal(site, paths)
        return rebuild(transcript_path, journal, site.rules_for, paths.session_id, paths.agent_id, originals, watch)
    finally:
        originals.close()


def note(site: Site, paths: store.ContextFiles, entries: Sequence[dict[str, Any]], *also: Event) -> None:
    """Journal entries, and let the stored state follow them and `also` these events. Where nothing is stored there is nothing to follow;
    where another process holds the lock the next reconcile does it."""
    try:
        with paths.locked():
            _follow_entries(site, paths, entries, also)
    except files.LockTimeout:
        for entry in entries:
            store.journal(paths, entry)


def _follow_entries(site: Site, paths: store.ContextFiles, entries: Sequence[dict[str, Any]], also: Iterable[Event]) -> None:
    from ..policy.events import ProfileChosen
    from .journal import event_of

    for entry in entries:
        store.journal(paths, entry)
    stored = store.load(paths)
    if stored is None:
        return
    stored.state.expired = store.read_expired(paths, stored.state)
    rules = site.rules_for(stored.state.profile)
    engine.reindex(stored.state, rules)
    for event in (*map(event_of, entries), *also):
        if isinstance(event, ProfileChosen):
            rules = site.rules_for(event.profile)
        if event is not None:
            engine.observe(stored.state, event, rules)
    store.save_rebuilt(paths, stored)


def lags_behind(made: Rebuilt, known: ContextState, now: float) -> bool:
    """Return whether hooks have just seen a compaction or results that the transcript does not hold yet (the host writes up to 190 ms
    late)."""
    if made.index.compactions < known.epoch and now - known.at < TRANSCRIPT_LAG_S:
        return True
    return any(now - result.at < TRANSCRIPT_LAG_S and result.id not in made.index.result_ids for result in known.live.values())


def _readable_journal(site: Site, paths: store.ContextFiles) -> list[Any]:
    try:
        return journal_of(site, paths)
    except OSError:
        return []  # the journal cannot be read: the transcript has to do


def journal_of(site: Site, paths: store.ContextFiles) -> list[Any]:
    """Return the journal of a context; a subagent's begins with the profiles that the main thread chose for all."""
    from . import pending

    entries = store.read_lines(paths.journal) + pending.entries(pending.rows(paths))
    if paths.agent_id:
        shared = store.read_lines(site.paths().journal)
        entries = [entry for entry in shared if isinstance(entry, dict) and entry.get("event") == "profile"] + entries
    return entries


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
                seen = store.file_stamp(path)
                if seen is not None:
                    stored.watched.add(path, seen)
    return decisions


def notice_changes(
    paths: store.ContextFiles, stored: store.Stored, rules: Ruleset, at: float, call_id: str = "", most: int = 0
) -> list[Decision]:
    """Expire what was read of files that have changed on disk by other means than the edit tools; look at so many of them (0 for all)."""
    changes = store.changed_files(stored.watched, most)
    if not changes:
        return []
    for path in changes:
        stored.watched.drop(path)
    from ..policy.events import FilesChanged  # seldom
    from . import journal

    store.journal(paths, journal.files_changed(changes, at, call_id))
    return engine.observe(stored.state, FilesChanged(changes, at), rules)


def end_session(site: Site, now: float, why: str) -> None:
    """Expire what lives for the session. The transcript does not tell of its end, so the journal does."""
    from ..policy.events import SessionEnded
    from . import journal, pending

    paths, entry = site.paths(), journal.ended(why, now)

    def observe(stored: store.Stored, rules: Ruleset) -> None:
        store.journal(paths, entry)
        engine.observe(stored.state, SessionEnded(now, why), rules)

    try:
        change(site, paths, "", observe)
    except files.LockTimeout:
        pending.note(paths, entries=[entry])


def reconcile(site: Site, transcript_path: str, agent_id: str = "", now: float = 0.0) -> Rebuilt:
    """Return the Rebuilt of a context, saved as its state if no other process is at work; in the answer TTLs by the clock are brought up to
    now. OSError when the transcript cannot be read."""
    made, _ = _refreshed(site, site.paths(agent_id), transcript_path, 4)
    if now:  # for the answer only: what is saved stays what transcript and journal give
        from ..policy.events import Tick

        engine.observe(made.state, Tick(now), site.rules_for(made.state.profile))
    return made
