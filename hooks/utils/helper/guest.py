"""Do the work of hooks for a host without hooks of ours.

Its records are its own: its plugin hands over each result and each message. The messages are kept as a transcript, from which everything
else is read.
"""

from __future__ import annotations

import os
import time

from .. import retention_tracker
from ..hosts.protocol import guest_of
from ..io import files
from ..io.system import now as time_of_day
from ..policy.messages import MessagesNotUnderstood
from ..state import delivery, jobs, memory, pending, reconciling, stale_ledgers, store, sweeping
from .arriving import ArrivingCall, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..hosts.guests import ReportedResult
    from ..hosts.protocol import HostConversation, KeptTranscript
    from ..policy.calls import Call
    from ..policy.ruleset import Ruleset
    from ..state.site import Site
    from .compactions import CompactionAnswer
    from .door import Door

    Answer = Mapping[str, object]

_EXIT = "exit"  # why a session ends, in the words of Claude Code


class Guest:
    """A session of such a host. `site()`: its site, with the configuration of now · `later(work, *what)` does what need not be done before
    an answer, in order. Not for several threads at once, but for what is put off."""

    def __init__(self, door: Door, site: Callable[[], Site], later: Callable[..., None]) -> None:
        self.door = door
        self.site = site
        self.later = later
        self.host = guest_of(door.session_id)
        self.transcripts: dict[str, KeptTranscript] = {}  # by agent id
        self.is_begun = False

    def result(self, reported: ReportedResult) -> Answer:
        """Return {} for a result that enters as it came, else `output` as it enters."""
        call = self.host.completed_call(reported, time.time())
        if call is None:
            return {}
        self.later(self._observe, call, reported)
        block = {"type": "tool_result", "tool_use_id": call.id, "content": reported.output, "is_error": call.outcome.error}
        calls = {call.id: ArrivingCall({"tool": call.tool, "input": call.tool_input})}
        blocks = self.door.row(Row({"content": [block]}), calls, reported.agent_id, call.cwd)
        return {} if blocks is None else {"output": blocks[0]["content"]}

    def writing(self, tool: str, tool_input: dict[str, object], agent_id: str) -> Answer:
        """Return why a call may not run (`refused`), {} where it may: it would write a line of ours into a file."""
        from ..reclaim import refusing  # seldom

        site = self.site()
        traits = site.tools.of(tool)
        if not site.enabled or not refusing.may_write_one(traits, tool_input):
            return {}
        why = refusing.refusal(site, traits, tool_input, self.door.transcript_path, agent_id)
        return {"refused": why} if why else {}

    def messages(self, messages: list[Any], is_all: bool, removed: list[str], model: str, agent_id: str) -> None:
        """Take in messages that are done, or whatever the session holds (`is_all`), and ids of those that were `removed`."""
        self._begin(model)
        if not self.site().data_rules:
            self.later(self._keep, messages, is_all, agent_id)
        if removed:
            self.later(self._take_back, removed, agent_id)

    def prompt(self, model: str, agent_id: str) -> Answer:
        """Begin a turn; return `text` for the model, where MEMORY.md or the index after a compaction has not been given yet."""
        self._begin(model)
        site = self.site()
        self.later(self._prompted, agent_id)
        if agent_id or not site.enabled:
            return {}
        parts = []
        now = time_of_day(site.environ)
        if memory.is_used(site.home):
            parts.append(delivery.deliver(site, now))
        if site.session.compacted:
            from ..reclaim import compaction_advice

            site.remember(compacted=None)
            parts.append(compaction_advice.after(site, now) or "")
        text = "\n\n".join(filter(None, parts))
        return {"text": text} if text else {}

    def handover(self, entries: object, thinking: str) -> HostConversation | None:
        """Return the conversation that is handed over to be compacted; None where it is not understood."""
        try:
            return self.host.handover(entries, thinking)
        except MessagesNotUnderstood:
            return None

    def edited(self, handed: HostConversation | None, answer: CompactionAnswer) -> Answer:
        """Return the answer to a compaction in the host's own edits; without them where it is the host's, as one is that a summariser has
        to finish."""
        rest = {name: value for name, value in answer.items() if name in ("notice", "skip")}
        if handed is None or "rows" not in answer or answer.get("hand_on"):
            return rest
        try:
            return {**rest, **handed.edits(answer["rows"])}
        except MessagesNotUnderstood as error:
            return {"notice": f"Nothing was changed: {error}."}

    def mended(self, handed: HostConversation, now: float) -> Answer:
        """Return the `edits` after which no result of the conversation that is handed over names one which has left it."""
        from .mending import made_whole  # seldom

        results = [shown for row in handed.rows for shown in row["toolResults"]]
        site = self.site()
        whole = made_whole(site, "", {shown["tool_use_id"] for shown in results}, now) if site.enabled else {}
        for shown in results:
            shown["text"] = whole.get(shown["tool_use_id"], shown["text"])
        return {"edits": self.edited(handed, {"rows": handed.rows}).get("edits", [])} if whole else {}

    def result_ids(self, agent_id: str) -> list[str]:
        """Return the ids of the results in the context, once all deferred work is done."""
        return self._of(agent_id).ids()

    def end(self) -> None:
        """End the session for now, as the hook on its end does elsewhere; it may be resumed. Deferred work is done before."""
        site, transcript_path = self.site(), self.door.transcript_path
        if not site.enabled or store.read_unlocked(site.paths()) is None:
            return  # nothing was tracked
        now = time_of_day(site.environ)
        retention_tracker.end_client(site, now, _EXIT)
        jobs.start(site, transcript_path, now)
        if stale_ledgers.is_due(site, transcript_path):
            stale_ledgers.settle(site, transcript_path)
        sweeping.sweep(site, now)

    def _begin(self, model: str) -> None:
        """Remember, the first time, the facts that hooks of other hosts receive at a session's start."""
        if self.is_begun:
            return
        self.is_begun = True
        site = self.site()
        facts: dict[str, object] = {"project": site.project, "transcript": self.door.transcript_path}
        site.remember(**facts, **({"model": model} if model else {}))

    def _keep(self, messages: list[Any], is_all: bool, agent_id: str) -> None:
        self._of(agent_id).take(messages, is_all)

    def _take_back(self, ids: list[str], agent_id: str) -> None:
        self._of(agent_id).take_back(ids)

    def _of(self, agent_id: str) -> KeptTranscript:
        if agent_id not in self.transcripts:
            path = self.door.transcript_of(agent_id)
            self.transcripts[agent_id] = self.host.kept(path, self.door.session_id, self.door.cwd, agent_id)
        return self.transcripts[agent_id]

    def _observe(self, call: Call, reported: ReportedResult) -> None:
        """Give the result of a call a lifetime, as the hook on tool calls does."""
        site = self.site()
        if not site.enabled:
            return
        transcript_path = "" if reported.agent_id else self.door.transcript_path
        retention_tracker.add_call(site, site.paths(reported.agent_id), transcript_path, call, reported.text)

    def _prompted(self, agent_id: str) -> None:
        site = self.site()
        if not site.enabled or agent_id:
            return
        paths, now = site.paths(), time_of_day(site.environ)

        def observe(stored: store.StoredState, rules: Ruleset) -> None:
            stored.state.cwd = stored.state.cwd or self.door.cwd
            retention_tracker.begin_turn(paths, stored, rules, now)

        try:
            retention_tracker.change(site, paths, self.door.transcript_path, observe)
        except files.LockTimeout:
            pending.note(paths, prompted=now)

    def compacted(self, agent_id: str, stood: bool) -> None:
        """Note that the conversation was folded, or that our answer `stood`, after which all that is left is in its place; the kept
        transcript tells so as soon as that is in it."""
        site = self.site()
        if not agent_id and not stood:
            site.remember(compacted=True)
            if memory.is_used(site.home):
                delivery.note_emptied(site)
        self.later(reconciling.rebuild_if_small, site, site.paths(agent_id), self.door.transcript_of(agent_id))


def transcript_of(popkit_home: str, cwd: str, session_id: str) -> str:
    """Return where the transcript of a session is kept."""
    return guest_of(session_id).path_of(popkit_home, os.path.realpath(cwd), session_id)
