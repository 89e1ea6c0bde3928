"""The tokens of pictures, by their sizes. Pure."""

from __future__ import annotations

import base64
import math
import struct

from popkit_retention.core.io.codec import as_object
from popkit_retention.core.policy.estimate import IMAGE_TOKENS, image_tokens

_HEAD_CHARS = 64 * 1_024  # of base64: in a JPEG, a thumbnail may come before the size
# The charge of OpenAI's vision models: a base, and tiles of 512 pixels after the picture has been scaled to fit.
_LOW_TOKENS, _TILE_TOKENS, _TILE, _LARGEST, _SHORT_SIDE = 85, 170, 512, 2_048, 768


def anthropic_tokens(source: object) -> int:
    """Return the tokens of an image block's `source`: as many as the largest picture has where the size is unknown."""
    return image_tokens(*_size(as_object(source).get("data")))


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
    """Return (width, height) in pixels of a picture in base64, (0, 0) where its beginning does not say."""
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
    except struct.error:  # it is cut short
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
