"""Counts the tokens of a text, and of messages with all their blocks: exact where a counter of the model's own is installed (extra
`tokens`), else estimated. OpenAI's vocabularies are public. Anthropic's are not, so its models are always estimated: by kind of content, at
the characters per token that recorded sessions had of each."""

from __future__ import annotations

import base64
import functools
import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from hooks.utils.policy.estimate import IMAGE_TOKENS, estimate_tokens, image_tokens
from hooks.utils.policy.messages import thinking_tokens

from .provider_forms import Provider, is_thinking, plain, thinking_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bpe_openai import Encoding

# Beginnings of a model's id, and its vocabulary; the first that fits counts.
_VOCABULARIES = (
    ("gpt-4o", "o200k_base"), ("gpt-4.1", "o200k_base"), ("gpt-4.5", "o200k_base"), ("gpt-5", "o200k_base"), ("gpt-oss", "o200k_base"),
    ("chatgpt-4o", "o200k_base"), ("o1", "o200k_base"), ("o3", "o200k_base"), ("o4", "o200k_base"), ("codex-", "o200k_base"),
    ("gpt-4", "cl100k_base"), ("gpt-3.5", "cl100k_base"), ("gpt-35", "cl100k_base"), ("text-embedding-", "cl100k_base"),
)  # fmt: skip
# The counter refuses more than 200,000 tokens at once, and no character has more than four.
_MOST_CHARS = 50_000
# No token of either vocabulary crosses the end of a word; the letters behind an apostrophe may belong to the word.
_END = re.compile(r"[A-Za-z](?=[^A-Za-z'\x80-\U0010ffff])")
_WINDOW_CHARS = 1_000
_REMEMBERED = 40_000

_encodings: dict[str, Encoding | None] = {}
# Earlier counts, since a conversation is counted again with every request. By hash, so that no text is kept alive.
_counts: dict[tuple[int, int, str], int] = {}


class Count(NamedTuple):
    """Tokens, and whether they were counted with the model's own vocabulary."""

    tokens: int
    exact: bool


def count_tokens(text: str, model: str = "") -> int:
    """Return the tokens of a text for a model."""
    return count(text, model).tokens


def count(text: str, model: str = "") -> Count:
    """Return the tokens of a text for a model, and whether that is exact."""
    if not text:
        return Count(0, exact=True)
    name = vocabulary_of(model)
    encoding = _encoding(name) if name else None
    key = (hash(text), len(text), name if encoding else "")
    tokens = _counts.get(key)
    if tokens is None:
        if len(_counts) >= _REMEMBERED:
            _counts.clear()
        if encoding is None:
            tokens = estimate_tokens(text, kind_of(text))
        else:
            tokens = sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))
        _counts[key] = tokens
    return Count(tokens, encoding is not None)


@functools.lru_cache(maxsize=256)
def vocabulary_of(model: str) -> str:
    """Return the name of a model's vocabulary, "" where it is not public. The id may follow a provider's name (`azure/gpt-4o`) or that of a
    fine-tuning (`ft:gpt-4o:…`)."""
    bare = model.rpartition("/")[2].removeprefix("ft:").lower()
    return next((name for beginning, name in _VOCABULARIES if bare.startswith(beginning)), "")


def _encoding(name: str) -> Encoding | None:
    """Return the counter of a vocabulary, None where none is installed; loaded once a process, which takes about a second."""
    if name not in _encodings:
        try:
            import bpe_openai

            _encodings[name] = bpe_openai.get_encoding(name)
        except ImportError:
            _encodings[name] = None
    return _encodings[name]


def _pieces(text: str) -> list[str]:
    """Return a text in pieces that the counter takes, cut where no token crosses, if there is such a place."""
    pieces, begin = [], 0
    while len(text) - begin > _MOST_CHARS:
        end = begin + _MOST_CHARS
        window = text[end - _WINDOW_CHARS : end + 1]
        ends = [match.end() for match in _END.finditer(window)]
        end += ends[-1] - _WINDOW_CHARS if ends else 0
        pieces.append(text[begin:end])
        begin = end
    return [*pieces, text[begin:]]


# --- kinds of content ---

_SAMPLE_CHARS = 3_000
# A line number that Read puts before a line, whatever the line holds.
_NUMBERED = re.compile(r"\s*\d+(?:→|\t)")
_MATCH = re.compile(r"(?!\d)[^\s:]+[:-]\d+[:-]")
_DIFF = re.compile(r"diff --git |@@ -\d|--- |\+\+\+ |[+-](?![-+])")
_LOG = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|[-dl][rwx-]{9}|\S+/\S+$|(?:PASS|FAIL|INFO|WARN|ERROR|DEBUG|ok|not ok)\b|\S*\d\S*$"
)
_CODE_ENDS = tuple("{};(,[")
_CODE_MARKS = re.compile(r"[})\]]+[,;)]*\s*$|//|/\*|\*/?\s|#!|#include")
_CODE_WORDS = re.compile(
    r"(?:def|class|import|from|return|if|elif|else|for|while|const|let|var|function|export|public|private|func|fn|use|impl|struct|type"
    r"|package|async|await|try|except|catch|switch|case)\b.*(?:[:{;()=]|\bimport\b)"
)
_LEAST_CODE = 0.35  # and of markup
_MARKUP = re.compile(r'\s*(?:#{1,6} |[-*] |\d+\. |```|\||<[/!?a-zA-Z]|"[^"\n]*"\s*:|[{}\[\]],?\s*$)')


def kind_of(text: str) -> str:
    """Return the kind of a text's content, a key of policy/estimate.py, guessed from lines at its beginning, middle and end."""
    begin = text.lstrip()[:12]
    if begin.startswith(("diff --git", "@@ -")):
        return "diff"
    lines = _sample(text)
    if not lines:
        return "dialogue"
    if begin.startswith(("{", "[{", '["', "<?xml", "<!DOCTYPE")) and len(lines) < 3:
        return "markup"
    if _reaches(_NUMBERED.match, lines, 0.5):
        lines = [line[number.end() :] if (number := _NUMBERED.match(line)) else line for line in lines]
    return _most_likely(lines)


def _most_likely(lines: list[str]) -> str:
    """Return the kind that most of the lines look like; dialogue where they look like none."""
    if _reaches(_MATCH.match, lines, 0.6):
        return "matches"
    if any(line.startswith("@@ -") for line in lines) and _reaches(_DIFF.match, lines, 0.3):
        return "diff"
    if _reaches(_LOG.match, lines, 0.6):
        return "log"
    code, markup = (sum(map(bool, map(matches, lines))) / len(lines) for matches in (_is_code, _MARKUP.match))
    if code >= _LEAST_CODE and code >= markup:
        return "code"
    return "markup" if markup >= _LEAST_CODE else "dialogue"


def _reaches(matches: Callable[[str], object], lines: list[str], least: float) -> bool:
    """Return whether that share of the lines matches; it ends with the line after which no more can."""
    most = (1 - least) * len(lines)
    others = 0
    for line in lines:
        if not matches(line):
            others += 1
            if others > most:
                return False
    return True


def _is_code(line: str) -> bool:
    line = line.lstrip()
    begins = _CODE_WORDS if line[:1].isalpha() else _CODE_MARKS
    return line.rstrip().endswith(_CODE_ENDS) or begins.match(line) is not None


def _sample(text: str) -> list[str]:
    """Return lines of a text that are not empty, from three places of a long one, none of them longer than a pattern should read."""
    if len(text) > 3 * _SAMPLE_CHARS:
        middle = len(text) // 2
        text = "\n".join((text[:_SAMPLE_CHARS], text[middle : middle + _SAMPLE_CHARS], text[-_SAMPLE_CHARS:]))
    return [line[:200] for line in text.splitlines() if line.strip()]


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
        self.exact = bool(vocabulary_of(model))

    def text(self, text: object) -> int:
        """Return the tokens of a text; 0 for any other value."""
        if not isinstance(text, str):
            return 0
        counted = count(text, self.model)
        self.exact = self.exact and counted.exact
        return counted.tokens

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
                call_input = called.get("arguments", called.get("input"))
                total += self.text(called.get("name")) + self.text(call_input) + _CALL_TOKENS
        return total


def _is_text(part: object) -> bool:
    blocks = part if isinstance(part, list) else []
    return isinstance(part, str) or (bool(blocks) and all(isinstance(each, dict) and each.get("type") == "text" for each in blocks))


# --- pictures ---

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
