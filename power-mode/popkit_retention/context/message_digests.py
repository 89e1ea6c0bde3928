"""Digests of messages, by which a conversation is recognised in the next request. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from .content_blocks import plain

DIGEST_CHARS = 16


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
