"""What an item is worth, by its profile. Pure.

Counting tells which names a project needs again, and the specification's composite adds nothing to it; of prose neither tells
anything, what a sentence says does: docs/measured.md has the figures.
"""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .items import ACCEPTED, CODE, NAME, SPEC, USER
from .signals import SignalCalculator, ValueClassification

if TYPE_CHECKING:
    from .items import Item

# The strength that is worth a half. What was written once in one session is then worth less than a tenth.
HALF = 0.67
# What the user has said to remember is worth at least so much: the job never deletes it.
LEAST_OF_USER = 0.5

# What a name is worth in MEMORY.md that no edit put into a file: half of one that did.
NO_FILE = 0.5
# How fast what was written in a session matters less for those after it: a power of how many there have been.
FADING = 0.4

SIGNALS = SignalCalculator(fractional=True)


def _counted(item: Item) -> float:
    """How likely an item is wanted again, by counting alone."""
    return math.log(1 + item.writes) * math.log(1 + item.sessions)


def strength(item: Item) -> float:
    """How likely an item is wanted again, for its length; for ranking within one profile."""
    if item.profile == CODE:
        return _counted(item) / math.sqrt(len(item.text) + 2)
    return item.uniqueness * (1 + math.log(1 + item.access_count + item.reinforcements))


def wanted(item: Item, newest: int) -> float:
    """How likely the next session wants an item, whatever its length; `newest`: the number of the newest session of its project. What was
    written lately is wanted more; what the user said does not fade."""
    if item.profile != CODE:
        return strength(item)
    known = 1.0 if item.kind != NAME or item.details.get("file") else NO_FILE
    return known * _counted(item) / float((1 + max(0, newest - item.session)) ** FADING)


def score(item: Item, now: float) -> float:
    """What an item is worth, 0 to 1, to four decimals."""
    if item.profile == SPEC:
        return composite(item, now).calculate_composite_score()
    value = strength(item)
    worth = value / (value + HALF)
    return round(max(worth, LEAST_OF_USER) if item.source in (USER, ACCEPTED) else worth, 4)


def composite(item: Item, now: float) -> ValueClassification:
    """The specification's four signals of an item."""
    at = _moment(now)
    return ValueClassification(
        round(SIGNALS.calculate_retention_value([_moment(each) for each in item.accesses], now=at), 4),
        item.uniqueness,
        item.confidence,
        SIGNALS.calculate_access_recency(_moment(item.last_accessed), item.reinforcements, at),
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
