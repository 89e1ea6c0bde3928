"""A row as the client hands it: which of its blocks are results, what text each shows, and the row with other texts. Pure.

Rows come from outside: whatever is not understood is left as it came.
"""

from __future__ import annotations

from ..hosts.claude_code import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Arrived:
    """A result block of a row: `at` its place among the blocks, `id` of its tool use, its `content`, the `text` that it shows, whether
    that is all in one piece (`whole`: another text can take its place), and whether it is an `error`."""

    __slots__ = ("at", "content", "error", "id", "text", "whole")

    def __init__(self, at: int, id: str, content: Any, error: bool) -> None:
        self.at = at
        self.id = id
        self.content = content
        self.error = error
        self.text = calls.text_of_blocks(content)[0]
        self.whole = isinstance(content, str) or len(_texts(content)) == 1

    def saying(self, text: str) -> Any:
        """The content with another text; images beside it stay."""
        if isinstance(self.content, str):
            return text
        changed = list(self.content)
        changed[_texts(changed)[0]] = {**changed[_texts(changed)[0]], "text": text}
        return changed


def _texts(content: Any) -> list[int]:
    """The places of the text blocks; none where anything else than texts and images stands among them."""
    if not isinstance(content, list):
        return []
    kinds = [block.get("type") if isinstance(block, dict) else None for block in content]
    if not set(kinds) <= {"text", "image"}:
        return []
    return [at for at, block in enumerate(content) if kinds[at] == "text" and isinstance(block.get("text"), str)]


def blocks_of(row: dict[str, Any]) -> list[Any]:
    """The blocks of a row's message; none where it has none."""
    message = row.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    return blocks if isinstance(blocks, list) else []


def results_of(row: dict[str, Any]) -> list[Arrived]:
    """The results that a row brings."""
    found = []
    for at, block in enumerate(blocks_of(row)):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            id = block.get("tool_use_id")
            if isinstance(id, str) and id:
                found.append(Arrived(at, id, block.get("content"), block.get("is_error") is True))
    return found


def uses_of(messages: object) -> dict[str, tuple[str, dict[str, Any]]]:
    """id -> (tool, input) of the calls in a host's messages."""
    found = {}
    for message in messages if isinstance(messages, list) else []:
        uses = message.get("toolUses") if isinstance(message, dict) else None
        for use in uses if isinstance(uses, list) else []:
            if isinstance(use, dict) and isinstance(use.get("tool"), str) and isinstance(use.get("input"), dict):
                found[str(use.get("tool_use_id"))] = (use["tool"], use["input"])
    return found
