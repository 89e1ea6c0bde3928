"""Clients of the providers whose requests go with a built context."""

from .wrapping import with_context

__all__ = ["with_context"]
