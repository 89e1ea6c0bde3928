"""Mutants that survive, and may: what they do is what the code does.

Each is named by its file, the first line of the statement that it changes (with single blanks) and the change.
"""

from __future__ import annotations

from typing import NamedTuple


class Argument(NamedTuple):
    file: str
    line: str
    change: str
    why: str


ARGUMENTS: list[Argument] = []
