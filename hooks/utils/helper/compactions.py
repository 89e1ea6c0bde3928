"""Decide how to answer compactions without a model. A clear that the user requested waits here until the host asks how to compact; one that
was noted while the session did not run is taken up as it is resumed."""

from __future__ import annotations

import hashlib  # noqa: F401, TID253  where it is loaded, contents are hashed by OpenSSL (archive/content.py)
import time
from contextlib import suppress

from .. import units
from ..hosts import name_of
from ..hosts.transcripts.attachments import Attachments
from ..hosts.transcripts.usage import newest_usage
from ..policy.remaining import INPUT, NOT_TEXT, RESULT
from ..policy.ruleset import COMPACT_TARGET, DEFAULT_COMPACT
from ..reclaim import in_place
from ..reclaim.in_place import ASKED, AUTO, COLD, LONG, MANUAL, AnswerDeclined, CompactionTask, Handover
from ..state.noted import BACK, ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypedDict

    from ..policy.shapes import MessageRow
    from ..reclaim.in_place import Answer
    from ..state.noted import SessionNotes
    from ..state.site import Site

    class CompactionAnswer(TypedDict, total=False):
        """The mod's instructions for a compaction: `rows` replace the conversation, and these tools stay `loaded`; with `hand_on` they go
        to the summariser; with `behind`, these rows follow its summary. `skip`: it is not done at all. {}: it is the host's. `notice`: a
        line for the person."""

        rows: list[MessageRow]
        loaded: list[str]
        hand_on: bool
        behind: list[MessageRow]
        skip: str
        notice: str


PRECOMPUTE = "precompute"
# Where more of the prompt is left than this, and the target is not reached, little room was made: a summary makes more.
_MOST_LEFT = 0.6
# The share of what is left that goes to the summariser where we do not reach the target: the older part.
_OLDER = 0.6


class CompactionRequest(Handover):
    """The client's request for a compaction: with its `trigger`, the `instructions` for a summariser, and whether it is our `own`."""

    __slots__ = ("agent_id", "instructions", "own", "trigger")

    def __init__(self, trigger: str, agent_id: str, instructions: str, own: bool, rows: object, sent: object) -> None:
        super().__init__(rows, sent, trigger == MANUAL and not agent_id)
        self.trigger = trigger
        self.agent_id = agent_id
        self.instructions = instructions
        self.own = own


class Compactions:
    """The compactions of one session. `wanted`: what the next one that we start is to do; `noted`: what was asked for while the session did
    not run."""

    is_later = False

    def __init__(self, noted: SessionNotes, transcript_path: str = "") -> None:
        self.noted = noted
        self.attachments = Attachments(transcript_path)
        self.wanted: CompactionTask | None = None
        self.is_begun = True  # whether the host was asked to start one for it
        self.declined = ""  # why the last one was left to the host; "" where it was not
        self._told: set[str] = set()  # for which reasons, as the person has heard
        # journals the last answer once the host has applied it, and returns what is left to do
        self._answered: Callable[[], Callable[[], None]] | None = None
        self._taken_up = ""  # the kind of what was noted and is wanted now
        self._take_up()

    def _take_up(self) -> None:
        """Have the next compaction that we start do what was noted: what comes back, then what leaves."""
        if self.wanted is not None:
            return
        if self.noted.back:
            self.put_back(self.noted.back)
            self._taken_up = BACK
        elif self.noted.has_clear:
            self.clear(self.noted.only, self.noted.share)
            self._taken_up = ONLY

    def _want(self, wanted: CompactionTask | None) -> None:
        self.wanted, self.is_begun, self._taken_up = wanted, wanted is None, ""

    def clear(self, ids: Sequence[str], share: float | None = None, _further: int = 0) -> None:
        """Have the next compaction that we start remove these results; where the cache is cold or the conversation long, also the least
        needed ones, until only this share of the conversation stays."""
        why = ASKED if share is None else LONG if _is_warm(self.attachments.path, time.time()) else COLD
        self._want(CompactionTask(why, 1.0 if share is None else share, ids=ids, asked=True))

    def put_back(self, handles: Sequence[str]) -> None:
        """Have the next compaction that we start put back the contents archived under these handles."""
        self._want(CompactionTask(ASKED, back=handles, asked=True))

    def by_itself(self, ids: Sequence[str], share: float, least: int, is_cold: bool) -> None:
        """Have the next compaction that we start do what `clear` does, if at least `least` tokens leave then, and a cache that `is_cold`
        still is."""
        self._want(CompactionTask(COLD if is_cold else LONG, share, least, ids))

    def cancel(self) -> str:
        """Cancel a person's pending request; return its kind (state/noted.py), "" for none."""
        wanted = self.wanted
        waiting = "" if wanted is None or not wanted.asked else BACK if wanted.back else ONLY
        if not waiting:
            return self.noted.forget_newest()
        self._want(None)
        self.noted.forget(waiting)
        return waiting

    def look(self) -> None:
        """Read on in the transcript, so that no compaction has to wait for that."""
        with suppress(OSError):  # there is none yet
            self.attachments.look()

    def begin(self) -> bool:
        """Return whether the host is to start a pending compaction; True once for each."""
        is_due, self.is_begun = not self.is_begun, True
        return is_due

    def confirm(self, is_ours: bool) -> Callable[[], None] | None:
        """Record that a compaction is done: with our answer if `is_ours`, else without it. Return the remaining work, for which the host
        need not wait."""
        record, self._answered = self._answered, None
        return record() if is_ours and record is not None else None

    def answer(self, site: Site, transcript_path: str, request: CompactionRequest, now: float) -> CompactionAnswer:
        """Return what the mod does with a compaction."""
        trigger, agent_id, is_own = request.trigger, request.agent_id, request.own
        self._answered = None
        wanted = self._wanted(site, request)
        taken_up = self._taken_up
        if is_own:
            self._want(None)
        if wanted is None:
            return {"skip": "nothing was asked for"} if is_own else {}
        if trigger == PRECOMPUTE:
            return {"skip": "PopKit answers the compaction when it comes"} if not self.declined else {}
        if wanted.why == COLD and _is_warm(transcript_path, now):
            if not wanted.ids or not wanted.asked:
                self._end(taken_up)
                return _skipped(wanted, "the prompt cache is warm again")
            wanted = CompactionTask(ASKED, ids=wanted.ids, asked=True)
        try:
            attachments = self.attachments if transcript_path == self.attachments.path else None
            done = in_place.answer(site, transcript_path, agent_id, request, wanted, now, attachments)
        except AnswerDeclined as error:
            if is_own:
                self._end(taken_up)
                return _skipped(wanted, str(error))
            return self._left_to_host(str(error), agent_id, name_of(site.session_id))
        self.declined = self.declined if agent_id else ""
        self._answered = lambda: done.note(True)
        stays: CompactionAnswer = {"rows": done.rows, "loaded": done.loaded}
        if trigger == MANUAL and wanted.why == MANUAL and request.instructions.strip():
            return {**stays, "hand_on": True}
        if wanted.why == AUTO and not done.met and done.sizes.after > _MOST_LEFT * done.sizes.before:
            older, newer = _split(done.rows)
            return {**stays, "rows": older, "hand_on": True, "behind": newer} if older else {**stays, "hand_on": True}

        def note() -> Callable[[], None]:
            rest = done.note(False)
            in_place.note_for_next_start(site, agent_id, now)
            if is_own:
                self._end(taken_up)
            return rest

        self._answered = note
        return {**stays, "notice": notice(done)}

    def _end(self, taken_up: str) -> None:
        """Forget what was noted and is done, or cannot be; go on with the next."""
        if taken_up:
            self.noted.forget(taken_up)
        self._take_up()

    def _left_to_host(self, reason: str, agent_id: str, host: str) -> CompactionAnswer:
        """Note why a compaction is the host's; of the main thread's the person hears each reason once."""
        if agent_id:
            return {}
        self.declined = reason
        if reason in self._told:
            return {}
        self._told.add(reason)
        return {"notice": f"{host} compacts this time, not PopKit: {reason}."}

    def _wanted(self, site: Site, request: CompactionRequest) -> CompactionTask | None:
        """Return what a compaction is to do; None where it is the host's."""
        config, trigger = site.config, request.trigger
        if not site.enabled:
            return None
        if request.own:
            return self.wanted
        is_on = config.get("compact", DEFAULT_COMPACT) == "on" and (not request.agent_id or config.get("compact_agents") is not False)
        switch = {MANUAL: "compact_manual", AUTO: "compact_auto", PRECOMPUTE: "compact_auto"}.get(trigger, "")
        if not is_on or not switch or config.get(switch) is False:
            return None
        return CompactionTask(MANUAL if trigger == MANUAL else AUTO, float(config.get("compact_target", COMPACT_TARGET)))


def _skipped(wanted: CompactionTask, why: str) -> CompactionAnswer:
    """Return that nothing is done; a person who waits for it hears why."""
    return {"skip": why, "notice": f"Nothing was changed: {why}."} if wanted.asked else {"skip": why}


def _is_warm(transcript_path: str, now: float) -> bool:
    newest = newest_usage(transcript_path)
    return newest is not None and newest.is_warm(now)


def _split(rows: list[MessageRow]) -> tuple[list[MessageRow], list[MessageRow]]:
    """Return the older part of what is left, and the newer, which begins with something that the user said, or with a call."""
    sizes = [len(str(row)) for row in rows]
    room, at = _OLDER * sum(sizes), 0
    while at < len(rows) and room > 0:
        room -= sizes[at]
        at += 1
    while at < len(rows) and rows[at]["toolResults"]:
        at += 1
    return rows[:at], rows[at:]


def notice(done: Answer) -> str:
    """Return one line that sums a compaction up."""
    before = units.tokens(done.sizes.before)
    sizes = f"{before.removeprefix('~') if done.sizes.measured else before} to {units.tokens(done.sizes.after)} tokens"
    if done.back:
        return f"Put back in place: {units.counted(len(done.back), 'result')}, {sizes}."
    things = units.counted(len(_calls_of(done)), "result")
    files = ", pictures as files" if any(one.why == NOT_TEXT for one in done.left) else ""
    return f"Compacted without a model: {sizes}. {things} taken out, and all can be restored{files}."


def _calls_of(done: Answer) -> set[str]:
    """Return the ids of the calls of which something left."""
    uses = (use for one in done.left if isinstance(one.content, list) for row in one.content for use in row["toolUses"])
    return {one.id for one in done.left if one.kind in (RESULT, INPUT)} | {use["tool_use_id"] for use in uses}
