"""The blocks of a message's content, whichever provider's form it has. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from popkit_retention.core.io.codec import as_object, text_in_field


def plain(value: Any) -> Any:
    """Return an SDK's model as the plain values that the SDK would send; any other value as it is."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    return dump(mode="json", by_alias=True, exclude_unset=True, exclude=getattr(value, "__api_exclude__", None))


def blocks_of(content: Any) -> list[Any]:
    """Return a content of any form as plain blocks; an empty content has none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [plain(block) for block in content] if isinstance(content, (list, tuple)) else []


def kind_of(block: Any) -> Any:
    """Return the `type` of a plain block; None for a value that is not a block."""
    return block.get("type") if isinstance(block, dict) else None


def is_thinking(block: Any) -> bool:
    """Return whether a block is a model's thinking, in the open or sealed."""
    return kind_of(block) in ("thinking", "redacted_thinking")


def role_of(message: Any) -> str:
    """Return the role of a plain message; "" for a value that is not a message."""
    return text_in_field(as_object(message), "role")


def tool_calls_of(message: dict[str, object]) -> list[Any]:
    """Return the calls beside the content of a message of OpenAI's form, as plain values."""
    calls = message.get("tool_calls")
    return [plain(call) for call in calls] if isinstance(calls, (list, tuple)) else []


# The fields of an answer of OpenAI's form in which LiteLLM puts the thinking of other providers' models, and reads it in the next request.
BLOCKS, REASONING = "thinking_blocks", "reasoning_content"


def thinking_beside(message: dict[str, object]) -> list[Any]:
    """Return the blocks of thinking beside a message's content. The text of the thinking repeats the blocks, so it counts only where there
    are none."""
    blocks = [block for block in blocks_of(message.get(BLOCKS)) if is_thinking(block)]
    text = message.get(REASONING)
    return [{"type": "thinking", "thinking": text}] if not blocks and isinstance(text, str) and text else blocks


def text_of(block: Any) -> str | None:
    """Return the text of a block; None for one that has none, such as an image."""
    text = as_object(block).get("text")
    return text if isinstance(text, str) else None


def text_blocks(texts: Sequence[str]) -> list[Any]:
    """Return each text as a block."""
    return [{"type": "text", "text": text} for text in texts]


def own_blocks(content: Any) -> list[Any]:
    """Return a content as the caller's own blocks."""
    return text_blocks([content]) if isinstance(content, str) else list(content or ())
