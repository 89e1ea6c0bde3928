"""The reference implementation: a store in this process's memory. Other stores answer as this one does."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace

from popkit_retention.core.policy.estimate import estimate_tokens

from ..filters import matches
from ..items import ACCESSES_KEPT, Item
from ..terms import rarity, terms_of
from .protocol import OF_EACH_KIND, WHOLE, Batch, Candidates, Change, DuplicateId, Shortlist, Total, write_all
from .shared import as_json, can_be_listed, check_change, check_new, check_time, entry_rows, item_problems, storable_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..filters import Condition


class InMemoryStore:
    """Threads may share it; it ends with the process."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._originals: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._log: list[str] = []
        self._lock = threading.RLock()

    def write(self, batch: Batch) -> None:
        with self._lock:
            before = dict(self._items), dict(self._originals), dict(self._values), list(self._log)
            try:
                write_all(self, batch)
            except BaseException:
                self._items, self._originals, self._values, self._log = before
                raise

    def add(self, items: Sequence[Item]) -> None:
        check_new(items)
        with self._lock:
            for item in items:
                if item.id in self._items:
                    raise DuplicateId(f"{item.id!r:.40} is there already")
            self._items.update((item.id, _copy(replace(item, original=False))) for item in items)

    def get(self, ids: Sequence[str]) -> list[Item]:
        with self._lock:
            return [_copy(self._items[id]) for id in ids if id in self._items]

    def scan(
        self,
        project: str | None = None,
        kinds: Sequence[str] = (),
        tiers: Sequence[str] = (),
        marked: bool | None = None,
        bare: bool = False,
        where: Sequence[Condition] = (),
    ) -> Iterator[Item]:
        for id in sorted(self._items):
            with self._lock:
                item = self._items.get(id)
                if (
                    item is None
                    or (project is not None and item.project != project)
                    or (kinds and item.kind not in kinds)
                    or (tiers and item.tier not in tiers)
                    or (marked is not None and (item.marked_at is not None) != marked)
                    or not matches(item, where)
                ):
                    continue
                copy = _copy(replace(item, embedding=None) if bare else item)
            yield copy

    def shortlist(
        self, project: str, at: float, where: Sequence[Condition] = (), whole: int = WHOLE, of_each_kind: int = OF_EACH_KIND
    ) -> Shortlist:
        items = list(self.scan(project, bare=True, where=where))
        if len(items) <= whole:
            return Shortlist(items)
        items = [item for item in items if can_be_listed(item, at)]
        chosen = {item.id for item in items if item.held}
        for kind in {item.kind for item in items}:
            for used in ("sessions", "session"):
                of_kind = sorted((item for item in items if item.kind == kind), key=lambda item: (-getattr(item, used), -item.created_at))
                chosen.update(item.id for item in of_kind[:of_each_kind])
        return Shortlist([item for item in items if item.id in chosen], True)

    def change(self, changes: Iterable[Change]) -> int:
        changes = list(changes)
        for change in changes:
            check_change(change)
        there = 0
        with self._lock:
            for change in changes:
                item = self._items.get(change.id)
                if item is None:
                    continue
                counts = {name: max(0, getattr(item, name) + by) for name, by in change.by.items()}
                self._items[change.id] = _copy(replace(item, **{**change.to, **counts}))
                there += 1
        return there

    def access(self, ids: Sequence[str], at: float, session: int = 0) -> int:
        check_time(at)
        with self._lock:
            items = self.get(storable_ids(ids))
            for item in items:
                booked = {"access_count": item.access_count + 1, "accesses": [*item.accesses, at]}
                latest = {"last_accessed": max(item.last_accessed, at), "session": max(item.session, session)}
                self._items[item.id] = _copy(replace(item, **booked, **latest))  # type: ignore[arg-type]
            return len(items)

    def remove(self, ids: Sequence[str]) -> int:
        with self._lock:
            removed = [id for id in storable_ids(ids) if self._items.pop(id, None)]
            for id in removed:
                self._originals.pop(id, None)
            return len(removed)

    def keep_original(self, id: str, text: str) -> None:
        with self._lock:
            if id in self._items:
                self._originals[id] = text
                self._items[id] = replace(self._items[id], original=True)

    def original(self, id: str) -> str | None:
        with self._lock:
            return self._originals.get(id)

    def candidates(self, terms: Sequence[str], project: str | None = None, most: int = 200, where: Sequence[Condition] = ()) -> Candidates:
        wanted = set(terms)
        with self._lock:
            items = [item for item in self._items.values() if item.marked_at is None and project in (None, item.project)]
            spoken = [terms_of(item.text) for item in items]
            held = [wanted.intersection(terms) for terms in spoken]
            holding = Counter(term for terms in held for term in terms)
            weights = {term: rarity(len(items), holding[term]) for term in holding}
            fitting = (at for at in range(len(items)) if held[at] and matches(items[at], where))
            best = sorted(fitting, key=lambda at: -sum(weights[term] for term in held[at]))
            mean = sum(map(len, spoken)) / len(items) if items else 0.0
            return Candidates([_copy(items[at]) for at in best[:most]], len(items), mean, {term: holding[term] for term in wanted})

    def around(self, places: Sequence[tuple[str, int]]) -> list[Item]:
        with self._lock:
            at: dict[tuple[str, int], list[Item]] = {}
            for id in sorted(self._items):
                item = self._items[id]
                at.setdefault((item.episode, item.place), []).append(item)
            return [_copy(item) for place in dict.fromkeys(places) if place[0] for item in at.get(place, ())]

    def totals(self, project: str | None = None) -> list[Total]:
        counted: dict[tuple[str, str, str], list[int]] = {}
        with self._lock:
            for item in self._items.values():
                if project in (None, item.project):
                    counts = counted.setdefault((item.project, item.tier, item.level), [0, 0])
                    counts[0] += 1
                    counts[1] += estimate_tokens(item.text)
        return [Total(*which, *counts) for which, counts in sorted(counted.items())]

    def value(self, key: str) -> object:
        with self._lock:
            return json.loads(self._values.get(key, "null"))

    def set_value(self, key: str, value: object) -> None:
        written = as_json(value, key)
        with self._lock:
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = written

    def values(self, prefix: str) -> dict[str, object]:
        with self._lock:
            return {key: json.loads(self._values[key]) for key in sorted(self._values) if key.startswith(prefix)}

    def log(self, entries: Sequence[Mapping[str, object]]) -> None:
        written = [line for _, line in entry_rows(entries)]
        with self._lock:
            self._log += written

    def logged(self, id: str | None = None, most: int = 100) -> list[dict[str, object]]:
        with self._lock:
            entries = [json.loads(line) for line in reversed(self._log)]
        return [entry for entry in entries if id is None or entry.get("id") == id][:most]

    def shorten_log(self, most: int) -> int:
        with self._lock:
            excess = max(0, len(self._log) - most)
            del self._log[:excess]
            return excess

    def compact(self) -> bool:
        """Return True: Python has already freed the space."""
        return True

    def verify(self) -> list[str]:
        with self._lock:
            return item_problems(self)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _copy(item: Item) -> Item:
    """Return a copy of an item: changes outside of the store do not reach it."""
    return replace(
        item,
        accesses=sorted(item.accesses)[-ACCESSES_KEPT:],
        reinforced=sorted(item.reinforced)[-ACCESSES_KEPT:],
        embedding=None if item.embedding is None else list(item.embedding),
        details=json.loads(json.dumps(item.details)),
        metadata=json.loads(json.dumps(item.metadata)),
    )
