"""Counts what a build asks about, for one model, and whether all of it was counted exactly. Pure."""

from __future__ import annotations

from typing import Any

from . import tokens
from .said import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .models import Provider


class Meter:
    """`exact`: whether everything so far was counted with the model's own vocabulary."""

    __slots__ = ("exact", "model", "provider")

    def __init__(self, model: str, provider: Provider) -> None:
        self.model = model
        self.provider = provider
        self.exact = bool(tokens.vocabulary_of(model))

    def _noted(self, count: tokens.Count) -> int:
        self.exact = self.exact and count.exact
        return count.tokens

    def text(self, text: str) -> int:
        return self._noted(tokens.count(text, self.model))

    def json(self, value: Any) -> int:
        return self._noted(tokens.count_json(value, self.model))

    def message(self, message: Any) -> int:
        return self._noted(tokens.count_message(plain(message), self.model, self.provider))

    def parts(self, *parts: Any) -> int:
        """Tokens of what else a request carries: the system prompt, the tools."""
        return sum([self._noted(tokens.count_parts(part, self.model)) for part in parts if part])
