"""A recorded session as data: its requests, each with the blocks that were added to its context. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

from popkit_retention.core.policy import own_lines
from popkit_retention.core.policy.calls import Call
from popkit_retention.core.policy.outlines import NAME, PLAIN
from popkit_retention.core.policy.placeholder import NO_HANDLE, handle_in
from popkit_retention.core.policy.usage import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


K = TypeVar("K")
V = TypeVar("V")
# For any text sent to Opus 5, with the JSON around it (`benchmarks/tokens.py`); for other models see models.Model.tokens.
CHARS_PER_TOKEN = 2.1
LEAST_BASE = 8_000
_NAME, _PLAIN = re.compile(NAME), re.compile(PLAIN)
_LINE_NUMBER = re.compile(r"\s*\d+(?:→|\t)")
_SHORTEST_LINE, _LONGEST_LINE = 20, 400


def tokens_of(chars: int, factor: float = 1.0) -> int:
    """Return the tokens of a number of characters, by the lab's measure; `factor`: the model's (`Session.factor`)."""
    return round(chars / CHARS_PER_TOKEN * factor)


class Block:
    """A piece of a context: a text of the user's or the assistant's, a tool call, or a result.

    Only a result has an `id` (of its tool use), a `text`, a `call` (the engine's event) and a `handle`. `tokens`: by the lab's measure;
    `estimate`: by the engine's, for a block that is not a result. `thinking`: tokens of the assistant's thinking, in a block that has
    nothing else; only models that bind it carry it on. `asks`: of a tool call the id of its use, else "". `is_summary`: a recorded
    compaction left it. `place` counts all blocks of the session."""

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
    """A request, and the message that answered it.

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
    recording does, and stands until a compaction. `cwd`: the folder that it began in, "" for a subagent. `size`: bytes read; `bad`: lines
    left out; `is_translated`: whether another host recorded it. `models`: id -> requests that it answered; `factor`: tokens that the first
    of them takes for one of Opus 5. `texts`: text of each Block that is not a result, if asked for."""

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


def was_changed(session: Session) -> bool:
    """Return whether PopKit has changed a session: a result is as we leave one, or a compaction of Claude Code's left no summary."""
    is_bare = False
    for kind, what, *_ in session.steps:
        if kind == "compact":
            is_bare = not session.is_translated
        elif kind == "add":
            is_bare = is_bare and not what.is_summary
            if what.text and _is_changed(what):
                return True
        elif kind == "request" and is_bare:
            return True
    return False


def _is_changed(result: Block) -> bool:
    if handle_in(result.text):
        return True
    lines = {line.line for line in own_lines.found_in(result.text) if line.of_result}
    if lines.isdisjoint(result.text.split("\n")):
        return False
    # A document such as our guide may show a line like ours. Those of a Read have numbers.
    return re.search(r"\.(md|txt)\b", result.call.command) is None


def shared(blocks: Sequence[Block], others: Sequence[Block]) -> int:
    """Return how many blocks two contexts have in common, from the first."""
    return next((at for at, (block, other) in enumerate(zip(blocks, others)) if block is not other), min(len(blocks), len(others)))


def rewound(known: dict[K, V], left: dict[K, V], context: Iterable[K]) -> tuple[dict[K, V], dict[K, V]]:
    """Return the entries of a context, in its order, and those of branches that were left, from what a policy has `known` before a cut and
    what it has `left`."""
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
