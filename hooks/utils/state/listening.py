"""The entries of a transcript as `Recall` takes them: who said what. Reads and writes no file."""

from __future__ import annotations

from ..hosts.claude_code.calls import dumps_or_nothing, text_of_blocks
from ..hosts.claude_code.entries import blocks_of
from ..hosts.claude_code.stamps import seconds_of
from ..policy import kinds
from ..policy.placeholder import handle_in
from .recall import Recall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..policy.bookings import Spared
    from ..policy.context import Result

# What hooks add: what memory gave stands in it.
_OF_HOOKS = "hook_"


class Listener:
    """Told of every entry and every result of a conversation, in order. `given`: (seconds, text) of what memory gave it;
    `original(handle)`: what a placeholder stands for, as JSON text, or None."""

    __slots__ = ("_answers", "_given", "_original", "_recall")

    def __init__(self, given: Sequence[tuple[float, str]], original: Callable[[str], str | None] | None) -> None:
        self._given = given
        self._original = original
        self._recall: Recall | None = None
        self._answers: dict[str, str] = {}  # id of a call -> the answer that made it

    def listen(self, entry: dict[str, Any], stands: bool) -> None:
        """An entry; `stands`: on the branch that goes on."""
        if self._recall is None:
            self._recall = Recall(self._given, entry["cwd"] if isinstance(entry.get("cwd"), str) else "")
        kind, message = entry.get("type"), entry.get("message")
        if kind == "assistant":
            if stands:
                answer = str(message.get("id") or "") if isinstance(message, dict) else ""
                blocks = blocks_of(entry)
                self._answers.update({block["id"]: answer for block in blocks if isinstance(block.get("id"), str)})
                self._recall.wrote([said for block in blocks for said in _written(block)], seconds_of(entry.get("timestamp")), answer)
        elif not self._recall.is_over:
            for said in self._heard(entry, kind):
                self._recall.heard(said)

    def looked_up(self, result: Result) -> None:
        """A result that has come."""
        if kinds.of(result.kind).is_lookup and not result.error and self._recall is not None:
            self._recall.looked_up(result.tokens, self._answers.get(result.id, ""))

    def bookings(self, calibration: float) -> list[Spared]:
        """What memory has spared."""
        return self._recall.bookings(calibration) if self._recall is not None else []

    def _heard(self, entry: dict[str, Any], kind: object) -> Iterator[str]:
        attached = entry.get("attachment")
        if kind == "attachment" and isinstance(attached, dict) and not str(attached.get("type")).startswith(_OF_HOOKS):
            yield dumps_or_nothing(attached)
        if kind != "user":
            return
        message = entry.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            yield message["content"]
        for block in blocks_of(entry):
            content = block.get("content")
            handle = handle_in(content)
            yield (self._original(handle) or "") if handle and self._original else text_of_blocks(content)[0]
            yield block["text"] if isinstance(block.get("text"), str) else ""


def _written(block: dict[str, Any]) -> Iterator[str]:
    """What the assistant has written in a block: a text, or all texts in the input of a call."""
    if isinstance(block.get("text"), str):
        yield block["text"]
    if block.get("type") == "tool_use":
        yield from _texts(block.get("input"))


def _texts(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
