"""How many tokens a text or a message is: exact where a counter of the model's own is installed (extra `tokens`), else estimated.

OpenAI's vocabularies are public. Anthropic's are not, so its models are always estimated: by kind of content (kinds.py), at the
characters per token that recorded sessions had of each.
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.messages import thinking_tokens

from . import pictures
from .kinds import kind_of
from .models import Provider
from .said import plain, thinking_beside

if TYPE_CHECKING:
    from bpe_openai import Encoding

    from .models import Message

# Beginnings of ids, and whose vocabulary the model has; the first that fits counts.
_VOCABULARIES = (
    ("gpt-4o", "o200k_base"), ("gpt-4.1", "o200k_base"), ("gpt-4.5", "o200k_base"), ("gpt-5", "o200k_base"), ("gpt-oss", "o200k_base"),
    ("chatgpt-4o", "o200k_base"), ("o1", "o200k_base"), ("o3", "o200k_base"), ("o4", "o200k_base"), ("codex-", "o200k_base"),
    ("gpt-4", "cl100k_base"), ("gpt-3.5", "cl100k_base"), ("gpt-35", "cl100k_base"), ("text-embedding-", "cl100k_base"),
)  # fmt: skip
# The counter refuses more than 200,000 tokens at once, and no character has more than four.
_MOST_CHARS = 50_000
# No token of either vocabulary stands across the end of a word; what follows an apostrophe may belong to the word.
_END = re.compile(r"[A-Za-z](?=[^A-Za-z'\x80-\U0010ffff])")
_WINDOW_CHARS = 1_000
# What a message, and a call or result in it, has beside its contents.
_FRAME_TOKENS = 4
_CALL_TOKENS = 12
_PDF_TOKENS = 2_500  # a page, as text and as a picture
_REMEMBERED = 40_000

_encodings: dict[str, Encoding | None] = {}
# What was counted before: a conversation is counted again with every request. By hash, so that no text is kept alive.
_counts: dict[tuple[int, int, str], int] = {}


class Count(NamedTuple):
    """Tokens, and whether each text among them was counted with the model's own vocabulary (how a provider frames it is not public)."""

    tokens: int
    exact: bool

    def __add__(self, other: object) -> Count:
        if not isinstance(other, Count):
            return NotImplemented
        return Count(self.tokens + other.tokens, self.exact and other.exact)


NONE = Count(0, True)


def count_tokens(text: str, model: str = "") -> int:
    """Tokens of a text for a model."""
    return count(text, model).tokens


def count(text: str, model: str = "") -> Count:
    """Tokens of a text for a model, and whether that is exact."""
    if not text:
        return NONE
    name = vocabulary_of(model)
    encoding = _encoding(name) if name else None
    if encoding is None:
        return Count(_remembered(text, "", None), exact=False)
    return Count(_remembered(text, name, encoding), exact=True)


@functools.lru_cache(maxsize=256)
def vocabulary_of(model: str) -> str:
    """The name of a model's vocabulary, "" where it is not public. The id may stand behind a provider's name (`azure/gpt-4o`) or that of a
    fine-tuning (`ft:gpt-4o:…`)."""
    bare = model.rpartition("/")[2].removeprefix("ft:").lower()
    return next((name for beginning, name in _VOCABULARIES if bare.startswith(beginning)), "")


def _encoding(name: str) -> Encoding | None:
    """The counter of a vocabulary, None where none is installed; loaded once a process, which takes about a second."""
    if name not in _encodings:
        try:
            import bpe_openai

            _encodings[name] = bpe_openai.get_encoding(name)
        except ImportError:
            _encodings[name] = None
    return _encodings[name]


def _remembered(text: str, name: str, encoding: Encoding | None) -> int:
    key = (hash(text), len(text), name)
    found = _counts.get(key)
    if found is None:
        if len(_counts) >= _REMEMBERED:
            _counts.clear()
        found = _counts[key] = _measured(text, encoding)
    return found


def _measured(text: str, encoding: Encoding | None) -> int:
    if encoding is None:
        return estimate_tokens(text, kind_of(text))
    return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> list[str]:
    """A text in pieces that the counter takes, cut where no token stands across, if there is such a place."""
    pieces, begin = [], 0
    while len(text) - begin > _MOST_CHARS:
        end = begin + _MOST_CHARS
        window = text[end - _WINDOW_CHARS : end + 1]
        ends = [match.end() for match in _END.finditer(window)]
        end += ends[-1] - _WINDOW_CHARS if ends else 0
        pieces.append(text[begin:end])
        begin = end
    return [*pieces, text[begin:]]


# --- messages -----------------------------------------------------------------------------------------------------------------------------


def count_message(message: Message, model: str = "", provider: Provider = Provider.ANTHROPIC) -> Count:
    """Tokens of a message with all its blocks: pictures by their size where it is known, the input of calls as JSON, thinking by what its
    signature seals."""
    counter = _Counter(model)
    try:
        found = counter.content(message.get("content")) + Count(_FRAME_TOKENS, exact=True)
        return found + counter.openai(message) if provider is Provider.OPENAI else found
    except RecursionError:
        return Count(0, exact=False)  # nobody can send it


def count_parts(parts: object, model: str = "") -> Count:
    """Tokens of what else a request carries: a system prompt (a text or blocks), or the list of its tools."""
    counter = _Counter(model)
    if isinstance(parts, str) or (isinstance(parts, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in parts)):
        return counter.content(parts)
    return counter.json(parts) if parts else NONE


def count_json(value: object, model: str = "") -> Count:
    """Tokens of a value as JSON: the input of a call."""
    return _Counter(model).json(value)


class _Counter:
    """What there is in a message, for one model."""

    def __init__(self, model: str) -> None:
        self.model = model

    def text(self, text: object) -> Count:
        return count(text, self.model) if isinstance(text, str) else NONE

    def json(self, value: object) -> Count:
        try:
            return self.text(json.dumps(value, ensure_ascii=False, default=str))
        except (TypeError, ValueError, RecursionError):
            return Count(0, exact=False)  # nobody can send it

    def content(self, content: object) -> Count:
        """A message's or a result's content: a text, blocks, or nothing."""
        if isinstance(content, list):
            return sum((self.block(block) for block in content), NONE)
        return self.text(content)

    def block(self, block: object) -> Count:
        block = plain(block)
        if not isinstance(block, dict):
            return self.text(block)
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            return Count(thinking_tokens(block), exact=False)
        if kind == "image":
            return Count(pictures.anthropic_tokens(block.get("source")), exact=False)
        if kind == "image_url":
            return Count(pictures.openai_tokens(block.get("image_url")), exact=False)
        if kind == "document":
            return self.document(block)
        if kind == "tool_result":
            return self.content(block.get("content")) + Count(_CALL_TOKENS, exact=True)
        if kind == "tool_use":
            return self.text(block.get("name")) + self.json(block.get("input")) + Count(_CALL_TOKENS, exact=True)
        if isinstance(block.get("text"), str):
            return self.text(block["text"])
        return self.json({name: value for name, value in block.items() if name != "cache_control"})

    def document(self, block: Message) -> Count:
        """A document, by what it holds; a PDF as one page, since its pages cannot be counted without reading it."""
        source = block.get("source")
        source = source if isinstance(source, dict) else {}
        if source.get("type") == "text":
            return self.text(source.get("data"))
        return self.content(source["content"]) if source.get("content") else Count(_PDF_TOKENS, exact=False)

    def openai(self, message: Message) -> Count:
        """What OpenAI's messages hold beside their content."""
        found = sum(map(self.block, thinking_beside(message)), self.text(message.get("name")) + self.text(message.get("refusal")))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            called = call.get("function") or call.get("custom") if isinstance(call, dict) else None
            if isinstance(called, dict):
                given = called.get("arguments", called.get("input"))
                found += self.text(called.get("name")) + self.text(given) + Count(_CALL_TOKENS, exact=True)
        return found
