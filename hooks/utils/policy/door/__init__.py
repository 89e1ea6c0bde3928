"""Decide what of a result enters the context, before a request first carries it. Pure.

`rules.py` lists what may leave something out. Nothing that entered before is changed. A driver archives the whole first, pins what
references lean on, and keeps `Shown` up to date with all that enters and what is gone.
"""

from __future__ import annotations

from .arrival import Arrival, Entry, shows, source_of, written
from .naming import name_of
from .once import lines_of
from .rules import ANY, CHOSEN, OFF, READS, REBUILT, REBUILT_BUT_FOR_NOISE, RULES, SAFE, STRONG, Rule, Settings
from .shown import Shown, Source

__all__ = [
    "ANY",
    "CHOSEN",
    "OFF",
    "READS",
    "REBUILT",
    "REBUILT_BUT_FOR_NOISE",
    "RULES",
    "SAFE",
    "STRONG",
    "Arrival",
    "Entry",
    "Rule",
    "Settings",
    "Shown",
    "Source",
    "enter",
    "is_partial",
    "lines_of",
    "name_of",
    "shows",
    "source_of",
    "written",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SHIPPED = Settings()


def enter(arrival: Arrival, shown: Shown, settings: Settings = _SHIPPED, rules: Iterable[Rule] = RULES) -> Entry:
    """Return what enters of a result, given what the context shows. The same call made at once again is to enter whole."""
    text = arrival.text
    leans_on: tuple[str, ...] = ()
    reasons: list[str] = []
    for rule in () if arrival.again else rules:
        value = getattr(settings, rule.setting)
        if value in rule.values and rule.concerns(arrival, value):
            made = rule.shorten(text, arrival, shown, value)
            if made.text != text:
                text = made.text
                leans_on += made.leans_on
                reasons.append(rule.words.format(made.amount))
    return Entry(text, leans_on, tuple(reasons))


def is_partial(entry: Entry) -> bool:
    """Return whether it lacks anything, so that the same call made at once again is to enter whole."""
    return bool(entry.reasons)
