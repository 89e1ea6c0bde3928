"""The argument for a mutant that survives, and may: what it does is what the code does."""

from __future__ import annotations

from typing import NamedTuple


class Argument(NamedTuple):
    """A mutant is named by its file, the first line of the statement that it changes (with single blanks) and the change."""

    file: str
    line: str
    change: str
    why: str
