"""One message of a conversation, parsed from whichever provider's form it has. Pure.

The caller's messages are read, never changed; where one has to differ, a new one is made of its parts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# The part of a message in its conversation: a message of the system's, a request of the user's, an answer of the assistant's, and the
# results of the tools that it called.
SYSTEM, REQUEST, ANSWER, RESULTS = "system", "request", "answer", "results"
DIGEST_CHARS = 16


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


def made_plain(value: Any) -> Any:
    """Return the same data as plain JSON values, whatever callers give (models, tuples, iterators): the very object where it is plain
    already, so nothing is copied and an iterator is read only once. A value that has no plain form stays as it is."""
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, dict):
        fields = {name: made_plain(each) for name, each in value.items()}
        return value if all(fields[name] is each for name, each in value.items()) else fields
    if isinstance(value, list):
        items = [made_plain(each) for each in value]
        return value if all(new is old for new, old in zip(items, value)) else items
    if isinstance(value, Mapping):
        return {name: made_plain(each) for name, each in value.items()}
    if isinstance(value, (tuple, set, frozenset, Iterator)):
        return [made_plain(each) for each in value]
    return plain(value)


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


def alike(digests: Sequence[str], others: Sequence[str]) -> int:
    """Return the number of messages that two conversations have in common, by their digests, before they differ."""
    return next((number for number, (one, other) in enumerate(zip(digests, others)) if one != other), min(len(digests), len(others)))


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


# --- shorter texts ------------------------------------------------------------------------------------------------------------------------

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
    """Return the input of a call with its long texts shortened: the file has what was written. The same value where none is long."""
    if isinstance(value, str) and len(value) > _LONG_CHARS:
        return f"{value[:_BEGINNING_CHARS]}… [PopKit left out {len(value) - _BEGINNING_CHARS} characters]"
    if isinstance(value, dict):
        return {name: short(each) for name, each in value.items()}
    return [short(each) for each in value] if isinstance(value, list) else value
