"""Which items answer a search: ranking of what a store found. Pure."""

from __future__ import annotations

from .terms import terms_of

__all__ = ["terms_of"]
