"""Code that stores share: what they accept, how originals are packed, what they report as wrong with items."""

from __future__ import annotations

import json
import math
from dataclasses import fields

from popkit_retention.core.archive.content import RetentionIntegrityError, compress_content, decompress_content, hash_content

from ..items import EMBEDDING, LONGEST_TEXT, TIERS, BadItem, Item, check
from .protocol import Change, DuplicateId, StoreUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from .protocol import Store

    T = TypeVar("T")

FIELDS = tuple(field.name for field in fields(Item))
# Set by `access` and `keep_original` alone.
_BOOKED = frozenset(("access_count", "last_accessed", "accesses", "original"))
CHANGEABLE = frozenset(FIELDS) - _BOOKED - {"id"}
COUNTS = frozenset(("writes", "sessions", "reinforcements"))


def check_new(items: Sequence[Item]) -> None:
    """Raise BadItem for an item that cannot be kept, DuplicateId for an id that occurs twice. Times in the future are left to callers that
    have a clock."""
    seen: set[str] = set()
    for item in items:
        check(item, math.inf)
        as_json(item.details, item.id)
        as_json(item.metadata, item.id)
        if item.id in seen:
            raise DuplicateId(f"{item.id!r:.40} occurs twice")
        seen.add(item.id)


def check_change(change: Change) -> None:
    """Raise BadItem for a field that must not be changed like this, and for a value that no item may have."""
    wrong = sorted(change.to.keys() - CHANGEABLE) + sorted(change.by.keys() - COUNTS) + sorted(change.to.keys() & change.by.keys())
    if wrong:
        raise BadItem(f"{change.id!r:.40}: {wrong[0]!r:.60} cannot be changed like this")
    if any(not isinstance(by, int) or isinstance(by, bool) or abs(by) >= 2**53 for by in change.by.values()):
        raise BadItem(f"{change.id!r:.40}: counts change by whole numbers")
    if all(name in _QUICK and _QUICK[name](value) for name, value in change.to.items()):
        return
    check(Item(**{"id": "-", "text": "-", **change.to}), math.inf)  # type: ignore[arg-type]
    as_json(change.to.get("details", {}), change.id)
    as_json(change.to.get("metadata", {}), change.id)


def check_time(at: float) -> None:
    """Raise BadItem for a value that is not a time."""
    if not isinstance(at, (int, float)) or not 0 <= at < math.inf:
        raise BadItem(f"{at!r:.40} is not a time (seconds since 1970)")


def as_json(value: object, owner: str = "") -> str:
    """Return a value as JSON text. Raise BadItem for a value that JSON cannot represent."""
    try:
        written = json.dumps(value, allow_nan=False, separators=(",", ":"))
        same = json.loads(written) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise BadItem(f"{owner!r:.40}: not a JSON value: {error}") from None
    if not same:  # keys that are not texts, tuples
        raise BadItem(f"{owner!r:.40}: not a JSON value: it would come back as another one")
    return written


def can_be_listed(item: Item, at: float) -> bool:
    """Return whether a document may list an item at a time (seconds), as far as its own fields say."""
    return item.marked_at is None and not item.waits and item.level != EMBEDDING and not item.has_expired(at)


def storable_ids(ids: Iterable[str]) -> list[str]:
    """Return each of these ids once, in order, without those that no item can have."""
    return [id for id in dict.fromkeys(ids) if isinstance(id, str) and id.isprintable()]


def in_batches(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """Yield a long sequence in parts that fit one statement's parameters."""
    for at in range(0, len(values), size):
        yield values[at : at + size]


def _is_share(value: object) -> bool:
    return isinstance(value, float) and 0.0 <= value <= 1.0


def _is_time(value: object) -> bool:
    return isinstance(value, float) and 0.0 <= value < math.inf


# The fields that the job changes of every item; all other fields, and values that fail here, get the whole check.
_QUICK: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("score", "tier_score", "retention", "uniqueness"), _is_share),
    **dict.fromkeys(("tier", "previous_tier"), TIERS.__contains__),
    "tier_since": _is_time,
}


def entry_rows(entries: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    """Return entries of the audit as (id of the item, JSON text). Raise BadItem for one that is not JSON."""
    ids = [str(entry.get("id", "")) for entry in entries]
    return [(id, as_json(dict(entry), id)) for id, entry in zip(ids, entries)]


def duplicate(store: Store, items: Sequence[Item]) -> DuplicateId:
    """Return the error that names the first of these items that is in a store already."""
    there = {item.id for item in store.get([item.id for item in items])}
    first = next((item.id for item in items if item.id in there), "")
    return DuplicateId(f"{first!r:.40} is there already")


def item_problems(store: Store) -> list[str]:
    """Return the problems of a store's items, a sentence each."""
    return [problem for item in store.scan() if (problem := _problem(store, item))]


def _problem(store: Store, item: Item) -> str:
    try:
        check(item, math.inf)
        return f"{item.id}: its original is missing" if item.original and store.original(item.id) is None else ""
    except (BadItem, StoreUnavailable) as error:
        return str(error)


def packed(text: str) -> tuple[str, bytes]:
    """Return the hash of an original, and the original compressed."""
    return hash_content(text), compress_content(text)


def opened(id: str, hash: object, content: object, where: str) -> str:
    """Return the original that was packed; raise StoreUnavailable where it is damaged."""
    try:
        text = decompress_content(content, 4 * LONGEST_TEXT)  # type: ignore[arg-type]
        what = "" if hash_content(text) == hash else "it is not the text that was kept"
    except RetentionIntegrityError as error:
        what = str(error)
    if what:
        raise StoreUnavailable(f"the original of {id!r:.40} is damaged: {what}. A backup of {where} may have it")
    return text
