"""Read a transcript as the requests that were sent.

The main thread (or a subagent's own file) is read line by line, as a live system would have seen it. A request is an assistant message
that the API produced, one per message id, in the order of the lines. The host writes a message block by block, and the results of its
first calls may come between its blocks; a conversation that is resumed may be written a second time.

A string that stood before a compaction, in a result or in words, and is written again behind it is a need like any other: whether it
stands there is for the policy to say. What has been written since is none, for the words of the user and the assistant stay.
"""

from __future__ import annotations

import json
import os
from typing import Any

from popkit_retention.core.archive.content import hash_content, plain
from popkit_retention.core.archive.records import HANDLE_CHARS, digest, handle
from popkit_retention.core.hosts.transcripts import entries, outcomes, transcript
from popkit_retention.core.hosts.transcripts.blocks import text_of_blocks
from popkit_retention.core.hosts.transcripts.entries import ASKING, is_answer
from popkit_retention.core.hosts.transcripts.spans import LineNotUnderstood, content_spans
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.hosts.transcripts.usage import compacted_at, usage_of
from popkit_retention.core.io.codec import as_object, as_text, text_in_field
from popkit_retention.core.policy.calls import Call
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.events import Compacted, Prompted
from popkit_retention.core.policy.messages import thinking_tokens
from popkit_retention.core.state import shipped
from popkit_retention.core.state.archived import task_id

from .recorded import LEAST_BASE, Block, Request, Session, shared, strings_of, texts_in, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SUFFIX, _AGENT = ".jsonl", "agent-"
# If a first request has this many more tokens of system and tools than one after a compaction, there was a conversation before it.
_LEAST_EARLIER = 10_000


def read(path: str, with_needs: bool = True, with_texts: bool = False) -> Session:
    """Return the session of a transcript; OSError when it cannot be read. Lines that cannot be parsed are left out."""
    index = transcript.index(path)
    reading = _Reading(Session(path, size=index.size), with_needs, transcript.Reader(index), with_texts)
    reading.session.is_translated = bool(index.translated)
    side = None  # a subagent's own file holds nothing but a side chain
    for entry in entries.read(path, index.size):
        if not side and not reading.session.cwd and isinstance(entry.get("cwd"), str):
            reading.session.cwd = entry["cwd"]
        if isinstance(entry.get("uuid"), str):
            side = entries.is_side(entry) if side is None else side
            if entries.is_side(entry) == side:
                reading.take(entry)
    reading.session.bad += index.bad
    reading.end()
    return reading.session


# The beginning of a list of blocks: the list, and how many of its first ones belong to it.
End = tuple[list[Block], int]


def _begins_in(end: End, blocks: list[Block]) -> int:
    """Return how many blocks a context has in common with others, from the first."""
    return end[1] if end[0] is blocks else shared(end[0][: end[1]], blocks)


class _Reading:
    """The context, as the lines are read."""

    def __init__(self, session: Session, with_needs: bool, reader: transcript.Reader, with_texts: bool) -> None:
        self.session = session
        self.with_needs = with_needs
        self.with_texts = with_texts
        self.reader = reader
        self.current: Request  # the request whose answer is being written
        self.messages: set[str] = set()  # ids of the messages that requests have produced
        self.calls: dict[str, str] = {}  # tool_use id -> uuid of its line
        self.repeats = False  # whether earlier messages are being written a second time
        self.began = 0  # number of blocks when the request was sent
        self.last_at = 0.0
        self.count = 0
        self.openings: list[tuple[Request, int]] = []  # the first request, and each behind a compaction, with its visible tokens
        self.opens = True  # whether the next request is one of them
        self.before: list[Block] = []  # the blocks of the context at the compactions so far
        self.holders: dict[str, list[Block]] = {}  # string -> results that hold it, and words from before a compaction
        self.written: dict[str, list[Block]] = {}  # string -> where the user or the assistant wrote it since the last compaction
        self._empty()

    def end(self) -> None:
        """Tell system and tools from a conversation that began before the recording: that part left with the first compaction."""
        unseen = [request.usage.tokens - visible for request, visible in self.openings if request.usage is not None]
        if unseen and self.openings[0][0].usage is not None:
            least = max(LEAST_BASE, min(unseen))
            first = max(LEAST_BASE, unseen[0])
            self.session.base = least if first - least >= _LEAST_EARLIER else first
            self.session.earlier = first - self.session.base

    def _fold(self) -> None:
        """Begin the context that a compaction leaves."""
        self.before += self.blocks
        for string, blocks in self.written.items():
            for block in blocks:
                self._hold((string,), block)
        self.written = {}
        self.opens = True
        self._empty()

    def _empty(self) -> None:
        """Begin an empty context."""
        self.blocks: list[Block] = []
        # uuid of an entry -> (a list, how many of its first blocks were the context after it). A list only grows; a cut begins another one.
        self.ends: dict[str | None, End] = {}
        self.pending: dict[str, tuple[str, Any]] = {}  # tool_use id -> (tool, input)
        self.answered: dict[str, str] = {}  # tool_use id -> uuid of the line with its result

    def take(self, entry: dict) -> None:
        """Apply the next entry."""
        at, kind = seconds_of(entry.get("timestamp")), entry.get("type")
        try:
            if entries.is_compaction(entry):
                ids = self.reader.index.carried.get(entry["uuid"], ())
                self.session.steps.append(("compact", Compacted(at, ids, compacted_at(entry))))
                self._fold()
            elif kind == "user":
                self._user(entry, at)
            elif kind == "assistant" and is_answer(entry):
                self._assistant(entry, at)
        except RecursionError:  # no real input is nested a thousand deep
            self.session.bad += 1
        # An entry that adds nothing to the conversation ends where its parent does.
        there = (self.blocks, len(self.blocks))
        adds = kind == "user" or (kind == "assistant" and is_answer(entry))
        self.ends[entry["uuid"]] = there if adds else self.ends.get(entries.parent_of(entry), there)
        self.last_at = max(at, self.last_at)

    def _follow(self, entry: dict) -> None:
        """Change the context to that of the parent of an entry, which begins a new branch or goes on with one that was left, where that is
        not the end. Behind the parent only results of calls that stay are kept, because results of parallel calls hang off the branch. An
        entry without a parent that is not written a second time begins with an empty context."""
        parent = entries.parent_of(entry)
        is_first = parent is None and entry["uuid"] not in self.ends
        there = ([], 0) if is_first else self.ends.get(parent, (self.blocks, len(self.blocks)))
        length = _begins_in(there, self.blocks)
        back, rest = there[0][length : there[1]], self.blocks[length:]
        stays = [block for block in rest if block.id and self._is_asked_in(there, block)]
        if back or len(stays) < len(rest):
            self.session.steps.append(("cut", length, back + stays))
            self.before = self.before if length else []  # an empty context carries nothing
            self.blocks = self.blocks[:length] + back
            for result in stays:
                self.blocks.append(result)
                self.ends[self.answered[result.id]] = (self.blocks, len(self.blocks))

    def _is_asked_in(self, there: End, result: Block) -> bool:
        """Return whether the call of a result is in a context."""
        call_end = self.ends.get(self.calls.get(result.id))
        return call_end is not None and call_end[1] <= there[1] and _begins_in(call_end, there[0]) == call_end[1]

    def _add(self, tokens: int, id: str = "", text: str = "", call: Call | None = None) -> Block:
        self.count += 1
        block = Block(self.count, tokens, id, text, call)
        self.blocks.append(block)
        self.session.steps.append(("add", block))
        return block

    def _user(self, entry: dict, at: float) -> None:
        content = entries.message_of(entry).get("content")
        blocks = entries.blocks_of(entry)
        if not any(block.get("type") == "tool_result" for block in blocks):
            self._follow(entry)
        if entries.is_prompt(entry):
            self.session.steps.append(("event", Prompted(at)))
        if isinstance(content, str):
            self._text(content, estimate_tokens(content), entry)
        for block in blocks:
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                self._result(entry, block)
            elif isinstance(block.get("text"), str):
                self._text(block["text"], entries.text_tokens(block), entry)

    def _text(self, text: str, estimate: int, entry: dict) -> None:
        block = self._add(self._tokens(text))
        block.estimate = estimate
        block.is_summary = entries.is_summary(entry)
        if self.with_texts:
            self.session.texts[block] = text
        if self.with_needs:
            self._write(strings_of(text), block)

    def _result(self, entry: dict, block: dict) -> None:
        id = block["tool_use_id"]
        if id in self.answered:
            return
        self.answered[id] = entry["uuid"]
        text, images = text_of_blocks(block.get("content"))
        call = self.reader.call_of(entry, block, self.pending.pop(id)) if id in self.pending else None
        result = self._add(self._tokens(text) + images, id if call else "", text if call else "", call)
        result.estimate = 0
        if self.with_needs and call:
            strings = strings_of(text)
            self._hold(strings if self.reader.index.compactions else strings - self.written.keys(), result)

    def _write(self, strings: set[str], block: Block) -> None:
        for string in strings:
            self.written.setdefault(string, []).append(block)

    def _hold(self, strings: Iterable[str], block: Block) -> None:
        alone = [block]  # most strings are in one result only; these share a list
        for string in strings:
            held = self.holders.get(string)
            if held is None:
                self.holders[string] = alone
            elif len(held) == 1:
                self.holders[string] = [*held, block]
            else:
                held.append(block)

    def _assistant(self, entry: dict, at: float) -> None:
        message = entry["message"]
        name = message.get("id") or entry["uuid"]
        if name not in self.messages:
            self._begin(entry, name, at)
        elif self.repeats or name != self.current.message_id:
            self.repeats = True
            return
        self.current.answered_at = max(at, self.current.answered_at)
        self.current.usage = self.current.usage or usage_of(entry)
        for block in entries.blocks_of(entry):
            if isinstance(block.get("text"), str):
                self._answer(block, block["text"], [block["text"]])
            elif thinking_tokens(block):
                thought = self._add(0)
                thought.estimate = thinking_tokens(block)
                thought.thinking = round(thought.estimate * self.session.factor)
            elif block.get("type") == "tool_use":
                self.current.calls = block.get("name") not in ASKING
                tool_input = as_object(block.get("input"))
                if isinstance(block.get("id"), str):
                    self.pending[block["id"]] = (str(block.get("name") or ""), outcomes.input_of(block.get("input")))
                    self.calls[block["id"]] = entry["uuid"]
                call = self._answer(block, json.dumps(tool_input, ensure_ascii=False), texts_in(tool_input))
                call.asks = text_in_field(block, "id")

    def _begin(self, entry: dict, name: str, at: float) -> None:
        self._follow(entry)
        session = self.session
        self.messages.add(name)
        self.repeats, self.began = False, self.count
        self.current = Request(len(session.requests) + 1, name, self.last_at or at)
        model = entry["message"].get("model")
        if not session.requests:
            self._count_as(as_text(model))
        if self.opens:
            self.openings.append((self.current, sum(block.tokens for block in self.blocks)))
            self.opens = False
        session.requests.append(self.current)
        if isinstance(model, str):
            session.models[model] = session.models.get(model, 0) + 1
        session.steps.append(("request", self.current))

    def _tokens(self, text: str) -> int:
        return tokens_of(len(text), self.session.factor)

    def _count_as(self, model: str) -> None:
        """Count tokens as a model does, also for the blocks so far."""
        self.session.factor = shipped.rules().models.model(model).tokens
        for block in self.blocks:
            block.tokens = round(block.tokens * self.session.factor)

    def _answer(self, block: dict, text: str, texts: list[str]) -> Block:
        """Add a block that the assistant wrote. `texts`: those for which it needed results."""
        answer = self._add(self._tokens(text))
        answer.estimate = entries.text_tokens(block)
        self.current.output += answer.tokens
        if self.with_texts:
            self.session.texts[answer] = "\n".join(texts)
        if self.with_needs:
            self._need(set().union(*map(strings_of, texts)), answer)
        return answer

    def _need(self, strings: set[str], answer: Block) -> None:
        context = None
        for string in sorted(strings - self.written.keys()):
            held = self.holders.get(string)
            if held:
                context = {*self.before, *self.blocks} if context is None else context
                held = [block for block in held if block in context and block.place <= self.began]
                if held:
                    self.current.needs.append((string, held))
        self._write(strings, answer)


def name_handles(session: Session) -> None:
    """Give every result of a session the handle under which a live clear would archive it; OSError when its transcript cannot be read.

    A result in a line that a live clear would refuse keeps its temporary handle. This reads the transcript a second time, so only callers
    that show placeholders use it.
    """
    chain, handles = plain(chain_of(session.path)), {}
    for _, line in entries.lines(session.path, session.size):
        if b'"tool_result"' in line:
            try:
                spans = content_spans(line, side_chains=True)
            except LineNotUnderstood:
                continue
            for id, (start, end) in spans.items():
                if id not in handles:  # the first content of a result counts
                    content_hash = hash_content(line[start:end].decode("utf-8"))
                    handles[id] = handle(digest(chain, plain(id), content_hash), HANDLE_CHARS)
    for kind, block, *_ in session.steps:
        if kind == "add" and block.id in handles:
            block.handle = handles[block.id]


def chain_of(path: str) -> str:
    """Return the archive's name for the context of a transcript: the host names the file after the session, that of a subagent
    <session>/subagents/agent-<id>.jsonl."""
    folder, name = os.path.split(os.path.abspath(path))
    name = name.removesuffix(_SUFFIX)
    if os.path.basename(folder) == "subagents" and name.startswith(_AGENT):
        return task_id(os.path.basename(os.path.dirname(folder)), name[len(_AGENT) :])
    return task_id(name)
