"""Assembled prompts: the parts of a conversation, of memory and of files that a request carries, by budget.

    from popkit_retention.context import ContextBuildOptions, build_context

    built = build_context(ContextBuildOptions(messages=messages, budgetPercent=35))
    client.messages.create(model=model, messages=built.messages)  # and pass built.state as `previous` of the next

Each name is loaded on first use.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..usage.budgets import BudgetExceeded
    from .build_types import (
        ContextBuildOptions,
        ContextResult,
        ContextStatus,
        ContextTier,
        PruningStrategy,
        TierBreakdown,
        TierContent,
        calculate_tier_breakdown,
        get_pruning_strategy,
    )
    from .builder import build_context
    from .provider_forms import Provider
    from .pruning import apply_pruning
    from .requests import Caller, Request
    from .service import ContextService
    from .sources import FileSource, FileText, MemorySource, Remembered, Sources
    from .tokens import count_tokens

__all__ = [
    "BudgetExceeded",
    "Caller",
    "ContextBuildOptions",
    "ContextResult",
    "ContextService",
    "ContextStatus",
    "ContextTier",
    "FileSource",
    "FileText",
    "MemorySource",
    "Provider",
    "PruningStrategy",
    "Remembered",
    "Request",
    "Sources",
    "TierBreakdown",
    "TierContent",
    "apply_pruning",
    "build_context",
    "calculate_tier_breakdown",
    "count_tokens",
    "get_pruning_strategy",
]


# The modules of the names that are not in build_types.
_HOMES = {
    "BudgetExceeded": ".usage.budgets",
    "Caller": "requests",
    "ContextService": "service",
    "Request": "requests",
    "Provider": "provider_forms",
    "FileSource": "sources",
    "FileText": "sources",
    "MemorySource": "sources",
    "Remembered": "sources",
    "Sources": "sources",
    "apply_pruning": "pruning",
    "build_context": "builder",
    "count_tokens": "tokens",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOMES.get(name, "build_types"), __name__), name)
