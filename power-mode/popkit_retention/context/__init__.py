"""Assembled prompts: what of a conversation, of memory and of files a request carries, by budget.

    from popkit_retention.context import ContextBuildOptions, build_context

    built = build_context(ContextBuildOptions(messages=messages, budgetPercent=35))
    client.messages.create(model=model, messages=built.messages)  # and hand on built.state as `previous` of the next

Each name is loaded when it is asked for.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "ContextBuildOptions": "models",
    "ContextResult": "models",
    "ContextStatus": "models",
    "ContextTier": "models",
    "FileSource": "sources",
    "FileText": "sources",
    "MemorySource": "sources",
    "Provider": "models",
    "PruningStrategy": "models",
    "Remembered": "sources",
    "Sources": "sources",
    "TierBreakdown": "models",
    "TierContent": "models",
    "apply_pruning": "tightening",
    "build_context": "builder",
    "calculate_tier_breakdown": "pruning",
    "count_tokens": "tokens",
    "get_pruning_strategy": "pruning",
    "with_context": "clients",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .builder import build_context
    from .clients import with_context
    from .models import (
        ContextBuildOptions,
        ContextResult,
        ContextStatus,
        ContextTier,
        Provider,
        PruningStrategy,
        TierBreakdown,
        TierContent,
    )
    from .pruning import calculate_tier_breakdown, get_pruning_strategy
    from .sources import FileSource, FileText, MemorySource, Remembered, Sources
    from .tightening import apply_pruning
    from .tokens import count_tokens

__all__ = [
    "ContextBuildOptions",
    "ContextResult",
    "ContextStatus",
    "ContextTier",
    "FileSource",
    "FileText",
    "MemorySource",
    "Provider",
    "PruningStrategy",
    "Remembered",
    "Sources",
    "TierBreakdown",
    "TierContent",
    "apply_pruning",
    "build_context",
    "calculate_tier_breakdown",
    "count_tokens",
    "get_pruning_strategy",
    "with_context",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOMES[name], __name__), name)
