"""A transcript as the requests that were sent: what the conversation grew by before each, and what each answer needed. Reads only.

The main thread (or a subagent's own file) is gone through line by line, as a live system would have seen it. A request is an assistant
message that the API produced, one per message id, in the order of the lines. The host writes a message block by block, and the results
of its first calls may stand between its blocks; and a conversation that is taken up again may be written once more.
"""

from __future__ import annotations

import json

from hooks.utils.hosts.claude_code import calls, entries, transcript
from hooks.utils.hosts.claude_code.moments import ASKING, is_answer
from hooks.utils.hosts.claude_code.stamps import seconds_of
from hooks.utils.hosts.claude_code.usage import compacted_at, prompt_tokens, usage_of
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.events import Compacted, Prompted
from hooks.utils.policy.messages import thinking_tokens
from hooks.utils.policy.placeholder import SHORTEST_HANDLE

from .strings import strings_of, texts_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.hosts.claude_code.transcript import Index
    from hooks.utils.policy.calls import Call
    from hooks.utils.policy.conversation import Usage

CHARS_PER_TOKEN = 2.9
LEAST_BASE = 8_000
# Of a result whose handle nobody has asked for; as long as a real one.
NO_HANDLE = "a" * SHORTEST_HANDLE


def tokens_of(chars: int) -> int:
    """Tokens of so many characters, by the lab's measure."""
    return round(chars / CHARS_PER_TOKEN)


class Block:
    """A piece of the conversation: what the user or the assistant said, a tool call, or a result, which alone has an `id` (of its tool
    use), a `text`, a `call` (the engine's event) and a `handle` (handles.py). `thinking`: tokens of what the assistant thought, in a block
    that has no other; only models that bind it carry it on. `tokens` are the lab's measure; `said`: what a Conversation is told of a block
    that is no result, as a live one is. `asks`: of a tool call the id of its use, else "". `is_summary`: a recorded compaction left it.
    `place` counts all blocks of the session."""

    __slots__ = ("asks", "call", "handle", "id", "is_summary", "place", "said", "text", "thinking", "tokens")

    def __init__(self, place: int, tokens: int, id: str = "", text: str = "", call: Call | None = None):
        self.place = place
        self.tokens = tokens
        self.id = id
        self.text = text
        self.call: Call
        if call is not None:
            self.call = call
        self.thinking = 0
        self.said = 0 if id else tokens
        self.asks = ""
        self.is_summary = False
        self.handle = NO_HANDLE


class Request:
    """One request: `number` from 1, the message it produced, when it was sent and answered (seconds), the tokens of the answer, the `usage`
    that the host wrote down (None where it did not), `needs`: (string that the answer wrote and only results held, those Blocks), and
    whether it `calls` tools that need no word of the user's, so that the next request follows by itself."""

    __slots__ = ("answered_at", "calls", "message_id", "needs", "number", "output", "sent_at", "usage")

    def __init__(self, number: int, message_id: str, sent_at: float):
        self.number = number
        self.message_id = message_id
        self.sent_at = sent_at
        self.answered_at = sent_at
        self.output = 0
        self.calls = False
        self.usage: Usage | None = None
        self.needs: list = []


class Session:
    """`steps`: what happened, in order: ("add", Block), ("event", engine event), ("cut", kept, Blocks that stay behind them), ("compact",
    engine event), ("request", Request). `base`: tokens of system and tools, `model`: the id of the one that answered most requests.
    `cwd`: where it began, "" for a subagent. `size`: bytes that were read, `bad` lines left out. `texts`:
    Block that is no result -> what was said in it, where that was asked for."""

    __slots__ = ("bad", "base", "cwd", "models", "path", "requests", "size", "steps", "texts")

    def __init__(self, path: str):
        self.path = path
        self.steps: list = []
        self.requests: list = []
        self.base = LEAST_BASE
        self.cwd = ""
        self.size = self.bad = 0
        self.models: dict = {}  # id -> requests that it answered
        self.texts: dict = {}

    @property
    def model(self) -> str:
        return max(self.models, key=self.models.__getitem__) if self.models else ""


def read(path: str, with_needs: bool = True, with_texts: bool = False) -> Session:
    """The session of a transcript; OSError when it cannot be read. Lines that are not understood are left out."""
    index = transcript.index(path)
    reading = _Reading(path, with_needs, index, with_texts)
    side = None  # a subagent's own file holds nothing but a side chain
    for entry in entries.read(path, index.size):
        if not side and not reading.session.cwd and isinstance(entry.get("cwd"), str):
            reading.session.cwd = entry["cwd"]
        if isinstance(entry.get("uuid"), str):
            side = entries.is_side(entry) if side is None else side
            if entries.is_side(entry) == side:
                reading.see(entry)
    reading.session.size = index.size
    reading.session.bad += index.bad
    return reading.session


class _Reading:
    """The context as it stands while the lines go by."""

    def __init__(self, path: str, with_needs: bool, index: Index, with_texts: bool = False):
        self.session = Session(path)
        self.with_needs = with_needs
        self.with_texts = with_texts
        self.reader = transcript.Reader(index)
        self.blocks: list = []
        self.ends: dict = {}  # uuid of an entry -> how many blocks the context had after it
        self.said: set = set()  # strings that user or assistant wrote since the last compaction
        self.holders: dict = {}  # string -> results that hold it
        self.pending: dict = {}  # tool_use id -> (tool, input)
        self.calls: dict = {}  # tool_use id -> uuid of its line
        self.current: Request  # the one whose answer is being written
        self.messages: set = set()  # ids of those that requests have produced
        self.answered: set = set()  # tool_use ids whose result has come since the last compaction
        self.again = False  # whether earlier messages are being written once more
        self.began = 0  # how many blocks there had been when the request was sent
        self.last_at = 0.0
        self.count = 0

    def see(self, entry: dict) -> None:
        """Takes the next entry in."""
        at, kind = seconds_of(entry.get("timestamp")), entry.get("type")
        try:
            if entries.is_compaction(entry):
                kept = self.reader.index.kept.get(entry["uuid"], ())
                self._compact(Compacted(at, kept, compacted_at(entry)))
            elif kind == "user":
                self._user(entry, at)
            elif kind == "assistant" and is_answer(entry):
                self._assistant(entry, at)
        except RecursionError:  # an input that is nested a thousand deep is nobody's
            self.session.bad += 1
        # What adds nothing to the conversation stands where it hangs.
        there = len(self.blocks)
        adds = kind == "user" or (kind == "assistant" and is_answer(entry))
        self.ends[entry["uuid"]] = there if adds else self.ends.get(entries.parent_of(entry), there)
        self.last_at = max(at, self.last_at)

    def _compact(self, event: Compacted) -> None:
        self.session.steps.append(("compact", event))
        self.blocks, self.ends, self.said, self.holders, self.pending, self.answered = [], {}, set(), {}, {}, set()

    def _follow(self, entry: dict) -> None:
        """An entry that follows one before the end begins a new branch; of what comes behind that only the results of calls that stay do
        so too, for those of parallel calls hang off the branch. One that follows none, and is not written once more, begins with a clear
        context."""
        parent = entries.parent_of(entry)
        is_first = parent is None and entry["uuid"] not in self.ends
        kept = 0 if is_first else self.ends.get(parent, len(self.blocks))
        rest = self.blocks[kept:]
        stays = [block for block in rest if block.id and self.ends.get(self.calls.get(block.id), len(self.blocks)) <= kept]
        if len(stays) < len(rest):
            self.session.steps.append(("cut", kept, stays))
            self.blocks = self.blocks[:kept] + stays

    def _add(self, tokens: int, id: str = "", text: str = "", call: Call | None = None) -> Block:
        self.count += 1
        block = Block(self.count, tokens, id, text, call)
        self.blocks.append(block)
        self.session.steps.append(("add", block))
        return block

    # --- the user's lines: what was said, results -----------------------------------------------------------------------------

    def _user(self, entry: dict, at: float) -> None:
        content = entry["message"].get("content") if isinstance(entry.get("message"), dict) else None
        blocks = entries.blocks_of(entry)
        if not any(block.get("type") == "tool_result" for block in blocks):
            self._follow(entry)
        if entries.is_prompt(entry):
            self.session.steps.append(("event", Prompted(at)))
        if isinstance(content, str):
            self._hear(content, estimate_tokens(content), entry)
        for block in blocks:
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                self._result(entry, block)
            elif isinstance(block.get("text"), str):
                self._hear(block["text"], entries.said_tokens(block), entry)

    def _hear(self, text: str, said: int, entry: dict) -> None:
        made = self._add(tokens_of(len(text)))
        made.said = said
        made.is_summary = entries.is_summary(entry)
        if self.with_texts:
            self.session.texts[made] = text
        if self.with_needs:
            self.said |= strings_of(text)

    def _result(self, entry: dict, block: dict) -> None:
        id = block["tool_use_id"]
        if id in self.answered:
            return
        self.answered.add(id)
        text, images = calls.text_of_blocks(block.get("content"))
        call = self.reader.call_of(entry, block, self.pending.pop(id)) if id in self.pending else None
        made = self._add(tokens_of(len(text)) + images, id if call else "", text if call else "", call)
        made.said = 0
        if self.with_needs and call:
            self._hold(strings_of(text) - self.said, made)

    def _hold(self, strings: set, made: Block) -> None:
        holders, alone = self.holders, [made]  # most strings stand in one result only; these share a list
        for string in strings:
            held = holders.get(string)
            if held is None:
                holders[string] = alone
            elif len(held) == 1:
                holders[string] = [*held, made]
            else:
                held.append(made)

    # --- the assistant's: requests, and what they needed --------------------------------------------------------------------------

    def _assistant(self, entry: dict, at: float) -> None:
        message = entry["message"]
        name = message.get("id") or entry["uuid"]
        if name not in self.messages:
            self._begin(entry, name, at)
        elif self.again or name != self.current.message_id:
            self.again = True
            return
        self.current.answered_at = max(at, self.current.answered_at)
        self.current.usage = self.current.usage or usage_of(entry)
        for block in entries.blocks_of(entry):
            if isinstance(block.get("text"), str):
                self._write(block, block["text"], [block["text"]])
            elif thinking_tokens(block):
                self._add(0).thinking = thinking_tokens(block)
            elif block.get("type") == "tool_use":
                self.current.calls = block.get("name") not in ASKING
                tool_input = block.get("input") if isinstance(block.get("input"), dict) else {}
                if isinstance(block.get("id"), str):
                    self.pending[block["id"]] = (str(block.get("name") or ""), tool_input)
                    self.calls[block["id"]] = entry["uuid"]
                asked = self._write(block, json.dumps(tool_input, ensure_ascii=False), texts_in(tool_input))
                asked.asks = block["id"] if isinstance(block.get("id"), str) else ""

    def _begin(self, entry: dict, name: str, at: float) -> None:
        self._follow(entry)
        session = self.session
        self.messages.add(name)
        self.again, self.began = False, self.count
        self.current = Request(len(session.requests) + 1, name, self.last_at or at)
        if not session.requests:
            session.base = max(LEAST_BASE, prompt_tokens(entry["message"].get("usage")) - sum(block.tokens for block in self.blocks))
        session.requests.append(self.current)
        model = entry["message"].get("model")
        if isinstance(model, str):
            session.models[model] = session.models.get(model, 0) + 1
        session.steps.append(("request", self.current))

    def _write(self, block: dict, text: str, texts: list) -> Block:
        tokens = tokens_of(len(text))
        made = self._add(tokens)
        made.said = entries.said_tokens(block)
        if self.with_texts:
            self.session.texts[made] = "\n".join(texts)
        self.current.output += tokens
        if self.with_needs:
            self._needs(texts)
        return made

    def _needs(self, texts: list) -> None:
        written: set = set().union(*map(strings_of, texts))
        standing = None
        for string in sorted(written - self.said):
            held = self.holders.pop(string, None)
            if held:
                standing = set(self.blocks) if standing is None else standing
                held = [block for block in held if block in standing and block.place <= self.began]
                if held:
                    self.current.needs.append((string, held))
        self.said |= written
