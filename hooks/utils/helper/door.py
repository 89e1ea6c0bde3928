"""Decide what enters the context from each row: a row in, a row out.

What stays outside is archived before the answer, and journalled where the conversation does not record it.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook loads the helper
import os
import time

from .. import archive
from ..archive.beside import leave_beside
from ..hosts import protocol
from ..io import files, home, hook_log
from ..policy import door
from ..policy.calls import Call, Outcome
from ..policy.classify import classify
from ..policy.estimate import estimate_tokens
from ..policy.events import Entered
from ..policy.messages import Use
from ..policy.ways import mask_ahead
from ..reclaim.access import chain_of
from ..reclaim.contents import stamp_of
from ..state import context_editing, journal, noting, reconciling, store
from ..state.archived import errors
from ..state.site import Site
from .shown_context import MOST_BYTES, Context, resumed_context, show_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..policy.classify import Classification
    from .arriving import ArrivingCall, ArrivingResult, Row

# The share of the time that the mod waits for a row which is ours: a result that takes longer to look at enters whole.
_DOOR_S, _SHARE = 0.15, 0.7
_BUSY_SHARE = 1 / 3  # for another process's transaction in the archive
# So many subagents are known at once: no more work beside each other, and one that comes back is learnt from its transcript.
MOST_AGENTS = 24


def _seconds(configured: str | None) -> float:
    """Return how long the mod waits for a row: `configured` in milliseconds, where that is a number."""
    return int(configured) / 1000 if configured and configured.isdecimal() and int(configured) else _DOOR_S


class Door:
    """The contexts of one session. Not for several threads at once: the server holds a lock. `later(work)` does what need not be done
    before the answer."""

    def __init__(
        self, environ: Mapping[str, str], session_id: str, transcript_path: str, cwd: str, later: Callable[..., None]
    ) -> None:  # fmt: skip
        self.environ = environ
        self.host = protocol.of(session_id)
        self.session_id = session_id
        self.transcript_path = transcript_path
        self.cwd = cwd
        self.later = later
        self.contexts: dict[str, Context] = {}
        self.returning: dict[str, dict[str, ArrivingCall]] = {}
        # Subagents whose stored state does not know of their compaction yet (no hook tells of it) -> its epoch.
        self.folded: dict[str, int] = {}
        self.rewritten = 0
        self.is_archive_sound = False  # it has taken something in, and nothing has failed since
        waits_s = _seconds(environ.get("POPKIT_DOOR_MS"))
        self.time_s, self.busy_s = _SHARE * waits_s, _BUSY_SHARE * waits_s
        self.refresh()

    def refresh(self) -> None:
        """Read the configuration again: it may have changed."""
        self.site = Site(self.environ, self.session_id, self.cwd)
        self.rules = self.site.rules()
        self.settings = door.Settings(self.rules.say_once, self.rules.shape)
        self.editing = context_editing.editing_of(self.environ)

    def forget(self) -> None:
        """Drop our knowledge of the contexts, as the rules of the session have changed: rows may have passed unread."""
        self.refresh()
        self.contexts.clear()
        self.returning.clear()

    def context(self, agent_id: str) -> Context:
        """Return the context of the main thread ("") or of a subagent, learnt from its transcript the first time."""
        known = self.contexts.pop(agent_id, None)
        if known is None:
            known = resumed_context(
                self.site, self.transcript_of(agent_id), agent_id, self.cwd, self.settings.say_once, self.editing, self.later
            )
        self.contexts[agent_id] = known  # the one used last comes last
        self._lighten()
        return known

    def _lighten(self) -> None:
        """Hold no more of all contexts together than of one: no event says when a subagent is done. Subagents give way first, and of these
        those that were silent the longest; too many are forgotten whole."""
        silent = [agent_id for agent_id in self.contexts if agent_id]
        for agent_id in silent[: max(0, len(silent) - MOST_AGENTS)]:
            del self.contexts[agent_id]
        weight = sum(context.weight for context in self.contexts.values())
        *others, _ = sorted(self.contexts, key=lambda agent_id: not agent_id) if "" not in [*self.contexts][-1:] else self.contexts
        for context in map(self.contexts.__getitem__, others):
            if weight <= MOST_BYTES:
                return
            weight -= context.weight
            context.lighten(0)

    def transcript_of(self, agent_id: str) -> str:
        if not agent_id:
            return self.transcript_path
        return os.path.join(self.transcript_path.removesuffix(".jsonl"), "subagents", f"agent-{home.safe_name(agent_id)}.jsonl")

    def keep(self, agent_id: str, ids: list[str]) -> None:
        """Keep these results of a context, and no others. An unknown one was there before the door: then the transcript is read again."""
        known = self.contexts.get(agent_id)
        if known is not None and not all(id in known.numbers for id in ids):
            del self.contexts[agent_id]
        self.context(agent_id).keep(set(ids))

    def turn(self) -> None:
        """Begin a turn: the configuration may have changed, and requests may have lacked results that the journal does not name yet."""
        self.refresh()
        self.returning.clear()
        for agent_id, context in self.contexts.items():
            if context.is_cut:
                self.later(reconciling.rebuild_if_small, self.site, self.site.paths(agent_id), self.transcript_of(agent_id))

    def compacting(self, agent_id: str, calls: dict[str, ArrivingCall]) -> None:
        """Note the calls of a context that is folded: a result of theirs that is still there afterwards comes in again."""
        self.returning[agent_id] = calls

    def compacted(self, agent_id: str) -> None:
        """Empty a context, whose conversation was folded. A subagent's stored state follows as soon as its transcript tells of that, which
        may be some rows later."""
        stored = store.read_unlocked(self.site.paths(agent_id)) if agent_id else None
        if stored is not None:
            self.folded[agent_id] = stored.state.epoch
        if agent_id in self.contexts:
            self.contexts[agent_id].compacted()
        elif self.returning.get(agent_id):
            self.contexts[agent_id] = Context()  # its transcript does not tell yet what is left

    def relearn(self, agent_id: str) -> None:
        """Drop what is known of a context: its transcript tells what is left of it."""
        self.contexts.pop(agent_id, None)

    def _follow(self, agent_id: str) -> None:
        """Let the stored state of a subagent follow its compaction; the next row tries again where the transcript does not tell yet."""
        paths = self.site.paths(agent_id)
        reconciling.rebuild_if_small(self.site, paths, self.transcript_of(agent_id))
        stored = store.read_unlocked(paths)
        if stored is None or stored.state.epoch != self.folded.get(agent_id):
            self.folded.pop(agent_id, None)

    def late(self, agent_id: str, ids: list[str]) -> None:
        """Journal that these have entered whole: the answer for them came too late."""
        for id in ids if self.site.enabled else ():
            store.journal(self.site.paths(agent_id), journal.entered_whole(id, time.time()))

    def row(self, row: Row, calls: dict[str, ArrivingCall], agent_id: str, cwd: str) -> list[Any] | None:
        """Return the blocks of a row as they enter the context, None where they do so as they came. `calls`: by the id of a tool use."""
        if not self.site.enabled or not row.results:
            return None
        began = time.monotonic()
        context = self.context(agent_id)
        # A new call tells of a request: all that the compaction left is written. What comes in again may be half of that.
        for folded in tuple(self.folded) if calls else ():  # the other thread takes them out
            self.later(self._follow, folded)
        was_cut = context.is_cut
        context.read_newest_answer(self.transcript_of(agent_id), self.editing)
        if context.is_cut and not was_cut:
            self.later(reconciling.rebuild_if_small, self.site, self.site.paths(agent_id), self.transcript_of(agent_id))
        blocks: list[Any] | None = None
        for arrived in row.results:
            called = calls.get(arrived.id)
            if arrived.id in context.numbers:
                continue  # handed in twice
            if called is None:
                self._again(context, arrived, agent_id)
                continue
            called.learn()
            text = self._enter(context, arrived, self._call(arrived, called, cwd), agent_id, began)
            if text is not None:
                blocks = list(row.blocks) if blocks is None else blocks
                content = arrived.with_text(text) if arrived.is_ours_to_shorten else arrived.marked()
                blocks[arrived.at] = {**blocks[arrived.at], "content": content}
        return blocks

    def _call(self, arrived: ArrivingResult, called: ArrivingCall, cwd: str) -> Call:
        return Call(arrived.id, self.host.TOOLS.of(called.tool), called.input, Outcome(error=arrived.error), time.time(), cwd)

    def _again(self, context: Context, arrived: ArrivingResult, agent_id: str) -> None:
        """Take in a result that no call has just brought: it was there before a compaction, and stays as it is. Where its call is not
        known, nothing can name it."""
        context.arrive(arrived.id)
        called = self.returning.get(agent_id, {}).pop(arrived.id, None)
        if called is None or not called.tool:
            return
        call = self._call(arrived, called, self.cwd)
        show_whole(context, self._arrival(arrived, call, classify(call, self.cwd, self.rules)), self.settings.say_once)

    def _arrival(
        self, arrived: ArrivingResult, call: Call, classified: Classification, is_continued: bool = False, handle: str = ""
    ) -> door.Arrival:  # fmt: skip
        name, path = door.name_of(call.traits, call.tool_input, self.cwd), door.path_of(call.traits, classified.subjects, classified.parts)
        return door.Arrival(
            arrived.id, call.traits, call.tool_input, classified.kind, name, arrived.text, arrived.error, path, is_continued, handle
        )

    def _enter(self, context: Context, arrived: ArrivingResult, call: Call, agent_id: str, began: float) -> str | None:
        """Return what enters of a result, None for all of it; the context knows it from then on."""
        classified = classify(call, call.cwd or self.cwd, self.rules)
        context.arrive(arrived.id)
        content = json.dumps(arrived.content, ensure_ascii=False, separators=(",", ":"))
        chain = chain_of(self.site, self.transcript_path, agent_id)
        signature = (call.tool, call.tool_input)
        handle = archive.handle_of(chain, arrived.id, content)
        arrival = self._arrival(arrived, call, classified, signature == context.before, handle)
        whole = door.enter_whole(arrival, self.settings)
        entry = door.enter(arrival, context.shown, self.settings) if arrived.is_ours_to_shorten else whole
        if entry.reasons and (time.monotonic() - began > self.time_s or not self._archived(chain, arrival, classified, content)):
            entry = door.Entry(whole.text, (), ())
        self.later(mask_ahead, Use(arrived.id, call.traits, call.tool_input))
        context.grown += estimate_tokens(entry.text, classified.content)
        context.before = signature if door.is_partial(entry) else ()
        for source in door.shows(arrival, entry.text, self.settings):
            context.show(source)
        if entry.reasons:
            self._note(agent_id, arrival, entry, classified)
            self.rewritten += 1
        return entry.text if entry.text != arrived.text else None

    def _archived(self, chain: archive.Chain, arrival: door.Arrival, classified: Classification, content: str) -> bool:
        """Archive the whole of a result, under the handle that the entering text may name; return whether that is done."""
        tokens = estimate_tokens(arrival.text, classified.content)
        new = archive.NewRecord(arrival.id, classified.kind, classified.label, content, stamp_of(time.time()), classified.subjects, tokens)
        path = home.archive_path(self.site.home)
        try:
            if self.is_archive_sound and os.path.exists(path):
                leave_beside(path, chain, new)
                self.later(self._archive, path)
                return True
            files.make_private_folder(self.site.home)
            db = archive.open_archive(path, busy_s=self.busy_s)
            try:
                self.is_archive_sound = archive.add_records(db, chain, [new]) == [arrival.handle]
            finally:
                db.close()
        except errors() as error:
            hook_log.log_failure(self.environ, "door", error)
            self.is_archive_sound = False
        return self.is_archive_sound

    def _archive(self, path: str) -> None:
        """Open the archive, which takes in what was left beside it."""
        try:
            archive.open_archive(path).close()
        except errors():
            self.is_archive_sound = False
            raise

    def _note(self, agent_id: str, arrival: door.Arrival, entry: door.Entry, classified: Classification) -> None:
        tokens = estimate_tokens(entry.text, classified.content)
        noted = journal.entered(
            arrival.id, entry.leans_on, arrival.handle, len(arrival.text), len(entry.text), tokens, entry.reasons, time.time()
        )  # fmt: skip
        paths = self.site.paths(agent_id)
        store.journal(paths, noted)
        event = journal.event_of(noted)
        if isinstance(event, Entered):
            self.later(noting.note_entered, self.site, paths, event)
