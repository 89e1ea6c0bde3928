"""Assembled prompts: what of a conversation, of memory and of files a request carries, by budget."""

from __future__ import annotations

import importlib

_HOMES = {
    "with_context": "clients",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clients import with_context

__all__ = [
    "with_context",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOMES[name], __name__), name)
