"""Counts the tokens of messages with all their blocks, for one model: texts, calls, thinking, pictures, documents. Pure."""

from __future__ import annotations

import base64
import json
import math
import struct
from typing import Any

from hooks.utils.policy.estimate import IMAGE_TOKENS, image_tokens
from hooks.utils.policy.messages import thinking_tokens

from . import tokens
from .build_types import Provider
from .parsed import is_thinking, plain, thinking_beside

# Tokens of a message, and of a call or result in it, beside its contents.
_FRAME_TOKENS, _CALL_TOKENS = 4, 12
_PDF_TOKENS = 2_500  # a page, as text and as a picture


class Meter:
    """Counts for one model. `exact`: whether each text so far was counted with the model's own vocabulary (how a provider frames texts is
    not public)."""

    __slots__ = ("exact", "model", "provider")

    def __init__(self, model: str = "", provider: Provider = Provider.ANTHROPIC) -> None:
        self.model = model
        self.provider = provider
        self.exact = bool(tokens.vocabulary_of(model))

    def text(self, text: object) -> int:
        """Return the tokens of a text; 0 for any other value."""
        if not isinstance(text, str):
            return 0
        count = tokens.count(text, self.model)
        self.exact = self.exact and count.exact
        return count.tokens

    def json(self, value: object) -> int:
        """Return the tokens of a value as JSON, such as the input of a call."""
        try:
            return self.text(json.dumps(value, ensure_ascii=False, default=str))
        except (TypeError, ValueError, RecursionError):
            return self._estimate(0)  # it cannot be sent

    def parts(self, *parts: Any) -> int:
        """Return the tokens of the rest of a request: the system prompt (a text or blocks), the list of its tools."""
        return sum([self._content(part) if _is_text(part) else self.json(part) for part in parts if part])

    def message(self, message: Any) -> int:
        """Return the tokens of a message with all its blocks: pictures by their size where it is known, the input of calls as JSON,
        thinking by the size that its signature seals."""
        message = plain(message)
        try:
            total = self._content(message.get("content")) + _FRAME_TOKENS
            return total + self._beside(message) if self.provider is Provider.OPENAI else total
        except RecursionError:
            return self._estimate(0)  # it cannot be sent

    def _estimate(self, count: int) -> int:
        self.exact = False
        return count

    def _content(self, content: object) -> int:
        """Count a message's or a result's content: a text, blocks, or nothing."""
        return sum(map(self._block, content)) if isinstance(content, list) else self.text(content)

    def _block(self, block: object) -> int:
        block = plain(block)
        if not isinstance(block, dict):
            return self.text(block)
        kind = block.get("type")
        if is_thinking(block):
            return self._estimate(thinking_tokens(block))
        if kind == "image":
            return self._estimate(anthropic_tokens(block.get("source")))
        if kind == "image_url":
            return self._estimate(openai_tokens(block.get("image_url")))
        if kind == "document":
            return self._document(block.get("source"))
        if kind == "tool_result":
            return self._content(block.get("content")) + _CALL_TOKENS
        if kind == "tool_use":
            return self.text(block.get("name")) + self.json(block.get("input")) + _CALL_TOKENS
        if isinstance(block.get("text"), str):
            return self.text(block["text"])
        return self.json({name: value for name, value in block.items() if name != "cache_control"})

    def _document(self, source: object) -> int:
        """Count a document by its contents; a PDF as one page, since its pages cannot be counted without reading it."""
        source = source if isinstance(source, dict) else {}
        if source.get("type") == "text":
            return self.text(source.get("data"))
        return self._content(source["content"]) if source.get("content") else self._estimate(_PDF_TOKENS)

    def _beside(self, message: dict[str, Any]) -> int:
        """Count the parts of OpenAI's messages beside their content."""
        total = sum(map(self._block, thinking_beside(message))) + self.text(message.get("name")) + self.text(message.get("refusal"))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            called = call.get("function") or call.get("custom") if isinstance(call, dict) else None
            if isinstance(called, dict):
                given = called.get("arguments", called.get("input"))
                total += self.text(called.get("name")) + self.text(given) + _CALL_TOKENS
        return total


def _is_text(part: object) -> bool:
    blocks = part if isinstance(part, list) else []
    return isinstance(part, str) or (bool(blocks) and all(isinstance(each, dict) and each.get("type") == "text" for each in blocks))


# --- pictures -----------------------------------------------------------------------------------------------------------------------------

_HEAD_CHARS = 64 * 1_024  # of base64: in a JPEG, the size may come behind a thumbnail
# The charge of OpenAI's vision models: a base, and tiles of 512 pixels after the picture has been scaled to fit.
_LOW_TOKENS, _TILE_TOKENS, _TILE, _LARGEST, _SHORT_SIDE = 85, 170, 512, 2_048, 768


def anthropic_tokens(source: object) -> int:
    """Return the tokens of an image block's `source`: as many as the largest has where its size is not known."""
    return image_tokens(*_size(source.get("data") if isinstance(source, dict) else None))


def openai_tokens(image: object) -> int:
    """Return the tokens of an `image_url` part's value: an object with `url` and `detail`, or the address alone."""
    url, detail = (image.get("url"), image.get("detail")) if isinstance(image, dict) else (image, None)
    if detail == "low":
        return _LOW_TOKENS
    data = url.partition(";base64,")[2] if isinstance(url, str) and url.startswith("data:") else None
    width, height = _size(data)
    if not (width and height):
        return IMAGE_TOKENS
    scale = min(1.0, _LARGEST / max(width, height))
    scale = min(scale, _SHORT_SIDE / min(width, height))
    return _LOW_TOKENS + _TILE_TOKENS * math.ceil(width * scale / _TILE) * math.ceil(height * scale / _TILE)


def _size(data: object) -> tuple[int, int]:
    """Return (width, height) in pixels of a picture in base64, (0, 0) where its beginning does not tell."""
    if not isinstance(data, str):
        return 0, 0
    try:
        return size_of(base64.b64decode(data[:_HEAD_CHARS][: len(data) // 4 * 4]))
    except ValueError:  # not base64
        return 0, 0


def size_of(head: bytes) -> tuple[int, int]:
    """Return (width, height) in pixels by the beginning of a PNG, GIF, WebP or JPEG; (0, 0) for anything else."""
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", head[16:24])
        if head.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack("<HH", head[6:10])
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return _webp(head)
        return _jpeg(head) if head.startswith(b"\xff\xd8") else (0, 0)
    except struct.error:  # it ends too soon
        return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    form = head[12:16]
    if form == b"VP8X":
        width, height = (int.from_bytes(head[at : at + 3], "little") for at in (24, 27))
        return width + 1, height + 1
    if form == b"VP8L":
        (bits,) = struct.unpack("<I", head[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", head[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame, which begins with its size
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return 0, 0
