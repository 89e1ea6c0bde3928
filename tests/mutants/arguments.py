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


ARGUMENTS = [
    Argument(
        "hooks/utils/archive/terms.py",
        "if len(run) > 2 and _UNSPACED.match(run):",
        "2 -> (1)",
        "the only two neighbours of a run of two are the run",
    ),
    Argument(
        "hooks/utils/archive/terms.py",
        "if len(run) > 2 and _UNSPACED.match(run):",
        "len(run) > 2 -> (len(run) >= 2)",
        "as above",
    ),
    Argument(
        "hooks/utils/archive/searching.py",
        "_COMMON = 20_000 # a word that so many records hold is as common as any",
        "20_000 -> 20001",
        "where about so many records hold a word, nobody asks for one more or less",
    ),
    Argument(
        "hooks/utils/archive/searching.py",
        "_COMMON = 20_000 # a word that so many records hold is as common as any",
        "20_000 -> (19999)",
        "as above",
    ),
]
