"""Read the blocks of a result's content: its text, with the tokens of its pictures."""

from __future__ import annotations

from ...io.codec import dumps
from ...policy.estimate import image_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MEDIA = ("image", "document")


def media_in(content: object) -> int:
    """Return how many pictures and documents a content shows."""
    return sum(isinstance(block, dict) and block.get("type") in MEDIA for block in content) if isinstance(content, list) else 0


def text_and_images(blocks: list[Any]) -> tuple[str, int]:
    """Return (text, image tokens) of the blocks of a content."""
    texts, images = [], 0
    for block in blocks:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            if isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif block.get("type") == "image":
                images += image_tokens(0, 0)
            else:
                texts.append(dumps_or_nothing(block))
    return "\n".join(texts), images


def text_of_blocks(content: object) -> tuple[str, int]:
    """Return (text, image tokens) of a tool_result's content, a string or a list of blocks."""
    return (content, 0) if isinstance(content, str) else text_and_images(content) if isinstance(content, list) else ("", 0)


def dumps_or_nothing(value: object) -> str:
    """Return a value as JSON; "" for one that is none."""
    try:
        return dumps(value)
    except ValueError:
        return ""
