"""Stores with one fault each, and the contract that must catch it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from popkit_retention.conformance import changes, queries
from popkit_retention.conformance import keeping as items
from popkit_retention.memory.filters import matches
from popkit_retention.memory.items import ACCESSES_KEPT, BadItem, Item
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Batch, Change, check_expected, write_all

FAULTY: list[tuple[object, type[InMemoryStore]]] = []


def breaks(contract: object):
    """Enters a store into the table."""

    def enter(store: type[InMemoryStore]) -> type[InMemoryStore]:
        FAULTY.append((contract, store))
        return store

    return enter


def slowly() -> None:
    """Lets the other threads come in between."""
    time.sleep(0.001)


@breaks(items.every_field_comes_back)
class LosesPrecision(InMemoryStore):
    def add(self, items):
        super().add([replace(item, created_at=round(item.created_at, 3)) for item in items])


@breaks(items.every_field_comes_back)
class BelievesThatThereIsAnOriginal(InMemoryStore):
    def add(self, items):
        super().add(items)
        for item in items:
            self._items[item.id] = item


@breaks(items.get_keeps_the_order)
class GivesItemsInItsOwnOrder(InMemoryStore):
    def get(self, ids):
        return super().get(sorted(ids))


@breaks(items.an_id_is_taken_once)
class AddsUntilItFails(InMemoryStore):
    def add(self, items):
        for item in items:
            super().add([item])


@breaks(items.an_id_is_taken_once)
class Replaces(InMemoryStore):
    def add(self, items):
        self.remove([item.id for item in items])
        super().add(items)


@breaks(items.invalid_items_are_refused)
class LeavesOutWhatIsBad(InMemoryStore):
    def add(self, items):
        for item in items:
            with suppress(BadItem):
                super().add([item])


@breaks(items.nothing_is_shared)
class GivesItsOwnItems(InMemoryStore):
    def get(self, ids):
        return [self._items[id] for id in ids if id in self._items]


@breaks(items.hostile_texts_come_back)
class TidiesTexts(InMemoryStore):
    def add(self, items):
        super().add([replace(item, text=" ".join(item.text.split())) for item in items])


@breaks(items.hostile_texts_come_back)
class TakesTermsForAQuery(InMemoryStore):
    def candidates(self, terms, project=None, most=200, where=()):
        return super().candidates([word for term in terms for word in ("zebra" if term == "*" else term).split()], project, most)


@breaks(items.scan_goes_by_id)
class ScansAsAdded(InMemoryStore):
    def scan(self, *chosen, **named):
        yield from (item for id in list(self._items) for item in super(ScansAsAdded, self).get([id]))


@breaks(items.scan_goes_by_id)
class ScansOneBatch(InMemoryStore):
    def scan(self, *chosen, **named):
        yield from list(super().scan(*chosen, **named))[:500]


@breaks(items.scan_chooses)
class TakesNoProjectForAll(InMemoryStore):
    def scan(self, project=None, kinds=(), tiers=(), marked=None, bare=False, where=()):
        return super().scan(project or None, kinds, tiers, marked)


@breaks(items.scan_chooses)
class TakesNotMarkedForAll(InMemoryStore):
    def scan(self, project=None, kinds=(), tiers=(), marked=None, bare=False, where=()):
        return super().scan(project, kinds, tiers, marked or None)


@breaks(items.a_bare_scan_leaves_embeddings_out)
class ScansWithEmbeddings(InMemoryStore):
    def scan(self, *chosen, bare=False, **named):
        return super().scan(*chosen, **named)


@breaks(items.scan_goes_on_while_things_change)
class ScansByPosition(InMemoryStore):
    def scan(self, project=None, kinds=(), tiers=(), marked=None, bare=False, where=()) -> Iterator[Item]:
        at = 0
        while batch := list(super().scan(project, kinds, tiers, marked))[at : at + 100]:
            yield from batch
            at += 100


@breaks(changes.change_sets_fields)
class ChangesMakeItems(InMemoryStore):
    def change(self, changes):
        changes = list(changes)
        return super().change(changes) + sum(change.id not in self._items for change in changes)


@breaks(changes.change_sets_fields)
class KeepsWhatIsTakenAway(InMemoryStore):
    def change(self, changes):
        return super().change(
            Change(each.id, {name: value for name, value in each.to.items() if value is not None}, each.by) for each in changes
        )


@breaks(changes.change_counts)
class CountsBelowZero(InMemoryStore):
    def change(self, changes):
        changes = list(changes)
        before = {change.id: self._items[change.id].sessions for change in changes if change.id in self._items}
        there = super().change(changes)
        for change in changes:
            if "sessions" in change.by:
                self._items[change.id].sessions = before[change.id] + change.by["sessions"]
        return there


@breaks(changes.change_counts)
class ChangesFromTheLastOn(InMemoryStore):
    def change(self, changes):
        return super().change(list(changes)[::-1])


@breaks(changes.a_bad_change_changes_nothing)
class ChangesUntilItFails(InMemoryStore):
    def change(self, changes):
        return sum(super(ChangesUntilItFails, self).change([change]) for change in changes)


@breaks(changes.many_are_changed_at_once)
class ChangesAThousand(InMemoryStore):
    def change(self, changes):
        return super().change(list(changes)[:1000])


@breaks(changes.counts_of_several_add_up)
class ReadsThenWrites(InMemoryStore):
    def change(self, changes):
        counted = []
        for change in changes:
            item = self._items[change.id]
            counted.append(Change(change.id, {**change.to, **{name: getattr(item, name) + by for name, by in change.by.items()}}))
        slowly()
        return super().change(counted)


@breaks(changes.one_of_several_takes_an_id)
class LooksThenAdds(InMemoryStore):
    def add(self, items):
        there = [item.id for item in items if item.id in self._items]
        slowly()
        if not there:
            self._items.update((item.id, item) for item in items)


@breaks(changes.accesses_are_booked)
class FollowsTheClockBack(InMemoryStore):
    def access(self, ids, at, session=0):
        there = super().access(ids, at, session)
        for item in self.get(ids):
            self._items[item.id].last_accessed = at
        return there


@breaks(changes.accesses_are_booked)
class KeepsTheOldestAccesses(InMemoryStore):
    def access(self, ids, at, session=0):
        before = {item.id: item.accesses for item in self.get(ids)}
        there = super().access(ids, at, session)
        for id, times in before.items():
            self._items[id].accesses = sorted([*times, at])[:ACCESSES_KEPT]
        return there


@breaks(changes.no_access_is_lost)
class ReadsThenBooks(InMemoryStore):
    def access(self, ids, at, session=0):
        before = {id: self._items[id].access_count for id in ids}
        slowly()
        there = super().access(ids, at, session)
        for id, count in before.items():
            self._items[id].access_count = count + 1
        return there


@breaks(changes.a_batch_is_one)
class WritesUntilItFails(InMemoryStore):
    def write(self, batch):
        write_all(self, batch)


@breaks(changes.a_batch_is_one)
class AccessesBeforeItAdds(InMemoryStore):
    def write(self, batch):
        super().write(Batch(access=batch.access))
        super().write(replace(batch, access=[]))


@breaks(changes.expected_values_must_still_hold)
class AsksForNothing(InMemoryStore):
    def write(self, batch):
        super().write(replace(batch, expected={}))


@breaks(changes.concurrent_counts_are_not_lost)
class LooksThenWrites(InMemoryStore):
    def write(self, batch):
        for key, value in batch.expected.items():
            check_expected(key, value, self.value(key))
        slowly()
        super().write(replace(batch, expected={}))


@breaks(items.removed_items_are_deleted)
class KeepsOriginalsOfTheRemoved(InMemoryStore):
    def remove(self, ids):
        kept = dict(self._originals)
        there = super().remove(ids)
        self._originals = kept
        return there


@breaks(items.originals_are_kept)
class KeepsTheFirstOriginal(InMemoryStore):
    def keep_original(self, id, text):
        if id not in self._originals:
            super().keep_original(id, text)


@breaks(items.originals_are_kept)
class KeepsOriginalsOfNothing(InMemoryStore):
    def keep_original(self, id, text):
        super().keep_original(id, text)
        self._originals[id] = text


@breaks(queries.candidates_hold_the_terms)
class RanksByAge(InMemoryStore):
    def candidates(self, terms, project=None, most=200, where=()):
        found = super().candidates(terms, project, most)
        return replace(found, items=sorted(found.items, key=lambda item: item.id))


@breaks(queries.candidates_hold_the_terms)
class CountsWhatItFound(InMemoryStore):
    def candidates(self, terms, project=None, most=200, where=()):
        found = super().candidates(terms, project, most)
        return replace(found, total=len(found.items))


@breaks(queries.projects_are_apart)
class CountsOtherProjects(InMemoryStore):
    def candidates(self, terms, project=None, most=200, where=()):
        found = super().candidates(terms, project, most)
        return replace(found, holding=super().candidates(terms).holding)


@breaks(queries.conditions_choose)
class TakesTrueForOne(InMemoryStore):
    def scan(self, *chosen, where=(), **named):
        loose = tuple(condition._replace(value=1) if condition.value is True else condition for condition in where)
        return super().scan(*chosen, where=loose, **named)


@breaks(queries.a_scope_has_its_best_among_many)
class ChoosesAmongTheBest(InMemoryStore):
    def candidates(self, terms, project=None, most=200, where=()):
        found = super().candidates(terms, project, most)
        return replace(found, items=[item for item in found.items if matches(item, where)])


@breaks(queries.a_document_has_a_shortlist)
class ShortlistsWhatWaits(InMemoryStore):
    def shortlist(self, project, at, where=(), whole=2_000, of_each_kind=500):
        items = self._items
        self._items = {id: replace(item, source="user") for id, item in items.items()}
        try:
            return super().shortlist(project, at, where, whole, of_each_kind)
        finally:
            self._items = items


@breaks(queries.a_document_has_a_shortlist)
class ShortlistsByUseAlone(InMemoryStore):
    def shortlist(self, project, at, where=(), whole=2_000, of_each_kind=500):
        items = self._items
        self._items = {id: replace(item, session=0) for id, item in items.items()}
        try:
            chosen = super().shortlist(project, at, where, whole, of_each_kind)
        finally:
            self._items = items
        return replace(chosen, items=[replace(item, session=items[item.id].session) for item in chosen.items])


@breaks(queries.marked_items_are_not_found)
class FindsWhatIsMarked(InMemoryStore):
    def candidates(self, terms, project=None, most=200, where=()):
        kept = self._items
        self._items = {id: replace(item, marked_at=None) for id, item in kept.items()}
        try:
            return super().candidates(terms, project, most)
        finally:
            self._items = kept


@breaks(queries.searches_follow_changes)
class FindsWhatWas(InMemoryStore):
    def change(self, changes):
        return super().change(changes)

    def candidates(self, terms, project=None, most=200, where=()):
        return super().candidates(["zebra" if term == "lion" else term for term in terms], project, most)


@breaks(queries.the_best_are_among_many)
class FindsTheFirst(InMemoryStore):
    def candidates(self, terms, project=None, most=200, where=()):
        found = super().candidates(terms, project, 10_000)
        return replace(found, items=sorted(found.items, key=lambda item: item.id)[:most])


@breaks(queries.places_give_their_items)
class OrdersPlaces(InMemoryStore):
    def around(self, places):
        return super().around(sorted(places))


@breaks(queries.places_give_their_items)
class HasPlacesOutsideOfEpisodes(InMemoryStore):
    def around(self, places):
        return super().around(places) + [item for item in self._items.values() if not item.episode and ("", item.place) in places]


@breaks(queries.totals_add_up)
class LeavesMarkedItemsOutOfTotals(InMemoryStore):
    def totals(self, project=None):
        other = InMemoryStore()
        other.add(list(self.scan(marked=False)))
        return other.totals(project)


@breaks(queries.values_come_back)
class TakesPrefixesForPatterns(InMemoryStore):
    def values(self, prefix):
        return {
            key: value for key, value in super().values("").items() if Path(key).match(prefix.replace("%", "*").replace("_", "?") + "*")
        }


@breaks(queries.values_come_back)
class KeepsNone(InMemoryStore):
    def set_value(self, key, value):
        super().set_value(key, value)
        self._values[key] = json.dumps(value)


@breaks(queries.the_log_is_kept)
class SortsTheLogByTime(InMemoryStore):
    def logged(self, id=None, most=100):
        return sorted(super().logged(id, 1000), key=lambda entry: -entry["at"])[:most]


@breaks(queries.the_log_is_kept)
class LogsUntilItFails(InMemoryStore):
    def log(self, entries):
        for entry in entries:
            super().log([entry])


@breaks(queries.the_log_is_shortened)
class KeepsTheOldest(InMemoryStore):
    def shorten_log(self, most):
        gone = max(0, len(self._log) - most)
        del self._log[most:]
        return gone


@breaks(queries.the_log_is_shortened)
class NeverShortens(InMemoryStore):
    def shorten_log(self, most):
        return 0


@breaks(queries.others_see_changes)
class TellsNobody(InMemoryStore):
    """Each thread, and each connection, has a state of its own."""


@breaks(queries.a_sound_store_has_nothing_wrong)
class AlwaysComplains(InMemoryStore):
    def verify(self):
        return ["something"]


@breaks(queries.compacting_keeps_everything)
class CompactsTheLogAway(InMemoryStore):
    def compact(self):
        self._log = []
        return True


class Minimal:
    """Methods that do nothing at all."""

    def __getattr__(self, name: str):
        empty = {"scan": [], "get": [], "around": [], "totals": [], "values": {}, "logged": [], "verify": [], "shortlist": None}
        return lambda *_given, **_named: empty.get(name)
