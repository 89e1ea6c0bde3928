"""What the user's words make of an item: which fields get which values. Pure: the time comes in (seconds)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .items import ACCEPTED, ARCHIVE, COLD, HOT, WARM, BadItem

if TYPE_CHECKING:
    from .items import Item

    Fields = dict[str, object]

_ORDER = (COLD, WARM, HOT, ARCHIVE)  # as `promote` goes


def moved(item: Item, by: int, now: float) -> Fields:
    """One tier up or down. BadItem where there is none, and for what would be kept for good before the user has accepted it."""
    at = _ORDER.index(item.tier) + by
    if not 0 <= at < len(_ORDER):
        raise BadItem(f"{item.id} is {item.tier} already: there is nothing {'above' if by > 0 else 'below'} it")
    if item.waits and _ORDER[at] == ARCHIVE:
        raise BadItem(
            f"{item.id} was added by an agent, and ARCHIVE keeps things for good. Accept it first: popkit memory accept {item.id}"
        )
    return {**_placed(item, _ORDER[at], now), **({"key": False} if item.tier == ARCHIVE else {})}


def key(item: Item, now: float) -> Fields:
    """A key decision, which ARCHIVE keeps for good; what waits for the user's yes goes there with the yes."""
    return {"key": True, **({} if item.waits else _placed(item, ARCHIVE, now))}


def accepted(item: Item, now: float) -> Fields:
    """The user's yes to what an agent has added, also to what was about to be deleted. BadItem for what waits for none."""
    if not item.waits:
        raise BadItem(f"{item.id} does not wait for your yes. popkit memory list --waiting shows what does")
    yes: Fields = {"source": ACCEPTED, "marked_at": None, "marked_by": ""}
    return {**yes, **(_placed(item, ARCHIVE, now) if item.key else {})}


def _placed(item: Item, tier: str, now: float) -> Fields:
    return {"tier": tier, "previous_tier": item.tier, "tier_since": now, "tier_score": item.score}
