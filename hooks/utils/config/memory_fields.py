"""The configuration keys of memory's tiers, by the specification's names."""

from __future__ import annotations

from .field_kinds import FLAG, MOST_CALLS, described, number, record, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .field_kinds import Field

_WORTH, _CHANCE = number(0, 1, "an item's worth, 0 to 1"), number(0, 1, "a chance, 0 to 1")
_HOURS, _DAYS = number(0, 87_600, "hours"), number(0, 36_500, "days")
_TIMES = whole(0, MOST_CALLS)
_TIERS = {
    "hot": {
        "max_age_hours": described("Hours for which an item is new; a move by hand stands as long.", _HOURS),
        "max_messages": described("As many of a project's newest items stay HOT.", _TIMES),
        "min_composite_score": described("The worth from which a new item begins in HOT.", _WORTH),
        "retention_criteria": {
            "composite_score_minimum": described("The worth from which a new item stays in HOT.", _WORTH),
            "reinforced_within_days": described("Days for which a use keeps an item where it is.", _DAYS),
        },
    },
    "warm": {
        "max_age_days": described("Days for which WARM keeps an item that nobody asks for; each use makes them half as long again.", _DAYS),
        "min_composite_score": described("The worth from which it stays in WARM.", _WORTH),
        "promotion_criteria": {
            "accessed_within_hours": described("Hours in which the next accesses count.", _HOURS),
            "access_count_in_hot_window": described("Accesses that bring an item back to HOT.", _TIMES),
            "composite_score_rises_above": described("The worth that does.", _WORTH),
            "reinforcement_count_minimum": described("The uses that do.", _TIMES),
        },
        "entry_criteria": {
            "composite_score_minimum": described("The worth from which an item goes from HOT to WARM rather than COLD.", _WORTH),
            "retention_probability_minimum": described("The chance of still being remembered from which it does.", _CHANCE),
        },
    },
    "cold": {
        "max_age_days": described("The most days for which uses keep an item in WARM.", _DAYS),
        "promotion_criteria": {"accessed_after_demotion": described("Whether an access brings an item back to WARM.", FLAG)},
        "deletion_allowed": described("Whether items are deleted at all.", FLAG),
        "delete_if": {
            "age_days": described("Days from which an item may be deleted.", _DAYS),
            "composite_score_below": described("The worth below which it may.", _WORTH),
            "access_count": described("The accesses up to which it may.", _TIMES),
            "retention_probability_below": described("The chance of still being remembered below which it may.", _CHANCE),
        },
    },
    "archive": {
        "entry_criteria": {
            "composite_score_minimum": described("The worth from which ARCHIVE takes an item.", _WORTH),
            "access_count_minimum": described("The accesses that it needs for it.", _TIMES),
        },
    },
}


_OBJECTS = {
    "hot": "The tier of what is new and what is used.",
    "warm": "The tier of what was used lately.",
    "cold": "The tier of what may be forgotten.",
    "archive": "The tier of what is kept for good.",
    "retention_criteria": "What keeps an item in the tier.",
    "promotion_criteria": "What brings an item up again.",
    "entry_criteria": "What an item needs to get there.",
    "delete_if": "What holds for an item that is deleted: all of it.",
}


def _nested(name: str, fields: dict[str, Any]) -> Field:
    """Return the kind of an object whose fields are kinds, or such objects again."""
    within = {
        key: field if "kind" in field else described(_OBJECTS[key], _nested(name + key.title().replace("_", ""), field))
        for key, field in fields.items()
    }
    return record(name, within)


MEMORY_TIERS = _nested("MemoryTiers", _TIERS)
