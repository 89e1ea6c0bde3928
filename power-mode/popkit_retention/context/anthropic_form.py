"""The form of Anthropic's messages: blocks of text, thinking, tool_use and tool_result, the system prompt beside the messages. Pure."""

from __future__ import annotations

from typing import Any

from hooks.utils.policy.messages import thinking_tokens

from .content_blocks import blocks_of, is_thinking, own_blocks, plain, text_blocks, text_of
from .message_records import ANSWER, REQUEST, RESULTS, SYSTEM, Edit, Parsed, ToolResult, ToolUse
from .shortening import short

_PARTS = {"user": REQUEST, "assistant": ANSWER, "system": SYSTEM}


def parse_anthropic(message: Any) -> Parsed | None:
    """Return a message as Parsed; None for one that is not of this form."""
    message = plain(message)
    part = _PARTS.get(str(message.get("role"))) if isinstance(message, dict) else None
    if part is None:
        return None
    uses: list[ToolUse] = []
    results: list[ToolResult] = []
    texts, thinking, thoughts = [], 0, 0
    blocks = blocks_of(message.get("content"))
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use":
            uses.append(_tool_use_of(block))
        elif kind == "tool_result":
            results.append(_result_of(block))
        elif is_thinking(block):
            thinking += thinking_tokens(block)
            thoughts += 1
        elif text_of(block) is not None:
            texts.append(block["text"])
    if not all(isinstance(id, str) for id in [*(use.id for use in uses), *(result.id for result in results)]):
        return None
    if (uses and part != ANSWER) or (results and part != REQUEST):
        return None
    return Parsed(RESULTS if results else part, tuple(uses), tuple(results), tuple(texts), thinking, thoughts, 0 < thoughts == len(blocks))


def _tool_use_of(block: dict[str, Any]) -> ToolUse:
    tool_input = block.get("input")
    return ToolUse(block.get("id"), str(block.get("name") or ""), tool_input if isinstance(tool_input, dict) else {})  # type: ignore[arg-type]


def _result_of(block: dict[str, Any]) -> ToolResult:
    parts = blocks_of(block.get("content"))
    texts = [text for text in map(text_of, parts) if text is not None]
    return ToolResult(block.get("tool_use_id"), "\n".join(texts), block.get("is_error") is True, len(texts) < len(parts))  # type: ignore[arg-type]


def edit_anthropic(message: Any, edit: Edit) -> Any:
    """Return a new message with the edit made."""
    content = message["content"] if isinstance(message, dict) else plain(message)["content"]
    edited = text_blocks(edit.additions)
    for block in own_blocks(content):
        known = plain(block)
        kind = known.get("type") if isinstance(known, dict) else None
        if is_thinking(known) and edit.drops_thinking:
            continue
        if kind == "tool_use" and known.get("id") in edit.notices:
            block = {**known, "input": short(known.get("input"))}
        notice = edit.notices.get(known.get("tool_use_id")) if kind == "tool_result" else None
        edited.append(block if notice is None else {**known, "content": notice})
    return {**plain(message), "content": edited}
