"""OpenAI's form of messages: the system's (or developer's) among them, calls beside an answer's content, each result a message. Pure.

LiteLLM hands on to other providers what their models have thought, so an answer may hold thinking too, in its content or beside it.
"""

from __future__ import annotations

import json
from typing import Any

from hooks.utils.policy.messages import thinking_tokens

from .said import (
    ANSWER,
    BLOCKS,
    REASONING,
    REQUEST,
    RESULTS,
    SYSTEM,
    Edit,
    Form,
    Said,
    ToolResult,
    ToolUse,
    blocks_of,
    is_thinking,
    plain,
    short,
    text_of,
    thinking_beside,
)

_PARTS = {"system": SYSTEM, "developer": SYSTEM, "user": REQUEST, "assistant": ANSWER, "tool": RESULTS}


def parse(message: Any) -> Said | None:
    """A message as Said; None for what is no message of the form, the old `function` among it."""
    message = plain(message)
    part = _PARTS.get(str(message.get("role"))) if isinstance(message, dict) else None
    if part is None or message.get("function_call"):
        return None
    blocks = blocks_of(message.get("content"))
    texts = tuple(text for text in map(text_of, blocks) if text is not None)
    if part == RESULTS:
        id = message.get("tool_call_id")
        return Said(part, (), (ToolResult(id, "\n".join(texts), False, len(texts) < len(blocks)),)) if isinstance(id, str) else None
    uses = _uses_of(message.get("tool_calls"))
    if uses is None or (uses and part != ANSWER):
        return None
    thought = [*filter(is_thinking, blocks), *thinking_beside(message)]
    says = (
        uses or message.get("refusal") or message.get("audio") or any(not is_thinking(block) and text_of(block) != "" for block in blocks)
    )
    return Said(part, uses, (), texts, sum(map(thinking_tokens, thought)), len(thought), bool(thought) and not says)


def _uses_of(calls: Any) -> tuple[ToolUse, ...] | None:
    """The calls of an answer; None where one has no id."""
    uses = [_use_of(plain(call)) for call in (calls if isinstance(calls, (list, tuple)) else ())]
    known = tuple(use for use in uses if use is not None)
    return known if len(known) == len(uses) else None


def _use_of(call: Any) -> ToolUse | None:
    """A call, its arguments as one text where they are no object in JSON; None for one without an id."""
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        return None
    function, custom = plain(call.get("function")), plain(call.get("custom"))
    is_function = isinstance(function, dict)
    called = function if is_function else custom if isinstance(custom, dict) else {}
    text = called.get("arguments", called.get("input"))
    given = _object_of(text)
    shown = given if given is not None else {"arguments": text} if isinstance(text, str) else {}
    shortens = is_function and given is not None and isinstance(called.get("arguments"), str)
    return ToolUse(call["id"], str(called.get("name") or ""), shown, shortens)


def _object_of(given: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def edit(message: Any, how: Edit) -> Any:
    """A message of the caller's with a notice for its result, without thinking, or with additions before what the user said."""
    known = plain(message)
    if known.get("role") == "tool":
        notice = how.notices.get(known["tool_call_id"])
        return message if notice is None else {**known, "content": notice}
    if how.unthought:
        known = _unthought(known)
    if any(use.id in how.notices for use in _uses_of(known.get("tool_calls")) or ()):
        known = {**known, "tool_calls": [_shortened(plain(call), how) for call in known["tool_calls"]]}
    if not how.additions:
        return known
    content = known.get("content")
    said = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    return {**known, "content": [*({"type": "text", "text": text} for text in how.additions), *said]}


def _unthought(known: dict[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in known.items() if name not in (BLOCKS, REASONING)}
    if isinstance(known.get("content"), (list, tuple)):
        said["content"] = [block for block in known["content"] if not is_thinking(plain(block))] or None
    return said


def _shortened(call: Any, how: Edit) -> Any:
    """A call with the long texts in its arguments shortened, where that is asked and it can be."""
    use = _use_of(call)
    if use is None or use.id not in how.notices or not use.shortens:
        return call
    return {**call, "function": {**plain(call["function"]), "arguments": json.dumps(short(use.input), ensure_ascii=False)}}


FORM = Form(parse, edit, keeps_system=True, alternates=False)
