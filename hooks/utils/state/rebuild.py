"""Rebuild a conversation from transcript and journal, as hooks would have built it had every one of them fired.

The transcript's times and the order of its lines win. The journal gives what it lacks: pins, profiles, session ends, files changed on
disk, git's answers, what was cleared and restored. An entry that names a call belongs right before that call; any other goes by its time.
"""

from __future__ import annotations

from ..hosts import is_guest
from ..hosts.transcripts import entries, transcript, usage
from ..hosts.transcripts.blocks import media_in, text_of_blocks
from ..hosts.transcripts.stamps import seconds_of
from ..io.system import day_of, days_before
from ..policy import engine, events, kinds, lifecycle
from ..policy.bookings import Cleared, Compaction, KeptOut, Request, Restored
from ..policy.context import ContextState
from ..policy.conversation import Conversation
from ..policy.economics import prices_of
from ..policy.estimate import estimate_tokens
from ..policy.host_compaction import HostCompaction
from ..policy.messages import result_tokens, thinking_tokens
from ..policy.placeholder import handle_in
from ..policy.refetches import Refetches
from ..policy.settling import settle
from . import journal as journals
from . import journal_bookings, removals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..hosts.transcripts.entries import Entry
    from ..hosts.transcripts.transcript import Index
    from ..policy.calls import Call
    from ..policy.context import Result
    from ..policy.events import Event
    from ..policy.models import Models
    from ..policy.ruleset import Ruleset
    from ..policy.usage import Usage
    from .spared_lookups import Listener

    Watch = Callable[[Entry, Conversation], object]

# Those of a week, and one more because the clock may be set back, or the time zone change.
_KEPT_DAYS = 8


class Rebuild:
    """A rebuilt Conversation with its `state` (the ledger is in its counts), the `index` of the transcript, and the ids of results that the
    host has written to files (`in_files`)."""

    __slots__ = ("conversation", "in_files", "index")

    def __init__(self, conversation: Conversation, index: Index, in_files: Collection[str] = ()) -> None:
        self.conversation = conversation
        self.index = index
        self.in_files = in_files

    @property
    def state(self) -> ContextState:
        return self.conversation.state


def rebuild(
    path: str,
    journal: list[journals.Entry],
    rules_for: Callable[[str | None], Ruleset],
    session_id: str = "",
    agent_id: str = "",
    original: Callable[[str], str | None] | None = None,
    watch: Watch | None = None,
) -> Rebuild:
    """Return the conversation of a context, rebuilt from its transcript file and journal entries; `rules_for(profile)` compiles the rules,
    `original(handle)` gives the content behind a placeholder, `watch(entry, conversation)` is called after each entry of the transcript.
    OSError when the transcript cannot be read."""
    index = transcript.index(path)
    replay = _Replay(Conversation(ContextState(session_id, agent_id), rules_for), index, journal, original)
    for entry in entries.read(path, index.size, None if replay.listener is not None else index.relevant):
        replay.take(entry)
        if watch is not None:
            watch(entry, replay.conversation)
    replay.end()
    return Rebuild(replay.conversation, index, replay.reader.in_files)


class _Replay:
    """Feeds a Conversation with the entries of a transcript as they come, and the journal's between them."""

    def __init__(
        self, conversation: Conversation, index: Index, journal: list[journals.Entry], original: Callable[[str], str | None] | None
    ) -> None:
        self.conversation = conversation
        self.index = index
        self.reader = transcript.Reader(index, original)
        self.known = journals.SortedEntries(journal, index.calls & index.result_ids)
        self.known.timed.reverse()  # taken from the end
        self.clear_times = journal_bookings.clear_times(journal)
        self.message: str | None = None  # id of the one whose usage was taken last
        booked = journal_bookings.bookings(journal, ())
        whole = {id for booking in booked if isinstance(booking, Cleared) and not booking.tokens for id in booking.ids}
        kept_out = (booking for booking in booked if isinstance(booking, KeptOut))
        self.left_out = {booking.id: booking.tokens for booking in kept_out if booking.id not in whole}
        self.refetches = Refetches()
        self.listener = _listener(journal, self.reader)
        self.printed: list[tuple[float, int]] = []  # (seconds, tokens) of what `popkit restore` printed
        self.journal = journal
        # When the newest compaction was written down: what it left comes behind it, and says an earlier time.
        self.compacted_at = 0.0
        self.returning = {id for ids in index.carried.values() for id in ids}  # the results that stand behind some compaction again
        self.away = _AwayResults()

    def take(self, entry: Entry) -> None:
        """Take the next entry in."""
        state = self.conversation.state
        if not state.agent_id and not state.cwd and state.index == 0 and isinstance(entry.get("cwd"), str):
            state.cwd = entry["cwd"]
        again = self._shown_again(entry)
        for event in self.reader.events(entry):
            while self.known.timed and self.known.timed[-1].at <= event.at:
                self._observe(self.known.timed.pop())
            if isinstance(event, events.Call):
                self._call(event)
                continue
            self._observe(event)
            if isinstance(event, events.Prompted) and not self._is_carried(entry):
                self.conversation.prompts += 1
            if isinstance(event, events.Compacted):
                self.refetches.compacted()
                self._compacted(entry, event.at)
        if self.away and entry.get("uuid") in self.index.chain:
            self._take_back(entry)
        on_branch = entry.get("uuid") in self.index.chain or self._calls(entry)
        self._add_message(entry, on_branch, again)
        if entry.get("type") == "user" and not is_guest(state.session_id):  # plugins edit single entries, whose pictures stay
            blocks = entries.blocks_of(entry)
            self.conversation.shown += on_branch and media_in(blocks)
            ids = [block.get("tool_use_id") for block in blocks if media_in(block.get("content"))]
            self.conversation.pictures.update([id for id in ids if isinstance(id, str)])
        if self.listener is not None:
            self.listener.listen(entry, on_branch)

    def _observe(self, event: Event) -> None:
        """Let the conversation follow an event, and what is out of it until it comes back."""
        state = self.conversation.state
        before = {**state.expired, **state.live} if isinstance(event, events.Compacted) and self.returning else {}
        self.conversation.observe(event)
        if self.away and not isinstance(event, events.Compacted):
            self.away.observe(event, self.conversation.rules)
        gone = [result for id, result in before.items() if id in self.returning and id not in state.live and id not in state.expired]
        if gone:
            self.away.add(gone, state, self.conversation.rules)

    def _take_back(self, entry: Entry) -> None:
        """Let the conversation have the results again that an undo has put back with their calls."""
        ids = [block.get("tool_use_id") for block in entries.blocks_of(entry)]
        back = [result for id in ids if isinstance(id, str) for result in [self.away.pop(id)] if result is not None]
        if back:
            self.conversation.observe(events.CameBack(back, seconds_of(entry.get("timestamp"))))

    def _call(self, call: Call) -> None:
        for before in self.known.before.get(call.id, ()):
            self._observe(before)
        if call.id in self.known.commits:
            call.committed = self.known.commits[call.id]
        self._observe(call)
        if call.id in self.known.entered:
            self.conversation.observe(self.known.entered[call.id])
        result = self.conversation.state.live.get(call.id)
        if result is not None:
            result.cleared = self.reader.cleared.get(call.id, "")
            if self.clear_times or self.left_out:
                self.refetches.take(result, self.left_out.get(result.id, 0))
                if result.kind == kinds.RESTORED:
                    self.printed.append((result.at, result.tokens))
            if self.listener is not None:
                self.listener.looked_up(result)

    def _calls(self, entry: Entry) -> bool:
        """Return whether an entry makes a call of the branch: of parallel ones all but the last hang off it."""
        return entry.get("type") == "assistant" and any(
            isinstance(block.get("id"), str) and block["id"] in self.index.calls for block in entries.blocks_of(entry)
        )

    def _compacted(self, entry: Entry, at: float) -> None:
        """Take over what is known of the size of what a compaction left: from our journal, else from the host; else it is estimated."""
        compaction = removals.compaction_at(self.journal, at)
        if removals.is_in_place(compaction):
            self.conversation.was_ours(removals.taken_by(compaction))
        else:
            self.conversation.was_due()
        noted = removals.stood_after(self.journal, at)
        tokens = usage.left_by(entry) if noted is None else noted - self.conversation.base
        self.conversation.carry(tokens, noted is not None)
        if noted is None and not tokens and not self.index.translated:
            self.conversation.put_back_files()
        self.compacted_at = at

    def _shown_again(self, entry: Entry) -> list[tuple[str, str]]:
        """Return (id, text) of the results in an entry that were there before the newest compaction."""
        blocks = entries.blocks_of(entry) if self._is_carried(entry) else ()
        shown = [(block["tool_use_id"], block.get("content")) for block in blocks if block.get("tool_use_id") in self.reader.seen]
        return [(id, text_of_blocks(content)[0]) for id, content in shown]

    def _is_carried(self, entry: Entry) -> bool:
        """Return whether an entry belongs to what the newest compaction left, and no request has come since."""
        return bool(self.compacted_at) and not self.conversation.is_measured and seconds_of(entry.get("timestamp")) <= self.compacted_at

    def _add_message(self, entry: Entry, on_branch: bool, again: list[tuple[str, str]]) -> None:
        request = usage.usage_of(entry)
        if on_branch and self._is_carried(entry):
            self._carry(entry, again)
            return
        if request is not None and on_branch and entry["message"].get("id") != self.message:
            self.message = entry["message"].get("id")
            self.conversation.sent(request)
        elif request is not None:
            self.conversation.answered(request)
            self.conversation.went_on(request.at)  # also on an abandoned branch: it has read the cache of this one
        if on_branch and (request is not None or entry.get("type") == "user"):
            self.conversation.add_text(*_written(entry))

    def _carry(self, entry: Entry, again: list[tuple[str, str]]) -> None:
        conversation = self.conversation
        is_row = entry.get("type") in ("user", "assistant") and not entries.is_summary(entry)
        tokens, _, inputs = _written(entry)
        conversation.carry_again(tokens, inputs, is_row)
        for id, text in again:
            known = conversation.state.live.get(id) or conversation.state.expired.get(id)
            if handle_in(text):
                conversation.replaced.add(id)
            is_whole = known is not None and id not in conversation.replaced
            conversation.carry_again(known.tokens if known is not None and is_whole else result_tokens(text))

    def end(self) -> None:
        """Finish after the last line of the transcript: the rest of the journal, what left, and what came of it."""
        conversation, cleared = self.conversation, self.reader.cleared
        for event in reversed(self.known.timed):
            conversation.observe(event)
        if cleared:
            conversation.observe(events.Cleared(cleared))
        removed = {result.id for result in conversation.results() if result.cleared and result.id in self.clear_times}
        for at in sorted({self.clear_times[id] for id in removed}):
            conversation.left({id for id in removed if self.clear_times[id] == at}, before=at)
        self._settle(cleared)

    def _settle(self, cleared: dict[str, str]) -> None:
        journal, counts, calibration = self.journal, self.conversation.state.counts, self.conversation.state.calibration
        counts.settled = self.index.size
        booked = journal_bookings.bookings(journal, cleared.keys(), self.index.calls, self.conversation.as_counted)
        if booked or any(removals.compacted(journal)):
            removed = {*cleared, *journal_bookings.ids_outside(journal, by_user=True)}
            booked += self.refetches.bookings(removed, self.clear_times, calibration)
            booked += [Restored(at, round(tokens * calibration)) for at, tokens in self.printed]
            booked += self.listener.bookings(calibration) if self.listener else []
            models = self.conversation.rules.models
            moments = []
            for sent, added in self.conversation.requests:
                compaction = None if sent.tokens else removals.compaction_at(journal, sent.at)
                if not removals.is_in_place(compaction):
                    is_ours = compaction is not None and compaction.get("summarised") is not True
                    moments.append(moment(sent, added, models, is_ours, calibration))
            settled = settle(moments, booked, day_of, self._host())
            counts.ledger, counts.days = settled.to_json(), newest_days(settled.days)

    def _host(self) -> HostCompaction:
        """Return what the host does by itself: no prompt that it has sent was too large for it."""
        threshold = self.conversation.threshold
        if threshold:
            threshold = max(threshold, *(sent.tokens + 1 for sent, _ in self.conversation.requests))
        return HostCompaction(threshold, self.conversation.base)


class _AwayResults:
    """The results that a compaction has taken out with their calls, and that come back later: what ends them meanwhile is not lost."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = ContextState()

    def __bool__(self) -> bool:
        return bool(self._state.live or self._state.expired)

    def add(self, results: Sequence[Result], state: ContextState, rules: Ruleset) -> None:
        """Take results in that have left the context of a state."""
        away = self._state
        away.index, away.turn, away.cwd, away.at, away.pins = state.index, state.turn, state.cwd, state.at, state.pins
        for result in results:
            (away.expired if result.ended else away.live)[result.id] = result
        engine.reindex(away, rules)

    def observe(self, event: Event, rules: Ruleset) -> None:
        """Follow an event, which adds nothing here."""
        engine.observe(self._state, event, rules)
        if isinstance(event, events.Call):
            self.pop(event.id)

    def pop(self, id: str) -> Result | None:
        """Return a result that is not away any more, None for another one."""
        result = self._state.live.get(id)
        if result is None:
            return self._state.expired.pop(id, None)
        lifecycle.leave(self._state, result)
        return result


def moment(sent: Usage, added: int, models: Models, is_ours: bool = False, calibration: float = 1.0) -> Request | Compaction:
    """Return a request, or the compaction between two (`is_ours`: we have answered it), as the ledger takes it."""
    if not sent.tokens:
        return Compaction(sent.at, round(added * calibration), is_ours, not sent.by_itself)
    model = models.model(sent.model)
    prices, files = prices_of(model, sent.cache_ttl_s), round(sent.files * calibration)
    return Request(sent.at, sent.tokens, sent.read, sent.created, added, prices, model.usd(sent.tokens)[0], files)


def _listener(journal: list[journals.Entry], reader: transcript.Reader) -> Listener | None:
    """Return the Listener that estimates the look-ups which memory has spared; None where memory gave nothing."""
    deliveries = journal_bookings.remembered_texts(journal)
    if not deliveries:
        return None
    from .spared_lookups import Listener

    return Listener(deliveries, reader.original)


def _written(entry: Entry) -> tuple[int, int, int]:
    """Return (estimated tokens that a user's or assistant's entry says beside results, tokens of thinking, those of the first that calls
    were made with)."""
    content = entries.message_of(entry).get("content")
    total = estimate_tokens(content) if isinstance(content, str) else 0
    blocks = entries.blocks_of(entry)
    inputs = sum(entries.text_tokens(block) for block in blocks if block.get("type") == "tool_use")
    texts = sum(entries.text_tokens(block) for block in blocks if block.get("type") != "tool_use")
    return total + texts + inputs, sum(map(thinking_tokens, blocks)), inputs


def newest_days(by_day: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of a ledger by local day as a flat table, "2026-11-22 charged" -> amount: of the last week in which the context was
    in use. Sums of older days are only in those of the whole ledger."""
    newest = max(by_day, default="")
    if not newest:
        return {}
    oldest = days_before(newest, _KEPT_DAYS - 1)
    return {
        f"{day} {name}": round(amount, 6) for day, amounts in sorted(by_day.items()) if day >= oldest for name, amount in amounts.items()
    }
