"""transcript + journal -> conversation: what hooks would have, had every one of them fired.

The transcript's times and the order of its lines win. The journal gives what it lacks: pins, profiles, session ends, files changed on
disk, git's answers, what was cleared and restored. An entry that names a call stands right before that call; any other goes by its time.
"""

from __future__ import annotations

from ..host import branch, entries, responses, transcript, usage
from ..policy import events, ledger
from ..policy.context import ContextState, Result
from ..policy.conversation import Conversation
from ..policy.economics import prices_of
from ..policy.estimate import estimate_tokens
from . import journal as journals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..host.branch import Index
    from ..policy.calls import Call
    from ..policy.conversation import Usage
    from ..policy.models import Models
    from ..policy.ruleset import Ruleset


class Rebuilt:
    """A rebuilt Conversation with its `state` (the ledger is in its counts), and the `index` of the transcript."""

    __slots__ = ("conversation", "index")

    def __init__(self, conversation: Conversation, index: Index) -> None:
        self.conversation = conversation
        self.index = index

    @property
    def state(self) -> ContextState:
        return self.conversation.state


def rebuild(
    path: str,
    journal: list[Any],
    rules_for: Callable[[str | None], Ruleset],
    session_id: str = "",
    agent_id: str = "",
    original: Callable[[str], str | None] | None = None,
) -> Rebuilt:
    """The conversation of a context, from its transcript file and journal entries; `rules_for(profile)` compiles the rules,
    `original(handle)` gives what a placeholder stands for. OSError when the transcript cannot be read."""
    index = branch.index(path)
    told = _Telling(Conversation(ContextState(session_id, agent_id), rules_for), index, journal, original)
    for entry in entries.read(path, index.size, index.telling):
        told.take(entry)
    told.end(journal)
    return Rebuilt(told.conversation, index)


class _Telling:
    """Tells a Conversation of the entries of a transcript as they come, and of the journal's between them."""

    def __init__(self, conversation: Conversation, index: Index, journal: list[Any], original: Callable[[str], str | None] | None) -> None:
        self.conversation = conversation
        self.index = index
        self.reader = transcript.Reader(index, original)
        self.known = journals.Sorted(journal, index.calls & index.result_ids)
        self.known.timed.reverse()  # taken from the end
        self.clear_times = journals.clear_times(journal)
        self.message: str | None = None  # whose usage was told last
        self.shown: dict[str, list[tuple[str, float, int]]] = {}  # name of a content -> [(id, seconds, tokens)] of the results that show it
        self.printed: list[tuple[float, int]] = []  # (seconds, tokens) of what `popkit restore` printed

    def take(self, entry: dict[str, Any]) -> None:
        """Takes the next entry in."""
        state = self.conversation.state
        if not state.agent_id and not state.cwd and state.index == 0 and isinstance(entry.get("cwd"), str):
            state.cwd = entry["cwd"]
        for event in self.reader.events(entry):
            while self.known.timed and self.known.timed[-1].at <= event.at:
                self.conversation.observe(self.known.timed.pop())
            if isinstance(event, events.Call):
                self._call(event)
            else:
                self.conversation.observe(event)
        self._said(entry, entry.get("uuid") in self.index.chain or self._calls(entry))

    def _call(self, call: Call) -> None:
        for before in self.known.before.get(call.id, ()):
            self.conversation.observe(before)
        if call.id in self.known.commits:
            call.committed = self.known.commits[call.id]
        self.conversation.observe(call)
        if call.id in self.known.entered:
            self.conversation.observe(self.known.entered[call.id])
        result = self.conversation.state.live.get(call.id)
        if result is not None:
            result.cleared = self.reader.cleared.get(call.id, "")
            if self.clear_times:
                self._note(result)

    def _calls(self, entry: dict[str, Any]) -> bool:
        """Whether an entry makes a call of the branch: of parallel ones all but the last hang off it."""
        return entry.get("type") == "assistant" and any(block.get("id") in self.index.calls for block in entries.blocks_of(entry))

    def _said(self, entry: dict[str, Any], stands: bool) -> None:
        found = usage.usage_of(entry)
        if found is not None and stands and entry["message"].get("id") != self.message:
            self.message = entry["message"].get("id")
            self.conversation.sent(found)
        elif found is not None:
            self.conversation.went_on(found.at)  # also on a branch that was left: it has read the cache of what stands
        if stands and (found is not None or entry.get("type") == "user"):
            self.conversation.said(*_written(entry))

    def _note(self, result: Result) -> None:
        """Remembers by what a later call would fetch the same again: the content, or the file that a read shows. Who runs the tests again
        wants to know how they go now, not how they went."""
        if result.kind == "restored":
            self.printed.append((result.at, result.tokens))
        elif result.kind != "ack" and not result.error:
            content = () if result.kind.startswith("run") else (result.kind + "|" + result.hash,)
            for name in (*content, *(part[0] for part in result.parts if part[0].startswith("read:"))):
                self.shown.setdefault(name, []).append((result.id, result.at, result.tokens))

    def end(self, journal: list[Any]) -> None:
        """The transcript is over: the rest of the journal, what left, and what came of it."""
        conversation, cleared = self.conversation, self.reader.cleared
        for event in reversed(self.known.timed):
            conversation.observe(event)
        if cleared:
            conversation.observe(events.Cleared(cleared))
        gone = {result.id for result in conversation.results() if result.cleared and result.id in self.clear_times}
        for at in sorted({self.clear_times[id] for id in gone}):
            conversation.left({id for id in gone if self.clear_times[id] == at}, before=at)
        self._settle(journal, cleared)

    def _settle(self, journal: list[Any], cleared: dict[str, str]) -> None:
        booked = journals.bookings(journal, set(cleared))
        if booked:
            gone = {*cleared, *journals.ids_outside(journal)}
            booked += [ledger.Refetched(at, tokens) for at, tokens in self._fetched_again(gone)]
            booked += [ledger.Restored(at, tokens) for at, tokens in self.printed]
            models = self.conversation.rules.models
            moments = [moment(sent, added, models) for sent, added in self.conversation.requests]
            self.conversation.state.counts.ledger = ledger.settle(moments, booked).to_json()

    def _fetched_again(self, cleared: set[str]) -> list[tuple[float, int]]:
        """[(seconds, tokens)] of the results that show again what one of the cleared had shown, each once and only after that clear."""
        again: dict[str, tuple[float, int]] = {}
        for shown in self.shown.values():
            gone = [(self.clear_times[id], tokens) for id, _, tokens in shown if id in cleared and id in self.clear_times]
            for id, at, tokens in shown:
                sizes = [size for since, size in gone if at > since]
                if sizes and id not in cleared:
                    again[id] = (at, min(tokens, max(sizes)))
        return sorted(again.values())


def moment(sent: Usage, added: int, models: Models) -> ledger.Request | ledger.Compaction:
    """A request, or the compaction between two, as the ledger takes it."""
    if not sent.tokens:
        return ledger.Compaction(sent.at)
    return ledger.Request(sent.at, sent.tokens, sent.read, sent.created, added, prices_of(models.model(sent.model), sent.cache_ttl_s))


def _written(entry: dict[str, Any]) -> tuple[int, int]:
    """(estimated tokens that a user's or assistant's entry says beside results, tokens of thinking)."""
    message = entry["message"] if isinstance(entry.get("message"), dict) else {}
    total = estimate_tokens(message["content"]) if isinstance(message.get("content"), str) else 0
    blocks = entries.blocks_of(entry)
    return total + sum(map(responses.said_tokens, blocks)), sum(map(responses.thinking_tokens, blocks))
