"""The form of Anthropic's messages: blocks of text, thinking, tool_use and tool_result, the system prompt beside the messages. Pure."""

from __future__ import annotations

from typing import Any

from popkit_retention.core.io.codec import as_object
from popkit_retention.core.policy.messages import thinking_tokens

from .content_blocks import blocks_of, is_thinking, kind_of, own_blocks, plain, role_of, text_blocks, text_of
from .message_records import ANSWER, REQUEST, RESULTS, SYSTEM, Edit, ParsedMessage, ToolResult, ToolUse
from .shortening import short

_PARTS = {"user": REQUEST, "assistant": ANSWER, "system": SYSTEM}
_IDS = {"tool_use": "id", "tool_result": "tool_use_id"}  # type of a block -> its field with the id of the call


def parse_anthropic(message: Any) -> ParsedMessage | None:
    """Return a message as Parsed; None for one that is not of this form."""
    message = plain(message)
    part = _PARTS.get(role_of(message))
    if part is None:
        return None
    uses: list[ToolUse] = []
    results: list[ToolResult] = []
    texts, thinking, thoughts = [], 0, 0
    blocks = blocks_of(message.get("content"))
    for block in blocks:
        kind = kind_of(block)
        if kind in ("tool_use", "tool_result") and not isinstance(block.get(_IDS[kind]), str):
            return None
        if kind == "tool_use":
            uses.append(_tool_use_of(block))
        elif kind == "tool_result":
            results.append(_result_of(block))
        elif is_thinking(block):
            thinking += thinking_tokens(block)
            thoughts += 1
        elif text_of(block) is not None:
            texts.append(block["text"])
    if (uses and part != ANSWER) or (results and part != REQUEST):
        return None
    return ParsedMessage(
        RESULTS if results else part, tuple(uses), tuple(results), tuple(texts), thinking, thoughts, 0 < thoughts == len(blocks)
    )


def _tool_use_of(block: dict[str, Any]) -> ToolUse:
    return ToolUse(block["id"], str(block.get("name") or ""), as_object(block.get("input")))


def _result_of(block: dict[str, Any]) -> ToolResult:
    parts = blocks_of(block.get("content"))
    texts = [text for text in map(text_of, parts) if text is not None]
    return ToolResult(block["tool_use_id"], "\n".join(texts), block.get("is_error") is True, len(texts) < len(parts))


def edit_anthropic(message: Any, edit: Edit) -> Any:
    """Return a new message with the edit made."""
    message = plain(message)
    edited = text_blocks(edit.additions)
    for block in own_blocks(message["content"]):
        known = plain(block)
        kind = kind_of(known)
        if is_thinking(known) and edit.drops_thinking:
            continue
        if kind == "tool_use" and known.get("id") in edit.notices:
            block = {**known, "input": short(known.get("input"))}
        notice = edit.notices.get(known.get("tool_use_id")) if kind == "tool_result" else None
        edited.append(block if notice is None else {**known, "content": notice})
    return {**message, "content": edited}
