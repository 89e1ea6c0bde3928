"""What the build before of a conversation handed on, for the next: a bounded number of them, one build of each at a time. In memory alone.

A session may hold several conversations, those of subagents: they are told apart by their first message of a user's. Two parallel calls of
one conversation are built one after the other, so neither sees half of the other's state.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MOST = 1_000
_MARK_CHARS = 16


class Conversation:
    """`state`: what the last build handed on (`ContextResult.state`), None before the first. It changes only within a `turn`."""

    __slots__ = ("lock", "state")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.state: dict[str, Any] | None = None


class Conversations:
    """The conversations used last, at most so many. One that is left out starts over at its next build."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, ...], Conversation] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    @contextmanager
    def turn(self, key: tuple[str, ...]) -> Iterator[Conversation]:
        """A conversation, held by nobody else meanwhile."""
        with self._lock:
            conversation = self._known.setdefault(key, Conversation())
            self._known.move_to_end(key)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        with conversation.lock:
            yield conversation


def mark_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """What tells a conversation from others: its first message of a user's, hashed. Cache breakpoints move, so they say nothing."""
    first = next((message for message in messages if message.get("role") == "user"), messages[0])
    said = json.dumps(_without_breakpoints(first.get("content")), sort_keys=True, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]


def _without_breakpoints(content: object) -> object:
    """A content as blocks: a breakpoint makes a block of what is a plain text without it."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return content
    return [
        {name: value for name, value in block.items() if name != "cache_control"} if isinstance(block, dict) else block for block in content
    ]
