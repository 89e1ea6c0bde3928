"""The protocol of all stores of items, with its records. `popkit_retention.conformance` tests whether a store follows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io.codec import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..filters import Condition
    from ..items import Item


class StoreUnavailable(PopkitError):
    """The store cannot be reached or used now; the message says why, and what to do. Nothing was lost or half written."""


class DuplicateId(PopkitError, ValueError):
    """An item of that id already exists; nothing was added."""


class Outdated(PopkitError):
    """A value is no longer as the caller had read it; nothing was written. Read it again, and decide again."""


@dataclass
class Change:
    """A change of one item: `to` sets fields, `by` adds to counts. Accesses are not changed like this: see `Store.access`."""

    id: str
    to: dict[str, object] = field(default_factory=dict)
    by: dict[str, int] = field(default_factory=dict)


@dataclass
class Batch:
    """Several changes that are made as one, in this order: new items, changes, originals (id -> full text), accesses (ids, time, session),
    removed ids, values (key -> value), entries of the audit. `expected`: values that must be unchanged since they were read (None: absent),
    or nothing of the batch is done, even when others write at the same time."""

    expected: dict[str, object] = field(default_factory=dict)
    add: list[Item] = field(default_factory=list)
    change: list[Change] = field(default_factory=list)
    originals: dict[str, str] = field(default_factory=dict)
    access: list[tuple[list[str], float, int]] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)
    log: list[dict[str, object]] = field(default_factory=list)


def audited(at: float, action: str, project: str, id: str = "", **more: object) -> dict[str, object]:
    """Return an entry of the audit: when (seconds), the action, the project, the item ("" for none alone), and further fields, such as
    `reasons`."""
    return {"at": at, "action": action, "id": id, "project": project, **more}


@dataclass
class Total:
    """The totals of one project, tier and level: the number of items, and the tokens of their texts."""

    project: str
    tier: str
    level: str
    items: int
    tokens: int


@dataclass
class Candidates:
    """The candidates for a search: items that have any of the terms, and what ranking needs to know of all items that were searched: how
    many, their mean length in terms, and how many have each term."""

    items: list[Item]
    total: int
    mean_length: float
    holding: dict[str, int]


# What a document is drafted from: all items of a project where there are so many, of more so many of each kind in each of two orders.
WHOLE, OF_EACH_KIND = 2_000, 500


@dataclass
class Shortlist:
    """The items that a document is drafted from; `is_partial` where the project may have others that meet the conditions."""

    items: list[Item]
    is_partial: bool = False


class Store(Protocol):
    """A store of items. Every method is all or nothing, and safe where several processes use it at once. StoreUnavailable where it cannot
    be used."""

    def write(self, batch: Batch) -> None:
        """Make all of these changes, or none. Raise Outdated where an expected value has changed; DuplicateId where a new item is already
        in the store, or occurs twice. A change, an access or a removal of an item that does not exist does nothing. An original sets its
        item's `original`; a value of None deletes it."""

    def add(self, items: Sequence[Item]) -> None:
        """Add new items. Raise DuplicateId as `write` does."""

    def get(self, ids: Sequence[str]) -> list[Item]:
        """Return those of these items that are in the store, in this order."""

    def scan(
        self,
        project: str | None = None,
        kinds: Sequence[str] = (),
        tiers: Sequence[str] = (),
        marked: bool | None = None,
        bare: bool = False,
        where: Sequence[Condition] = (),
    ) -> Iterator[Item]:
        """Yield items by id: of a project (None: of all), of these kinds and tiers (none: all), marked for deletion or not (None: both),
        those that meet all conditions of `where`; `bare` without their embeddings, which take longer to read than all the rest. Never hold
        more than a batch of them; yield items that change meanwhile at most once; allow calls of other methods in between."""
        ...

    def shortlist(
        self, project: str, at: float, where: Sequence[Condition] = (), whole: int = WHOLE, of_each_kind: int = OF_EACH_KIND
    ) -> Shortlist:
        """Return the items of a project that meet all conditions, without their embeddings, by id: all of them where there are at most
        `whole`. Of more, return those that can be listed (not marked, expired at a time, waiting for the user, or faded to an embedding):
        all pinned ones, and `of_each_kind` items of each kind that most sessions have used and that were used in the latest sessions, in
        both orders the newest first where they are equal, then by id."""
        ...

    def change(self, changes: Iterable[Change]) -> int:
        """Change items; return how many of them were in the store. A change of an item that does not exist does nothing."""
        ...

    def access(self, ids: Sequence[str], at: float, session: int = 0) -> int:
        """Count an access of each of these items; lose none, even when others do the same. `session`: the number of the session that it
        happened in, 0 for outside of any. Return how many of them were in the store."""
        ...

    def remove(self, ids: Sequence[str]) -> int:
        """Delete items for good, with their originals; return how many were in the store."""
        ...

    def keep_original(self, id: str, text: str) -> None:
        """Keep the full text of an item that is about to be compressed; set its `original`."""

    def original(self, id: str) -> str | None:
        """Return the full text that was kept; None where none was. Raise StoreUnavailable where it is corrupt."""
        ...

    def candidates(self, terms: Sequence[str], project: str | None = None, most: int = 200, where: Sequence[Condition] = ()) -> Candidates:
        """Return the items that have most of these terms (as `terms.terms_of` makes them) and meet all conditions of `where`, without
        marked ones. What ranking needs to know is counted over all items of the project."""
        ...

    def around(self, places: Sequence[tuple[str, int]]) -> list[Item]:
        """Return the items at these places: (episode, place)."""
        ...

    def totals(self, project: str | None = None) -> list[Total]:
        """Return totals by project, tier and level."""
        ...

    def value(self, key: str) -> object:
        """Return a small JSON value that is kept under a key (the job's last run, a session's lesson); None where there is none."""
        ...

    def set_value(self, key: str, value: object) -> None:
        """Keep a small JSON value; None deletes it."""

    def values(self, prefix: str) -> dict[str, object]:
        """Return all values whose keys have this prefix."""
        ...

    def log(self, entries: Sequence[Mapping[str, object]]) -> None:
        """Append to the audit: each entry is a JSON object with `at` (seconds), `action`, `id`, `project` and reasons."""

    def logged(self, id: str | None = None, most: int = 100) -> list[dict[str, object]]:
        """Return the newest entries of the audit, newest first."""
        ...

    def shorten_log(self, most: int) -> int:
        """Delete the oldest entries of the audit, so that at most this many are left; return how many were deleted."""
        ...

    def compact(self) -> bool:
        """Return the space of deleted items to the system; return False where the store cannot do so now."""
        ...

    def verify(self) -> list[str]:
        """Return the store's problems, a sentence each; none where it is sound."""
        ...

    def close(self) -> None:
        """Release the store."""


def write_all(store: Store, batch: Batch) -> None:
    """Make the changes of a batch one by one; the caller ensures that all are made or none."""
    for key, value in batch.expected.items():
        check_expected(key, value, store.value(key))
    store.add(batch.add)
    store.change(batch.change)
    for id, text in batch.originals.items():
        store.keep_original(id, text)
    for ids, at, session in batch.access:
        store.access(ids, at, session)
    store.remove(batch.remove)
    for key, value in batch.values.items():
        store.set_value(key, value)
    store.log(batch.log)


def mapping(value: object) -> Mapping[str, object]:
    """Return a store's value if it is an object; {} for any other."""
    return as_object(value)


def listed(value: object) -> list[str]:
    """Return the texts of a store's value if it is a list; none for any other."""
    return [str(text) for text in value] if isinstance(value, list) else []


def check_expected(key: str, value: object, now: object) -> None:
    """Raise Outdated where a value has changed since it was read."""
    if now != value:
        raise Outdated(f"{key!r:.60} has changed in the meantime. Try again")
