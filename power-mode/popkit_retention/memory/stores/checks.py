"""What a store takes: items, changes and JSON that come out again as they went in. Pure."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import TYPE_CHECKING

from ..items import TIERS, BadItem, Item, check
from . import DuplicateId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from . import Change

    T = TypeVar("T")

FIELDS = tuple(each.name for each in fields(Item))
# Booked by `access` and `keep_original` alone.
_BOOKED = frozenset(("access_count", "last_accessed", "accesses", "original"))
CHANGEABLE = frozenset(FIELDS) - _BOOKED - {"id"}
COUNTS = frozenset(("writes", "sessions", "reinforcements"))


def check_new(items: Sequence[Item]) -> None:
    """BadItem for what cannot be kept, DuplicateId for an id that is given twice. Whether a time lies in the future is for those to
    say who have a clock."""
    seen: set[str] = set()
    for item in items:
        check(item, math.inf)
        as_json(item.details, item.id)
        if item.id in seen:
            raise DuplicateId(f"{item.id!r:.40} is given twice")
        seen.add(item.id)


def check_change(change: Change) -> None:
    """BadItem for a field that is not to be changed so, and for a value that no item may have."""
    wrong = sorted(change.to.keys() - CHANGEABLE) + sorted(change.by.keys() - COUNTS) + sorted(change.to.keys() & change.by.keys())
    if wrong:
        raise BadItem(f"{change.id!r:.40}: {wrong[0]!r:.60} cannot be changed like this")
    if any(not isinstance(by, int) or isinstance(by, bool) or abs(by) >= 2**53 for by in change.by.values()):
        raise BadItem(f"{change.id!r:.40}: counts change by whole numbers")
    quick = _QUICK
    for name, value in change.to.items():
        if name not in quick or not quick[name](value):
            break
    else:
        return
    check(Item(**{"id": "-", "text": "-", **change.to}), math.inf)  # type: ignore[arg-type]
    as_json(change.to.get("details", {}), change.id)


def check_time(at: float) -> None:
    """BadItem for what is no time."""
    if not isinstance(at, (int, float)) or not 0 <= at < math.inf:
        raise BadItem(f"{at!r:.40} is not a time (seconds since 1970)")


def as_json(value: object, whose: str = "") -> str:
    """A value as JSON text; BadItem for what JSON does not know."""
    try:
        written = json.dumps(value, allow_nan=False, separators=(",", ":"))
        same = json.loads(written) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise BadItem(f"{whose!r:.40}: not a JSON value: {error}") from None
    if not same:  # keys that are no texts, tuples
        raise BadItem(f"{whose!r:.40}: not a JSON value: it would come back as another one")
    return written


def speakable(ids: Iterable[str]) -> list[str]:
    """Each of these ids once, in order, without those that no item can have."""
    return [id for id in dict.fromkeys(ids) if isinstance(id, str) and id.isprintable()]


def in_batches(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """A long sequence in parts: a statement takes so many parameters."""
    for at in range(0, len(values), size):
        yield values[at : at + size]


def rarity(total: int, holding: int) -> float:
    """What a term tells that `holding` of `total` items hold: the idf of BM25 (Robertson and Zaragoza, 2009), never below 0."""
    return math.log(1.0 + (total - holding + 0.5) / (holding + 0.5))


def _is_share(value: object) -> bool:
    return isinstance(value, float) and 0.0 <= value <= 1.0


def _is_time(value: object) -> bool:
    return isinstance(value, float) and 0.0 <= value < math.inf


# What the job changes of every item; anything else, and what does not pass here, gets the whole check.
_QUICK: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("score", "tier_score", "retention", "uniqueness"), _is_share),
    **dict.fromkeys(("tier", "previous_tier"), TIERS.__contains__),
    "tier_since": _is_time,
}
