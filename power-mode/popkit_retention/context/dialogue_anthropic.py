"""Anthropic's form of messages: blocks of text, thinking, tool_use and tool_result; the system prompt stands beside them. Pure."""

from __future__ import annotations

from typing import Any

from hooks.utils.policy.messages import thinking_tokens

from .said import ANSWER, REQUEST, RESULTS, SYSTEM, Edit, Form, Said, ToolResult, ToolUse, blocks_of, is_thinking, plain, short, text_of

_PARTS = {"user": REQUEST, "assistant": ANSWER, "system": SYSTEM}


def parse(message: Any) -> Said | None:
    """A message as Said; None for what is no message."""
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
            uses.append(_use_of(block))
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
    return Said(RESULTS if results else part, tuple(uses), tuple(results), tuple(texts), thinking, thoughts, 0 < thoughts == len(blocks))


def _use_of(block: dict[str, Any]) -> ToolUse:
    given = block.get("input")
    return ToolUse(block.get("id"), str(block.get("name") or ""), given if isinstance(given, dict) else {})  # type: ignore[arg-type]


def _result_of(block: dict[str, Any]) -> ToolResult:
    parts = blocks_of(block.get("content"))
    texts = [text for text in map(text_of, parts) if text is not None]
    return ToolResult(block.get("tool_use_id"), "\n".join(texts), block.get("is_error") is True, len(texts) < len(parts))  # type: ignore[arg-type]


def edit(message: Any, how: Edit) -> Any:
    """A message of the caller's with notices, additions and without thinking; everything else of it as it was."""
    content = message["content"] if isinstance(message, dict) else plain(message)["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    edited: list[Any] = [{"type": "text", "text": text} for text in how.additions]
    for block in blocks:
        known = plain(block)
        kind = known.get("type") if isinstance(known, dict) else None
        if is_thinking(known) and how.unthought:
            continue
        if kind == "tool_use" and known.get("id") in how.notices:
            block = {**known, "input": short(known.get("input"))}
        notice = how.notices.get(known.get("tool_use_id")) if kind == "tool_result" else None
        edited.append(block if notice is None else {**known, "content": notice})
    return {**plain(message), "content": edited}


FORM = Form(parse, edit, keeps_system=False, alternates=True)
