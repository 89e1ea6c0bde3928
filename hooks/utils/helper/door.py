"""The door: a row in, a row out. Archives what stays outside before it answers, and journals what the conversation will not tell."""

from __future__ import annotations

import json  # noqa: TID253  no hook loads the helper
import os
import time

from .. import archive
from ..hosts import protocol
from ..io import failures, files, home
from ..policy import door
from ..policy.classify import classify
from ..policy.estimate import estimate_tokens
from ..reclaim.places import stamp_of
from ..state import journal, live, provider_cleared, store
from ..state.archived import errors, task_id
from ..state.site import Site
from . import rows
from .contexts import MOST_BYTES, Context, learnt, path_of, stand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..policy.calls import Call
    from ..policy.classify import Classification
    from .rows import Arrived

# Of the time that the mod waits for a row (seconds, by default) so much is ours: a result that takes longer to look at enters whole.
_DOOR_S, _SHARE = 0.15, 0.7
_BUSY_SHARE = 1 / 3  # for a transaction of somebody else in the archive


def _seconds(configured: str | None) -> float:
    """How long the mod waits for a row: `configured` in milliseconds, where that is a number."""
    return int(configured) / 1000 if configured and configured.isdigit() and int(configured) else _DOOR_S


class Door:
    """The contexts of one session. Not for several threads at once: the server holds a lock. `later(work)` does what needs not be done
    before the answer; `entered(text, kind)` is told of every result as it stands in a context."""

    def __init__(
        self, environ: Mapping[str, str], session_id: str, transcript_path: str, cwd: str, later: Callable[..., None],
        entered: Callable[[str, str], None] = lambda text, kind: None,
    ) -> None:  # fmt: skip
        self.environ = environ
        self.host = protocol.of(environ)
        self.session_id = session_id
        self.transcript_path = transcript_path
        self.cwd = cwd
        self.later = later
        self.entered = entered
        self.contexts: dict[str, Context] = {}
        self.returning: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {}
        self.rewritten = 0
        self.is_archive_sound = False  # it has taken something in, and nothing has failed since
        waits_s = _seconds(environ.get("POPKIT_DOOR_MS"))
        self.time_s, self.busy_s = _SHARE * waits_s, _BUSY_SHARE * waits_s
        self.refresh()

    def refresh(self) -> None:
        """The configuration may have changed."""
        self.site = Site(self.environ, self.session_id, self.cwd)
        self.rules = self.site.rules()
        self.settings = door.Settings(self.rules.say_once, self.rules.shape)
        self.editing = provider_cleared.editing_of(self.environ)

    def context(self, agent_id: str) -> Context:
        """The context of the main thread ("") or of a subagent, learnt from its transcript the first time."""
        known = self.contexts.pop(agent_id, None)
        if known is None:
            known = learnt(self.site, self.transcript_of(agent_id), agent_id, self.cwd, self.settings.say_once, self.editing, self.entered)
        self.contexts[agent_id] = known  # the one that was asked about last stands last
        self._lighten()
        return known

    def _lighten(self) -> None:
        """Nobody says that a subagent is done: of all contexts together no more is held than of one. Subagents let go first, and of these
        those that were silent the longest."""
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

    # --- what is told ---------------------------------------------------------------------------------------------------------------

    def stands(self, agent_id: str, ids: list[str]) -> None:
        """These results stand in the context now, and no others. One that the door has not seen was there before it: then the transcript
        tells."""
        known = self.contexts.get(agent_id)
        if known is not None and not set(ids) <= known.numbers.keys():
            del self.contexts[agent_id]
        self.context(agent_id).keep(set(ids))

    def turn(self) -> None:
        """A turn begins: the configuration may have changed, and requests may have lacked results that the journal does not name yet."""
        self.refresh()
        self.returning.clear()
        for agent_id, context in self.contexts.items():
            if context.is_cut:
                self.later(live.follow, self.site, self.site.paths(agent_id), self.transcript_of(agent_id))

    def compacting(self, agent_id: str, uses: dict[str, tuple[str, dict[str, Any]]]) -> None:
        """A context is folded. The results of these calls (id -> tool, input) may stand in it afterwards: then they come in once more."""
        self.returning[agent_id] = uses

    def compacted(self, agent_id: str) -> None:
        """The conversation of a context was folded."""
        if agent_id in self.contexts:
            self.contexts[agent_id].compacted()
        elif self.returning.get(agent_id):
            self.contexts[agent_id] = Context()  # its transcript does not tell yet what is left

    def late(self, agent_id: str, ids: list[str]) -> None:
        """The answer for these came too late: they have entered whole."""
        for id in ids:
            store.journal(self.site.paths(agent_id), journal.entered_whole(id, time.time()))

    # --- a row ----------------------------------------------------------------------------------------------------------------------

    def row(self, row: dict[str, Any], calls: dict[str, Any], agent_id: str, cwd: str) -> list[Any] | None:
        """The blocks of a row as they enter the context, None where they do so as they came. `calls`: id of a tool use -> {tool, input}."""
        if not self.site.enabled:
            return None
        began = time.monotonic()
        context = self.context(agent_id)
        was_cut = context.is_cut
        context.answered(self.transcript_of(agent_id), self.editing)
        if context.is_cut and not was_cut:
            self.later(live.follow, self.site, self.site.paths(agent_id), self.transcript_of(agent_id))
        blocks: list[Any] | None = None
        for arrived in rows.results_of(row):
            call = calls.get(arrived.id)
            if arrived.id in context.numbers:
                continue  # handed in twice
            if not isinstance(call, dict):
                self._again(context, arrived, agent_id)
                continue
            made = self.host.arriving_call(arrived.id, call, arrived.error, time.time(), cwd)
            text = self._enter(context, arrived, made, agent_id, began)
            if text is not None:
                blocks = list(rows.blocks_of(row)) if blocks is None else blocks
                blocks[arrived.at] = {**blocks[arrived.at], "content": arrived.saying(text)}
        return blocks

    def _again(self, context: Context, arrived: Arrived, agent_id: str) -> None:
        """A result that nobody called for now: it stood before a compaction, and stands on as it is. Where its call is not known, nothing
        can name it."""
        context.arrive(arrived.id)
        tool, tool_input = self.returning.get(agent_id, {}).pop(arrived.id, ("", {}))
        if not tool:
            return
        call = self.host.arriving_call(arrived.id, {"tool": tool, "input": tool_input}, arrived.error, time.time(), self.cwd)
        found = classify(call, self.cwd, self.rules)
        name, path = door.name_of(tool, tool_input, self.cwd), path_of(call.traits, found.subjects)
        arrival = door.Arrival(arrived.id, call.traits, tool_input, found.kind, name, arrived.text, arrived.error, path)
        stand(context, arrival, self.settings.say_once)

    def _enter(self, context: Context, arrived: Arrived, call: Call, agent_id: str, began: float) -> str | None:
        """What enters of a result, None for all of it; the context knows it from then on."""
        found = classify(call, call.cwd or self.cwd, self.rules)
        context.arrive(arrived.id)
        content = json.dumps(arrived.content, ensure_ascii=False, separators=(",", ":"))
        chain = archive.Chain(
            task_id(self.session_id, agent_id), self.session_id, agent_id, self.site.session_project, self.transcript_path
        )
        asked = (call.tool, call.tool_input)
        name = door.name_of(*asked, self.cwd)
        path, handle = path_of(call.traits, found.subjects), archive.handle_of(chain, arrived.id, content)
        arrival = door.Arrival(
            arrived.id, call.traits, call.tool_input, found.kind, name, arrived.text, arrived.error, path, asked == context.before, handle
        )  # fmt: skip
        entry = door.enter(arrival, context.shown, self.settings) if arrived.whole else door.Entry(arrived.text, (), ())
        if entry.reasons and (time.monotonic() - began > self.time_s or not self._kept(chain, arrival, found, content)):
            entry = door.Entry(arrived.text, (), ())
        self.entered(entry.text, found.kind)
        context.grown += estimate_tokens(entry.text, found.content)
        context.before = asked if door.is_partial(entry) else ()
        for source in door.shows(arrival, entry.text, self.settings):
            context.show(source)
        if not entry.reasons:
            return None
        self._note(agent_id, arrival, entry, found)
        self.rewritten += 1
        return entry.text

    def _kept(self, chain: archive.Chain, arrival: door.Arrival, found: Classification, content: str) -> bool:
        """Whether the archive has the whole, under the handle that the entering text may name."""
        tokens = estimate_tokens(arrival.text, found.content)
        new = archive.NewRecord(arrival.id, found.kind, found.label, content, stamp_of(time.time()), found.subjects, tokens)
        path = home.archive_path(self.site.home)
        try:
            if self.is_archive_sound and os.path.exists(path):
                archive.leave(path, chain, new)
                self.later(self._archive, path)
                return True
            files.make_private_folder(self.site.home)
            db = archive.open_archive(path, busy_s=self.busy_s)
            try:
                self.is_archive_sound = archive.add_records(db, chain, [new]).ids == [arrival.handle]
            finally:
                db.close()
        except errors() as error:
            failures.record(self.environ, "door", error)
            self.is_archive_sound = False
        return self.is_archive_sound

    def _archive(self, path: str) -> None:
        """Takes in what was left beside the archive."""
        try:
            archive.open_archive(path).close()
        except errors():
            self.is_archive_sound = False
            raise

    def _note(self, agent_id: str, arrival: door.Arrival, entry: door.Entry, found: Classification) -> None:
        tokens = estimate_tokens(entry.text, found.content)
        noted = journal.entered(
            arrival.id, entry.leans_on, arrival.handle, len(arrival.text), len(entry.text), tokens, entry.reasons, time.time()
        )  # fmt: skip
        paths = self.site.paths(agent_id)
        store.journal(paths, noted)
        event = journal.event_of(noted)
        self.later(live.note, self.site, paths, [], event)
