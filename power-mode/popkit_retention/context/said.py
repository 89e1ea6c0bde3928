"""One message of a conversation as the builder sees it, whichever provider's form it has. Pure.

The caller's messages are read, never changed; where one has to differ, a new one is made of its parts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What a message is in its conversation: the system's word among the messages, a request of the user's, what the assistant answered, and
# what the tools it called returned.
SYSTEM, REQUEST, ANSWER, RESULTS = "system", "request", "answer", "results"
DIGEST_CHARS = 16
_NUMBER = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
# A listing of fewer lines gains nothing by it.
_LEAST_LINES = 10


class ToolUse(NamedTuple):
    """A call of a tool: its `id`, the `tool`, its `input` ({} where that is no object), and whether the provider takes the call with a
    shorter input (`shortens`)."""

    id: str
    tool: str
    input: dict[str, Any]
    shortens: bool = True


class ToolResult(NamedTuple):
    """What a tool returned to the call `id`: its `text`, whether it is an `error`, and whether there is `more` than text in it, which no
    words of ours can stand for."""

    id: str
    text: str
    error: bool = False
    more: bool = False


class Said(NamedTuple):
    """A message: its `part` in the conversation, the tools it `uses`, the `results` in it, its `texts` beside them, the tokens of its
    `thinking`, how many `thoughts` these are, and whether they stand `alone` in it."""

    part: str
    uses: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()
    texts: tuple[str, ...] = ()
    thinking: int = 0
    thoughts: int = 0
    alone: bool = False


# In the place of a notice: the result's own text, without the numbers of its lines; the call's own input, its long texts shortened.
BARE = ""


class Edit(NamedTuple):
    """How a message differs from the caller's: `notices` stand in the place of results (by the id of the call; BARE where a call's
    input is shortened), its thinking is left out, `additions` stand before what the user said."""

    notices: Mapping[str, str]
    unthought: bool
    additions: Sequence[str]


class Form(NamedTuple):
    """A provider's form of messages. `parse`: a message as Said, None for what is not understood. `edit`: a new message. `keeps_system`:
    whether the system's words stand among the messages for good, so that they stay when an exchange leaves. `alternates`: whether no two
    messages of the user's may follow each other."""

    parse: Callable[[Any], Said | None]
    edit: Callable[[Any, Edit], Any]
    keeps_system: bool
    alternates: bool


def plain(value: Any) -> Any:
    """A model of an SDK's as the plain values that its package would send it as; anything else as it is."""
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
    """A content as plain blocks, whichever form it has; nothing for none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [plain(block) for block in content] if isinstance(content, (list, tuple)) else []


def is_thinking(block: Any) -> bool:
    """Whether a block is what a model has thought, in the open or sealed."""
    return isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")


# Where LiteLLM puts what other providers' models have thought, in an answer of OpenAI's form, and takes it from in the next request.
BLOCKS, REASONING = "thinking_blocks", "reasoning_content"


def thinking_beside(message: dict[str, Any]) -> list[Any]:
    """The blocks of thinking beside a message's content. Its text, which stands there once more, counts where there are no blocks."""
    blocks = [block for block in blocks_of(message.get(BLOCKS)) if is_thinking(block)]
    text = message.get(REASONING)
    return [{"type": "thinking", "thinking": text}] if not blocks and isinstance(text, str) and text else blocks


def text_of(block: Any) -> str | None:
    """The text of a block; None for one that has none, such as an image."""
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else None


def digest_of(message: Any) -> str:
    """What tells a message from others, marks for the cache apart: they move from request to request, and with them whether a lone text is
    a string or a block. TypeError, ValueError or RecursionError where the message cannot be sent."""
    text = json.dumps(_bare(message), sort_keys=True, default=plain, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARS]


def digests_of(messages: Sequence[Any]) -> list[str] | None:
    """The digests of messages; None where one of them cannot be sent."""
    try:
        return [digest_of(message) for message in messages]
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None


def alike(digests: Sequence[str], others: Sequence[str]) -> int:
    """How many messages two conversations have in common, by their digests, before they part."""
    return next((number for number, (one, other) in enumerate(zip(digests, others)) if one != other), min(len(digests), len(others)))


def _bare(value: Any) -> Any:
    value = plain(value)
    if not isinstance(value, dict):
        return value
    bare = {name: item for name, item in value.items() if name != "cache_control"}
    content = bare.get("content")
    if isinstance(content, (list, tuple)):
        blocks = [_bare(block) for block in content]
        alone = blocks[0] if len(blocks) == 1 and isinstance(blocks[0], dict) else {}
        bare["content"] = alone["text"] if alone.keys() == {"type", "text"} else blocks
    return bare


def bare(text: str) -> str | None:
    """A listing without the numbers of its lines, which tell nothing once it is old; None for a text that is none."""
    if _NUMBER.match(text) is None:
        return None
    without, found = _NUMBER.subn("", text)
    return without if found >= _LEAST_LINES and 10 * found > 9 * text.count("\n") else None


# Of the input of a call, a longer text is shortened to its beginning.
_LONG_CHARS, _BEGINNING_CHARS = 400, 80


def short(value: Any) -> Any:
    """The input of a call with its long texts shortened: what was written stands in the file. The same value where none is long."""
    if isinstance(value, str) and len(value) > _LONG_CHARS:
        return f"{value[:_BEGINNING_CHARS]}… [PopKit left out {len(value) - _BEGINNING_CHARS} characters]"
    if isinstance(value, dict):
        return {name: short(each) for name, each in value.items()}
    return [short(each) for each in value] if isinstance(value, list) else value
