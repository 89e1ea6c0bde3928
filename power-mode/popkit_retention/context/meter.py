"""Count the tokens of messages with all their blocks."""

from __future__ import annotations

import json
from typing import Any

from popkit_retention.core.io.codec import as_list, as_object
from popkit_retention.core.policy.messages import thinking_tokens

from .content_blocks import is_thinking, kind_of, plain, thinking_beside, tool_calls_of
from .pictures import anthropic_tokens, openai_tokens
from .provider_forms import Provider
from .responses_form import items_of
from .tokens import count, vocabulary_of

# Tokens of a message, and of a call or result in it, beside its contents.
_FRAME_TOKENS, _CALL_TOKENS = 4, 12
_PDF_TOKENS = 2_500  # a page, as text and as a picture
# Of reasoning that is sealed, characters for a token; the fields of items whose characters are no tokens.
_SEALED_CHARS = 6
_ENCODED = frozenset({"result", "encrypted_content"})


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
            if self.provider is Provider.RESPONSES:
                return sum([self._item(plain(item)) for item in items_of(message)])
            total = self._content(message.get("content")) + _FRAME_TOKENS
            return total + self._beside(message) if self.provider is Provider.OPENAI else total
        except RecursionError:
            return self._estimate(0)  # it cannot be sent

    def _estimate(self, count: int) -> int:
        self.exact = False
        return count

    def _content(self, content: object) -> int:
        """Count the content of a message or a result: a text, blocks, or nothing."""
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
        if kind == "input_image":
            return self._estimate(openai_tokens({"url": block.get("image_url"), "detail": block.get("detail")}))
        if kind == "input_file":
            return self._estimate(_PDF_TOKENS)
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
        source = as_object(source)
        if source.get("type") == "text":
            return self.text(source.get("data"))
        return self._content(source["content"]) if source.get("content") else self._estimate(_PDF_TOKENS)

    def _item(self, item: Any) -> int:
        """Count an item of OpenAI's Responses: reasoning by the size of what seals it; of other kinds, the fields without sealed or encoded
        contents."""
        if kind_of(item) in (None, "message"):
            return self._content(item.get("content")) + _FRAME_TOKENS
        if item["type"] == "reasoning":
            summary = sum(map(self._block, item.get("summary") or ()))
            return self._estimate(summary + len(item.get("encrypted_content") or "") // _SEALED_CHARS)
        if isinstance(item.get("output"), (str, list)):
            return self._content(item["output"]) + _CALL_TOKENS
        call_input = item.get("arguments", item.get("input"))
        if isinstance(call_input, str):
            return self.text(item.get("name")) + self.text(call_input) + _CALL_TOKENS
        return self._estimate(self.json({name: value for name, value in item.items() if name not in _ENCODED}))

    def _beside(self, message: dict[str, object]) -> int:
        """Count the parts of OpenAI's messages beside their content."""
        total = sum(map(self._block, thinking_beside(message))) + self.text(message.get("name")) + self.text(message.get("refusal"))
        for call in tool_calls_of(message):
            call = as_object(call)
            called = call.get("function") or call.get("custom")
            if isinstance(called, dict):
                call_input = called.get("arguments", called.get("input"))
                total += self.text(called.get("name")) + self.text(call_input) + _CALL_TOKENS
        return total


def _is_text(part: object) -> bool:
    blocks = as_list(part)
    return isinstance(part, str) or (bool(blocks) and all(kind_of(block) == "text" for block in blocks))
