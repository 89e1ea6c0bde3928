"""The interface of a policy, open to any implementation: the session as the policy sees it, its decisions and their times; and a recorded
session as data, its requests and the blocks that were added to its context. Pure.

Each session gets a new policy, which follows it in order. Right before each request it may clear results, and right after a result came it
may replace its text. docs/policies.md shows how to write one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hooks.utils.policy.calls import Call
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.outlines import NAME, PLAIN
from hooks.utils.policy.placeholder import NO_HANDLE
from hooks.utils.policy.usage import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hooks.utils.policy.events import Compacted, Event

K = TypeVar("K")
V = TypeVar("V")

# --- a recorded session ---

# Of any text that Opus 5 is sent, what holds it included (`benchmarks/tokens.py`); for other models see models.Model.tokens.
CHARS_PER_TOKEN = 2.1
LEAST_BASE = 8_000

_NAME, _PLAIN = re.compile(NAME), re.compile(PLAIN)
_LINE_NUMBER = re.compile(r"\s*\d+(?:→|\t)")
_SHORTEST_LINE, _LONGEST_LINE = 20, 400


def tokens_of(chars: int, factor: float = 1.0) -> int:
    """Return the tokens of a number of characters, by the lab's measure; `factor`: the model's (`Session.factor`)."""
    return round(chars / CHARS_PER_TOKEN * factor)


class Block:
    """One piece of a context: a text of the user's or the assistant's, a tool call, or a result.

    Only a result has an `id` (of its tool use), a `text`, a `call` (the engine's event) and a `handle`. `tokens`: by the lab's measure;
    `estimate`: by the engine's, of a block that is no result. `thinking`: tokens of the assistant's thinking, in a block that has nothing
    else; only models that bind it carry it on. `asks`: of a tool call the id of its use, else "". `is_summary`: a recorded compaction left
    it. `place` counts all blocks of the session."""

    __slots__ = ("asks", "call", "estimate", "handle", "id", "is_summary", "place", "text", "thinking", "tokens")

    def __init__(self, place: int, tokens: int, id: str = "", text: str = "", call: Call | None = None):
        self.place = place
        self.tokens = tokens
        self.id = id
        self.text = text
        self.call: Call
        if call is not None:
            self.call = call
        self.thinking = 0
        self.estimate = 0 if id else tokens
        self.asks = ""
        self.is_summary = False
        self.handle = NO_HANDLE


class Request:
    """One request, and the message that answered it.

    `number` counts from 1; `sent_at`, `answered_at`: seconds; `output`: tokens of the answer; `usage`: as the host recorded it, None where
    it did not. `needs`: (string that the answer wrote and only results held, those Blocks). `calls`: whether the answer calls tools that
    need no word of the user's, so that the next request follows by itself."""

    __slots__ = ("answered_at", "calls", "message_id", "needs", "number", "output", "sent_at", "usage")

    def __init__(self, number: int, message_id: str, sent_at: float):
        self.number = number
        self.message_id = message_id
        self.sent_at = self.answered_at = sent_at
        self.output = 0
        self.calls = False
        self.usage: Usage | None = None
        self.needs: list = []


@dataclass(eq=False)
class Session:
    """A recorded session.

    `steps`: the events in order: ("add", Block), ("event", engine event), ("cut", how many Blocks stay, Blocks behind them), ("compact",
    engine event), ("request", Request). `base`: tokens of system and tools; `earlier`: of a conversation that had begun before the
    recording does, and stands until a compaction. `cwd`: the folder that it began in, "" for a subagent. `size`:
    bytes read; `bad`: lines left out; `is_translated`: whether another host recorded it. `models`: id -> requests that it answered;
    `factor`: tokens that the first of them takes for one of Opus 5.
    `texts`: Block that is no result -> its text, if asked for."""

    path: str
    steps: list[tuple[Any, ...]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    base: int = LEAST_BASE
    earlier: int = 0
    cwd: str = ""
    size: int = 0
    bad: int = 0
    is_translated: bool = False
    models: dict[str, int] = field(default_factory=dict)
    factor: float = 1.0
    texts: dict[Block, str] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """Return the id of the model that answered most requests; "" for none."""
        return max(self.models, key=self.models.__getitem__, default="")


def shared(blocks: Sequence[Block], others: Sequence[Block]) -> int:
    """Return how many blocks two contexts have in common, from the first."""
    return next((at for at, (one, other) in enumerate(zip(blocks, others)) if one is not other), min(len(blocks), len(others)))


def rewound(known: dict[K, V], left: dict[K, V], context: Iterable[K]) -> tuple[dict[K, V], dict[K, V]]:
    """Return what a policy knows of a context, in its order, and of branches that were left: of all it `known` before a cut, and `left`."""
    every = {**left, **known}
    return {key: every.pop(key) for key in context if key in every}, every


def strings_of(text: str) -> set[str]:
    """Return the names in a text, and its stripped lines of 20 to 400 characters without their line-number prefix."""
    strings = {name for name in _NAME.findall(text) if not _PLAIN.match(name)}
    for line in text.split("\n"):
        if len(line) >= _SHORTEST_LINE:
            numbered = _LINE_NUMBER.match(line)
            line = (line[numbered.end() :] if numbered else line).strip()
            if _SHORTEST_LINE <= len(line) <= _LONGEST_LINE:
                strings.add(line)
    return strings


def texts_in(value: object) -> list[str]:
    """Return all texts within a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in texts_in(item)] if isinstance(value, list) else []


__all__ = ["STANDS", "SUMMARISED", "Block", "Choice", "Policy", "Prices", "Request", "View"]

Choice = tuple[Block, str, list[str]]  # a result, the text in its place, the reasons


# --- policies ---

# The effect of a recorded compaction under a policy: it empties the context, and the summariser's request, its summary and what the host
# put back with it count; or it does not take place.
SUMMARISED, STANDS = "summarised", "stands"


@dataclass
class View:
    """The context right before a request, as a policy sees it: nothing of what comes later.

    `base`: tokens of system and tools, and of a conversation before the recording, which are `earlier` of them · `context`: Blocks in
    order, `sizes`: tokens of the text in the place of each · `cleared`: Block -> placeholder in its place, `entered`: Block -> text
    that entered in place of its own · `lost`: Blocks of thinking that a clear has lost · `now`: when the request is sent, `last_at`:
    when the one before was answered (seconds, 0 for none) · `number` of the request, `since` of the first one after the last compaction
    · `sent`: how many Blocks of the context the request before has sent unchanged, `ends`: with how many each of the last requests
    ended that the cache may still have · `factor`: of the session's model.
    """

    base: int
    prices: Prices
    context: list[Block] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    cleared: dict[Block, str] = field(default_factory=dict)
    entered: dict[Block, str] = field(default_factory=dict)
    lost: set[Block] = field(default_factory=set)
    now: float = 0.0
    last_at: float = 0.0
    number: int = 0
    since: int = 1
    sent: int = 0
    ends: list[int] = field(default_factory=list)
    factor: float = 1.0
    earlier: int = 0

    @property
    def cold(self) -> bool:
        """Return whether the whole prompt is written anyway."""
        return not self.last_at or self.now - self.last_at > self.prices.ttl_s

    def size(self, block: Block) -> int:
        """Return the tokens of the text in a block's place."""
        placeholder = self.cleared.get(block)
        if placeholder is not None:
            return tokens_of(len(placeholder), self.factor)
        entered = self.entered.get(block)
        if entered is not None:
            return block.tokens - tokens_of(len(block.text), self.factor) + tokens_of(len(entered), self.factor)
        return block.tokens + (block.thinking if self.prices.bound and block not in self.lost else 0)

    def shows(self, block: Block, string: str) -> bool:
        """Return whether the text in a block's place has a string that the block's own text has."""
        text = self.cleared.get(block, self.entered.get(block))
        return text is None or string in text


class Policy:
    """A policy that clears nothing, and the interface of all others: it is called for every event, and asked before each request.

    `rebuilds`: whether a clear builds the conversation again, so that no message is read from the cache and no thinking is left.
    `makes_whole`: whether it gives a result whole again whose references name what leaves."""

    rebuilds = makes_whole = False

    @property
    def look_ups(self) -> int:
        """Return how often something was looked up again that had left, as a session counts it."""
        return 0

    def begin(self, cwd: str) -> None:
        """Begin a session in a folder, "" where that is not known."""

    def add(self, block: Block) -> None:
        """Handle a Block that was added to the conversation."""

    def enter(self, block: Block) -> str | None:
        """Return the text that enters in the place of a result's own, right after it was added; None for its own."""
        return None

    def event(self, event: Event) -> None:
        """Handle another event of the engine: the user's prompt."""

    def at_compaction(self, event: Compacted, view: View) -> str:
        """Return the effect of a recorded compaction: SUMMARISED, or STANDS."""
        return SUMMARISED

    def compact(self, event: Event) -> None:
        """Handle a compaction: the context was emptied."""

    def cut(self, context: list[Block]) -> None:
        """Handle a rewind of the conversation to this context. It has blocks of a branch that was left before, where that goes on."""

    def decide(self, view: View) -> list[Choice]:
        """Return the results to clear right before a request, and the calls whose input to clear. A result whose own text is given
        is whole again."""
        return []

    def missed(self, block: Block) -> None:
        """Handle a cleared result that was needed: it came back, and is kept."""

    def answered(self, request: Request) -> None:
        """Handle the answer to a request."""
