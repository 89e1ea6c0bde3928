"""The forms of Anthropic's and OpenAI's messages: parsing them, the parsed message common to both, editing them. Pure.

The caller's messages are read, never changed; where one has to differ, a new one is made of its parts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from hooks.utils.policy.messages import thinking_tokens

# The part of a message in its conversation: a message of the system's, a request of the user's, an answer of the assistant's, and the
# results of the tools that it called.
SYSTEM, REQUEST, ANSWER, RESULTS = "system", "request", "answer", "results"
DIGEST_CHARS = 16


class Provider(str, Enum):
    """The provider whose form the messages have: the system prompt is beside Anthropic's, and among OpenAI's."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class ToolUse(NamedTuple):
    """A call of a tool: its `id`, the `tool`, its `input` ({} where that is no object), and whether the provider takes the call with a
    shorter input (`shortens`)."""

    id: str
    tool: str
    input: dict[str, Any]
    shortens: bool = True


class ToolResult(NamedTuple):
    """The result of the call `id`: its `text`, whether it is an `error`, and whether there is `more` than text in it, which no text of ours
    can replace."""

    id: str
    text: str
    error: bool = False
    more: bool = False


class Parsed(NamedTuple):
    """A message: its `part` in the conversation, the tools it `uses`, the `results` in it, its `texts` beside them, the tokens of its
    `thinking`, the number of blocks of it (`thoughts`), and whether it holds them `alone`."""

    part: str
    uses: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()
    texts: tuple[str, ...] = ()
    thinking: int = 0
    thoughts: int = 0
    alone: bool = False


def plain(value: Any) -> Any:
    """Return a model of an SDK's as the plain values that its package would send it as; anything else as it is."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    return dump(mode="json", by_alias=True, exclude_unset=True, exclude=getattr(value, "__api_exclude__", None))


def blocks_of(content: Any) -> list[Any]:
    """Return a content as plain blocks, whichever form it has; none for no content."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [plain(block) for block in content] if isinstance(content, (list, tuple)) else []


def is_thinking(block: Any) -> bool:
    """Return whether a block is a model's thinking, in the open or sealed."""
    return isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")


# The fields of an answer of OpenAI's form in which LiteLLM puts the thinking of other providers' models, and reads it in the next request.
BLOCKS, REASONING = "thinking_blocks", "reasoning_content"


def thinking_beside(message: dict[str, Any]) -> list[Any]:
    """Return the blocks of thinking beside a message's content. Its text, which is repeated there, counts where there are no blocks."""
    blocks = [block for block in blocks_of(message.get(BLOCKS)) if is_thinking(block)]
    text = message.get(REASONING)
    return [{"type": "thinking", "thinking": text}] if not blocks and isinstance(text, str) and text else blocks


def text_of(block: Any) -> str | None:
    """Return the text of a block; None for one that has none, such as an image."""
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else None


def digest_of(message: Any) -> str:
    """Return a hash of a message, without marks for the cache: they move from request to request, and with them whether a lone text is a
    string or a block. TypeError, ValueError or RecursionError where the message cannot be sent."""
    text = json.dumps(_unmarked(message), sort_keys=True, default=plain, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARS]


def digests_of(messages: Sequence[Any]) -> list[str] | None:
    """Return the digests of messages; None where one of them cannot be sent."""
    try:
        return [digest_of(message) for message in messages]
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None


def _unmarked(value: Any) -> Any:
    value = plain(value)
    if not isinstance(value, dict):
        return value
    fields = {name: item for name, item in value.items() if name != "cache_control"}
    content = fields.get("content")
    if isinstance(content, (list, tuple)):
        blocks = [_unmarked(block) for block in content]
        alone = blocks[0] if len(blocks) == 1 and isinstance(blocks[0], dict) else {}
        fields["content"] = alone["text"] if alone.keys() == {"type", "text"} else blocks
    return fields


# --- shorter texts ---

_NUMBER = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_LEAST_LINES = 10  # of a listing: a shorter one gains nothing
# In the input of a call, a longer text is shortened to its beginning.
_LONG_CHARS, _BEGINNING_CHARS = 400, 80


def bare(text: str) -> str | None:
    """Return a listing without the numbers of its lines, which mean nothing once it is old; None for any other text."""
    if _NUMBER.match(text) is None:
        return None
    without, count = _NUMBER.subn("", text)
    return without if count >= _LEAST_LINES and 10 * count > 9 * text.count("\n") else None


def short(value: Any) -> Any:
    """Return the input of a call with its long texts shortened: the file has the whole text. The same value where none is long."""
    if isinstance(value, str) and len(value) > _LONG_CHARS:
        return f"{value[:_BEGINNING_CHARS]}… [PopKit left out {len(value) - _BEGINNING_CHARS} characters]"
    if isinstance(value, dict):
        return {name: short(each) for name, each in value.items()}
    return [short(each) for each in value] if isinstance(value, list) else value


# In the place of a notice: the result's own text, without the numbers of its lines; the call's own input, its long texts shortened.
BARE = ""


class Edit(NamedTuple):
    """How a message differs from the caller's: `notices` in the place of results (by the id of the call; BARE where a call's input is
    shortened), its thinking is left out, `additions` before the user's text."""

    notices: Mapping[str, str]
    drops_thinking: bool
    additions: Sequence[str]


class Form(NamedTuple):
    """A provider's form of messages. `parse`: a message as Parsed, None for one that is not of the form. `edit`: a new message.
    `keeps_system`: whether the system's messages are among the others for good, so that they stay when an exchange leaves. `alternates`:
    whether no two messages of the user's may follow each other."""

    parse: Callable[[Any], Parsed | None]
    edit: Callable[[Any, Edit], Any]
    keeps_system: bool
    alternates: bool


# --- Anthropic: blocks of text, thinking, tool_use and tool_result; the system prompt is beside the messages ---

_ANTHROPIC_PARTS = {"user": REQUEST, "assistant": ANSWER, "system": SYSTEM}


def _parse_anthropic(message: Any) -> Parsed | None:
    message = plain(message)
    part = _ANTHROPIC_PARTS.get(str(message.get("role"))) if isinstance(message, dict) else None
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


def _edit_anthropic(message: Any, how: Edit) -> Any:
    content = message["content"] if isinstance(message, dict) else plain(message)["content"]
    edited = _text_blocks(how.additions)
    for block in _blocks_in(content):
        known = plain(block)
        kind = known.get("type") if isinstance(known, dict) else None
        if is_thinking(known) and how.drops_thinking:
            continue
        if kind == "tool_use" and known.get("id") in how.notices:
            block = {**known, "input": short(known.get("input"))}
        notice = how.notices.get(known.get("tool_use_id")) if kind == "tool_result" else None
        edited.append(block if notice is None else {**known, "content": notice})
    return {**plain(message), "content": edited}


# --- OpenAI: the system's (or developer's) messages among the others, calls beside an answer's content, each result a message ---

# LiteLLM passes on the thinking of other providers' models, in an answer's content or beside it.
_OPENAI_PARTS = {"system": SYSTEM, "developer": SYSTEM, "user": REQUEST, "assistant": ANSWER, "tool": RESULTS}


def _parse_openai(message: Any) -> Parsed | None:
    message = plain(message)
    part = _OPENAI_PARTS.get(str(message.get("role"))) if isinstance(message, dict) else None
    if part is None or message.get("function_call"):  # the form before tools
        return None
    blocks = blocks_of(message.get("content"))
    texts = tuple(text for text in map(text_of, blocks) if text is not None)
    if part == RESULTS:
        id = message.get("tool_call_id")
        return Parsed(part, (), (ToolResult(id, "\n".join(texts), False, len(texts) < len(blocks)),)) if isinstance(id, str) else None
    uses = _uses_of(message.get("tool_calls"))
    if uses is None or (uses and part != ANSWER):
        return None
    thinking = [*filter(is_thinking, blocks), *thinking_beside(message)]
    others = [block for block in blocks if not is_thinking(block) and text_of(block) != ""]
    has_more = uses or others or message.get("refusal") or message.get("audio")
    return Parsed(part, uses, (), texts, sum(map(thinking_tokens, thinking)), len(thinking), bool(thinking) and not has_more)


def _uses_of(calls: Any) -> tuple[ToolUse, ...] | None:
    """Return the calls of an answer; None where one has no id."""
    uses = [_use_of(plain(call)) for call in (calls if isinstance(calls, (list, tuple)) else ())]
    known = tuple(use for use in uses if use is not None)
    return known if len(known) == len(uses) else None


def _use_of(call: Any) -> ToolUse | None:
    """Return a call, with its arguments as one text where they are no object in JSON; None for one without an id."""
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        return None
    function, custom = plain(call.get("function")), plain(call.get("custom"))
    is_function = isinstance(function, dict)
    called = function if is_function else custom if isinstance(custom, dict) else {}
    text = called.get("arguments", called.get("input"))
    parsed = _object_of(text)
    tool_input = parsed if parsed is not None else {"arguments": text} if isinstance(text, str) else {}
    shortens = is_function and parsed is not None and isinstance(called.get("arguments"), str)
    return ToolUse(call["id"], str(called.get("name") or ""), tool_input, shortens)


def _object_of(value: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _edit_openai(message: Any, how: Edit) -> Any:
    known = plain(message)
    if known.get("role") == "tool":
        notice = how.notices.get(known["tool_call_id"])
        return message if notice is None else {**known, "content": notice}
    if how.drops_thinking:
        known = _without_thinking(known)
    if any(use.id in how.notices for use in _uses_of(known.get("tool_calls")) or ()):
        known = {**known, "tool_calls": [_shortened(plain(call), how) for call in known["tool_calls"]]}
    if not how.additions:
        return known
    return {**known, "content": [*_text_blocks(how.additions), *_blocks_in(known.get("content"))]}


def _without_thinking(known: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in known.items() if name not in (BLOCKS, REASONING)}
    if isinstance(known.get("content"), (list, tuple)):
        fields["content"] = [block for block in known["content"] if not is_thinking(plain(block))] or None
    return fields


def _shortened(call: Any, how: Edit) -> Any:
    """Return a call with the long texts in its arguments shortened, where it is named and can be."""
    use = _use_of(call)
    if use is None or use.id not in how.notices or not use.shortens:
        return call
    return {**call, "function": {**plain(call["function"]), "arguments": json.dumps(short(use.input), ensure_ascii=False)}}


def _text_blocks(texts: Sequence[str]) -> list[Any]:
    return [{"type": "text", "text": text} for text in texts]


def _blocks_in(content: Any) -> list[Any]:
    """Return a content as the caller's own blocks."""
    return _text_blocks([content]) if isinstance(content, str) else list(content or ())


FORMS = {
    Provider.ANTHROPIC: Form(_parse_anthropic, _edit_anthropic, keeps_system=False, alternates=True),
    Provider.OPENAI: Form(_parse_openai, _edit_openai, keeps_system=True, alternates=False),
}
