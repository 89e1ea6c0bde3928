"""The base of all errors that PopKit raises."""

from __future__ import annotations


class PopkitError(Exception):
    """The base of all errors that PopKit raises itself; a message says what is wrong and, where something can be done, what to do."""
