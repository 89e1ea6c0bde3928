"""The form of OpenAI's messages: calls beside an answer's content, each result a message, the system's messages among the others. Pure."""

from __future__ import annotations

import json
from typing import Any

from popkit_retention.core.io.codec import as_object
from popkit_retention.core.policy.messages import thinking_tokens

from .content_blocks import (
    BLOCKS,
    REASONING,
    blocks_of,
    is_thinking,
    own_blocks,
    plain,
    role_of,
    text_blocks,
    text_of,
    thinking_beside,
    tool_calls_of,
)
from .message_records import ANSWER, REQUEST, RESULTS, SYSTEM, Edit, ParsedMessage, ToolResult, ToolUse
from .shortening import short

# LiteLLM passes on the thinking of other providers' models, in an answer's content or beside it.
_PARTS = {"system": SYSTEM, "developer": SYSTEM, "user": REQUEST, "assistant": ANSWER, "tool": RESULTS}


def parse_openai(message: Any) -> ParsedMessage | None:
    """Return a message as Parsed; None for one that is not of this form."""
    message = plain(message)
    part = _PARTS.get(role_of(message))
    if part is None or message.get("function_call"):  # the form before tools
        return None
    blocks = blocks_of(message.get("content"))
    texts = tuple(text for text in map(text_of, blocks) if text is not None)
    if part == RESULTS:
        id = message.get("tool_call_id")
        return (
            ParsedMessage(part, (), (ToolResult(id, "\n".join(texts), False, len(texts) < len(blocks)),)) if isinstance(id, str) else None
        )
    uses = _uses_of(message)
    if uses is None or (uses and part != ANSWER):
        return None
    thinking = [*filter(is_thinking, blocks), *thinking_beside(message)]
    others = [block for block in blocks if not is_thinking(block) and text_of(block) != ""]
    has_more = uses or others or message.get("refusal") or message.get("audio")
    return ParsedMessage(part, uses, (), texts, sum(map(thinking_tokens, thinking)), len(thinking), bool(thinking) and not has_more)


def _uses_of(message: dict[str, object]) -> tuple[ToolUse, ...] | None:
    """Return the calls of an answer; None where one has no id."""
    uses = [_use_of(call) for call in tool_calls_of(message)]
    known = tuple(use for use in uses if use is not None)
    return known if len(known) == len(uses) else None


def _use_of(call: Any) -> ToolUse | None:
    """Return a call, with its arguments as one text where they are no object in JSON; None for one without an id."""
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        return None
    function, custom = plain(call.get("function")), plain(call.get("custom"))
    is_function = isinstance(function, dict)
    called = function if is_function else as_object(custom)
    text = called.get("arguments", called.get("input"))
    parsed = _object_of(text)
    tool_input = parsed if parsed is not None else {"arguments": text} if isinstance(text, str) else {}
    shortens = is_function and parsed is not None and isinstance(called.get("arguments"), str)
    return ToolUse(call["id"], str(called.get("name") or ""), tool_input, shortens)


def _object_of(value: Any) -> dict[str, object] | None:
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def edit_openai(message: Any, edit: Edit) -> Any:
    """Return a new message with the edit made; the same one where the edit changes nothing of a result."""
    known = plain(message)
    if known.get("role") == "tool":
        notice = edit.notices.get(known["tool_call_id"])
        return message if notice is None else {**known, "content": notice}
    if edit.drops_thinking:
        known = _without_thinking(known)
    if any(use.id in edit.notices for use in _uses_of(known) or ()):
        known = {**known, "tool_calls": [_shortened(call, edit) for call in tool_calls_of(known)]}
    if not edit.additions:
        return known
    return {**known, "content": [*text_blocks(edit.additions), *own_blocks(known.get("content"))]}


def _without_thinking(known: dict[str, Any]) -> dict[str, object]:
    fields = {name: value for name, value in known.items() if name not in (BLOCKS, REASONING)}
    if isinstance(known.get("content"), (list, tuple)):
        fields["content"] = [block for block in known["content"] if not is_thinking(plain(block))] or None
    return fields


def _shortened(call: Any, edit: Edit) -> Any:
    """Return a call with the long texts in its arguments shortened, where it is named and can be."""
    use = _use_of(call)
    if use is None or use.id not in edit.notices or not use.shortens:
        return call
    return {**call, "function": {**plain(call["function"]), "arguments": json.dumps(short(use.input), ensure_ascii=False)}}
