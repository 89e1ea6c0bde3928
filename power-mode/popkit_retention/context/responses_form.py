"""The form of OpenAI's Responses: a conversation is a list of items, of which those of one answer, or of its results, are one message
here. Pure.

Reasoning stays as long as the call or the text behind it, which the provider demands. An item that is only referred to, or of a kind that
is not known, is part of an answer, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from popkit_retention.core.io.codec import as_text

from .content_blocks import blocks_of, kind_of, plain, role_of, text_of
from .message_records import ANSWER, REQUEST, RESULTS, SYSTEM, Edit, ParsedMessage, ToolResult, ToolUse
from .shortening import short

_ROLES = {"system": SYSTEM, "developer": SYSTEM, "user": REQUEST, "assistant": ANSWER}
REFERENCE = "item_reference"
_COMPACTED = "compaction"  # all that was said before it, sealed
_ITEMS, _REFERRED = "items", "referred"  # the fields of a joined message, beside its part
# Outputs that a text may replace; others have a form of their own.
_TEXT_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


class _JoinedItems(dict[str, Any]):
    """The items of one answer, or of its results, as one message: what a caller sends is never one, whatever its fields."""


def part_of(item: Any) -> str:
    """Return the part of a plain item in its conversation; "" for a value that is no item."""
    kind = kind_of(item)
    if kind in (None, "message"):
        return _ROLES.get(role_of(item), "")
    if not isinstance(kind, str):
        return ""
    return SYSTEM if kind == _COMPACTED else RESULTS if result_id(item) else ANSWER


def result_id(item: dict[str, Any]) -> str:
    """Return the id of the call that a plain item is the result of; "" for any other item."""
    if not str(item.get("type")).endswith("_output"):
        return ""
    id = item.get("call_id") or (item.get("id") if item["type"] == "local_shell_call_output" else None)
    return as_text(id)


def call_id(item: dict[str, Any]) -> str:
    """Return the id of the call that a plain item is, whose result the caller sends; "" for any other item."""
    id = item.get("call_id") if str(item.get("type")).endswith("_call") else None
    return as_text(id)


def join(items: Sequence[Any]) -> list[Any]:
    """Return the items as messages: the items of an answer as one, the results behind it as one. A value that is no item stays as it is."""
    joined: list[Any] = []
    for item in items:
        known = plain(item)
        part = part_of(known)
        if not part:
            joined.append(item)
        elif part in (ANSWER, RESULTS) and joined and _part(joined[-1]) == part:
            joined[-1][_ITEMS].append(known)
        else:
            joined.append(_JoinedItems({"part": part, _ITEMS: [known]}))
    for message, after in zip(joined, joined[1:]):
        _refer(message, after)
    return joined


def _part(message: Any) -> Any:
    return message["part"] if isinstance(message, _JoinedItems) else None


def _refer(message: Any, results: Any) -> None:
    """Note in an answer with references the results whose calls are only referred to."""
    if (_part(message), _part(results)) == (ANSWER, RESULTS) and any(kind_of(item) == REFERENCE for item in message[_ITEMS]):
        calls = set(map(call_id, message[_ITEMS]))
        message[_REFERRED] = [id for id in map(result_id, results[_ITEMS]) if id not in calls]


def split(messages: Iterable[Any]) -> list[Any]:
    """Return joined messages as items."""
    return [item for message in messages for item in items_of(message)]


def items_of(message: Any) -> list[Any]:
    """Return the items of a joined message; a value that is none by itself."""
    return message[_ITEMS] if isinstance(message, _JoinedItems) else [message]


def parse_responses(message: Any) -> ParsedMessage | None:
    """Return a joined message as Parsed; None for a value that is none."""
    part = _part(message)
    if part is None:
        return None
    items = items_of(message)
    if part == RESULTS:
        return ParsedMessage(part, (), tuple(map(_result_of, items)))
    texts = tuple(text for item in items for text in map(text_of, blocks_of(item.get("content"))) if text is not None)
    referred = tuple(ToolUse(id, "", {}, False) for id in message.get(_REFERRED, ()))
    return ParsedMessage(part, (*map(_use_of, filter(call_id, items)), *referred), (), texts)


def _result_of(item: dict[str, object]) -> ToolResult:
    output = item.get("output")
    blocks = blocks_of(output)
    texts = [text for text in map(text_of, blocks) if text is not None]
    has_more = item["type"] not in _TEXT_OUTPUTS or not isinstance(output, (str, list)) or len(texts) < len(blocks)
    return ToolResult(result_id(item), "\n".join(texts), False, has_more)


def _use_of(item: dict[str, Any]) -> ToolUse:
    """Return a call, with its arguments as one text where they are no object in JSON."""
    text = item.get("arguments", item.get("input"))
    given = _object_of(text) if isinstance(text, str) else next((v for v in (item.get("action"), item.get("operation")) if v), {})
    tool_input = given if isinstance(given, dict) else {"arguments": text}
    shortens = item["type"] == "function_call" and isinstance(given, dict)
    return ToolUse(item["call_id"], str(item.get("name") or item["type"]), tool_input, shortens)


def _object_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def edit_responses(message: Any, edit: Edit) -> Any:
    """Return a new joined message with the edit made."""
    items = [_edited(item, edit) for item in items_of(message)]
    if edit.additions:
        content = items[0].get("content")
        own = [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content or ())
        items[0] = {**items[0], "content": [*({"type": "input_text", "text": text} for text in edit.additions), *own]}
    return _JoinedItems({**message, _ITEMS: items})


def _edited(item: dict[str, object], edit: Edit) -> dict[str, Any]:
    if result_id(item) in edit.notices:
        return {**item, "output": edit.notices[result_id(item)]}
    if call_id(item) in edit.notices and _use_of(item).shortens:
        return {**item, "arguments": json.dumps(short(_use_of(item).input), ensure_ascii=False)}
    return item
