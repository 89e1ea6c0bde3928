"""Reconcile contexts with their transcripts, which are read without the lock: one before a person is answered, others once their sessions
have gone on.

A context is settled whenever it is rebuilt, and most sessions go on afterwards: so their sums are settled again before they are shown, and
each session when it ends. What the provider or the host has cleared from requests is noted once in the journal, which state, panel and
ledger follow.
"""

from __future__ import annotations

import time

from ..hosts.claude_code import projects
from ..io import files
from ..io.codec import dumps, loads
from ..io.system import now as time_of_day
from ..io.system import os
from ..policy import engine
from ..policy.context import ContextState
from ..policy.events import ProfileChosen, Tick
from . import journal, pending, session, store, stored_contexts
from .opening import REST_FROM, is_small, open_context
from .site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ..policy.conversation import Conversation
    from ..policy.events import Entered, Event
    from ..policy.lacking import Editing
    from .pending import Waiting
    from .rebuild import Rebuilt

# A result that a hook saw is in the transcript after this many seconds, or never (its line was lost, its session rewound).
TRANSCRIPT_LAG_S = 5.0
# How often a transcript is read again because a hook has written meanwhile.
_TRIES = 3
# Bytes of transcripts that one call reads again; a second is enough for some 20 MB.
SETTLED_BYTES = 32 << 20
# The entries of a journal that the ledger books.
_BOOKED = tuple(f'"event":"{kind}"' for kind in ("entered", "clear", "outside", "undo", "advice", "memory"))
# JSON that the client merges into the body of each request.
VARIABLE = "CLAUDE_CODE_EXTRA_BODY"
HOW = "left out of the request by the provider"
HOW_UNASKED = "left out of the request by Claude Code"
# The provider's own defaults.
_TRIGGER, _KEEP = 100_000, 3


def remember_size(site: Site, paths: store.ContextFiles, fresh: Rebuilt) -> None:
    """Keep the size at which the host compacted the session by itself: hooks read only the end of the transcript."""
    tokens = fresh.conversation.compacted_tokens
    if tokens and not paths.agent_id and site.session.get("compacted_tokens") != tokens:
        site.remember(compacted_tokens=tokens)


def refreshed(site: Site, paths: store.ContextFiles, transcript_path: str, patience: int) -> tuple[Rebuilt, bool]:
    """Return (the Rebuilt of a context, whether it was saved). Read without the lock, and save with it if nothing was written meanwhile;
    otherwise read a small transcript again, a few times. `patience`: how often to wait for lines that come late."""
    tries = _TRIES if is_small(transcript_path) else 1
    while True:
        mark, old, waiting = store.context_stamp(paths), store.read_unlocked(paths), pending.rows(paths)
        fresh = rebuilt(site, paths, transcript_path)
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


def _saved(paths: store.ContextFiles, fresh: Rebuilt, old: store.Stored | None, mark: store.Stamp, waiting: list[Waiting]) -> bool:
    """Save what was rebuilt; return whether that was possible: no other process has written since, or holds the lock."""
    try:
        with paths.locked():
            if store.context_stamp(paths) != mark:
                return False
            if old is None:
                store.load(paths)  # sets a corrupt one aside
            stored = store.Stored(fresh.state, old.watched if old else None)
            done = pending.settle(paths, stored, waiting, fresh.index.result_ids, fresh.conversation.rules.tools)
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
        entries = _readable_journal(site, paths)
        return rebuild(transcript_path, entries, site.rules_for, paths.session_id, paths.agent_id, originals, watch)
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
    for entry in entries:
        store.journal(paths, entry)
    stored = store.load(paths)
    if stored is None:
        return
    stored.state.expired = store.read_expired(paths, stored.state)
    rules = site.rules_for(stored.state.profile)
    engine.reindex(stored.state, rules)
    for event in (*map(journal.event_of, entries), *also):
        if isinstance(event, ProfileChosen):
            rules = site.rules_for(event.profile)
        if event is not None:
            engine.observe(stored.state, event, rules)
    store.save_rebuilt(paths, stored)


def note_entered(site: Site, paths: store.ContextFiles, event: Entered) -> None:
    """Let the stored state follow that a result has entered shorter, which happens with many a call: a state that does not know the result
    yet is not loaded, and of a large one that does little more than its row. Where another process holds the lock the next reconcile does
    it."""
    id = files.encoded(dumps(event.id))
    try:
        with paths.locked():
            known = store.load(paths, REST_FROM) if _is_named(id, paths.state) else None
            if known is not None:
                stored, rules = open_context(site, paths, known)
                if event.id in stored.state.live:
                    engine.observe(stored.state, event, rules)
                    store.save(paths, stored)
                    return
            if _is_named(id, paths.expired):
                _follow_entries(site, paths, (), (event,))
    except files.LockTimeout:
        return


def _is_named(id: bytes, path: str) -> bool:
    """Return whether a file of a context names a result; read by the line, as it may be long."""
    try:
        with files.open_regular(path) as file:
            return any(id in line for line in file)
    except FileNotFoundError:
        return False


def lags_behind(fresh: Rebuilt, known: ContextState, now: float) -> bool:
    """Return whether hooks have just seen a compaction or results that the transcript does not hold yet (the host writes up to 190 ms
    late)."""
    if fresh.index.compactions < known.epoch and now - known.at < TRANSCRIPT_LAG_S:
        return True
    return any(now - result.at < TRANSCRIPT_LAG_S and result.id not in fresh.index.result_ids for result in known.live.values())


def _readable_journal(site: Site, paths: store.ContextFiles) -> list[Any]:
    try:
        return journal_of(site, paths)
    except OSError:
        return []  # the journal cannot be read: the transcript has to do


def journal_of(site: Site, paths: store.ContextFiles) -> list[Any]:
    """Return the journal of a context; a subagent's begins with the profiles that the main thread chose for all."""
    entries = store.read_lines(paths.journal) + pending.entries(pending.rows(paths))
    if paths.agent_id:
        shared = store.read_lines(site.paths().journal)
        entries = [entry for entry in shared if isinstance(entry, dict) and entry.get("event") == "profile"] + entries
    return entries


def reconcile(site: Site, transcript_path: str, agent_id: str = "", now: float = 0.0) -> Rebuilt:
    """Return the Rebuilt of a context, saved as its state if no other process is at work; in the answer TTLs by the clock are brought up to
    now. OSError when the transcript cannot be read."""
    fresh, _ = refreshed(site, site.paths(agent_id), transcript_path, 4)
    if now:  # for the answer only: what is saved stays what transcript and journal give
        engine.observe(fresh.state, Tick(now), site.rules_for(fresh.state.profile))
    return fresh


# --- what the provider clears ---


def editing_of(environ: Mapping[str, str]) -> Editing | None:
    """Return the context editing that the client's environment asks of the provider; None for none, or for one that is not understood."""
    text = environ.get(VARIABLE)
    if not text:
        return None
    from ..hosts.claude_code.usage import CLEAR

    try:
        body: Any = loads(text)
        [edit] = [edit for edit in body["context_management"]["edits"] if edit["type"] == CLEAR]
    except (ValueError, LookupError, TypeError):
        return None
    trigger, keep, least = edit.get("trigger"), _value_of(edit.get("keep"), _KEEP), _value_of(edit.get("clear_at_least"), 0)
    counts_tokens = not isinstance(trigger, dict) or trigger.get("type") == "input_tokens"
    excluded = edit.get("exclude_tools")
    names = tuple(name for name in excluded if isinstance(name, str)) if isinstance(excluded, list) else ()
    from ..policy.lacking import Editing

    return Editing(_value_of(trigger, _TRIGGER) if counts_tokens else 0, keep, least, names)


def _value_of(setting: object, otherwise: int) -> int:
    """Return the number that a setting of context editing has; `otherwise` where it has none."""
    value = setting.get("value") if isinstance(setting, dict) else None
    return value if type(value) is int and value >= 0 else otherwise


def note_cleared(paths: store.ContextFiles, fresh: Rebuilt, editing: Editing | None) -> bool:
    """Journal the results that requests lacked; return whether there were any new ones. Two processes at the same time note them once."""
    from ..policy.lacking import lacking_steps

    steps = lacking_steps(fresh.conversation, editing)
    if not steps:
        return False
    try:
        with paths.locked():
            known = journal.ids_outside(store.read_lines(paths.journal))
            new = [(step, [id for id in step.ids if id not in known]) for step in steps]
            new = [(step, ids) for step, ids in new if ids]
            for step, ids in new:
                tokens = round(step.tokens * len(ids) / len(step.ids))
                is_asked = editing is not None
                store.journal(paths, journal.cleared_outside(ids, tokens, HOW if is_asked else HOW_UNASKED, step.at, is_asked))
    except OSError:
        return False  # another process is at work, or nothing can be written: the next look notes them
    return bool(new)


# --- what the ledger has not booked yet ---


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
    due = [(*one, paths) for paths in contexts for one in _due_of(paths, transcript_path, "")]
    for size, transcript, paths in sorted(due, key=lambda one: one[0]):
        left -= size
        if left < 0:
            return
        try:
            reconcile(site, transcript, paths.agent_id)
        except (OSError, ValueError):
            continue  # it cannot be read: its earlier sums stay


def catch_up(site: Site, but: str = "") -> int:
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
            continue  # it cannot be read: its earlier sums stay
    return remaining


def _site_of(site: Site, session_id: str) -> Site:
    """Return the site of another session, with the configuration of the project that it was begun in."""
    environ = {name: value for name, value in site.environ.items() if name != "CLAUDE_PROJECT_DIR"}
    return Site(environ, session_id, session.read(site.home, session_id).get("project") or "")


def _due(popkit_home: str, but: str) -> Iterator[tuple[int, store.ContextFiles, str]]:
    """Yield (bytes of the transcript, context, transcript) of the contexts with bookings whose transcript has gone on since."""
    for paths, _ in stored_contexts.contexts(popkit_home):
        transcript = session.read(popkit_home, paths.session_id).get("transcript") or ""
        for size, own in _due_of(paths, transcript, but):
            yield size, paths, own


def _due_of(paths: store.ContextFiles, transcript: str, but: str) -> Iterator[tuple[int, str]]:
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
