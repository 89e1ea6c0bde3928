"""Stores of vectors with one fault each, and the contract that must catch it."""

from __future__ import annotations

import math
import time

from popkit_retention.conformance import vectors as contracts
from popkit_retention.vector_stores.in_memory import InMemoryVectorStore

FAULTY: list[tuple[object, type[InMemoryVectorStore]]] = []
EVERYTHING = 1_000_000


def breaks(contract: object):
    """Enters a store into the table."""

    def enter(store: type[InMemoryVectorStore]) -> type[InMemoryVectorStore]:
        FAULTY.append((contract, store))
        return store

    return enter


@breaks(contracts.an_empty_store_finds_nothing)
class MissesWhatIsRemoved(InMemoryVectorStore):
    def remove(self, ids):
        for id in ids:
            del self._vectors[id]


@breaks(contracts.the_nearest_come_first)
class TakesTheFarthest(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return super().nearest(numbers, embedder, EVERYTHING, within)[::-1][:most]


@breaks(contracts.the_nearest_come_first)
class LeavesTiesAsTheyCome(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        places = {id: place for place, id in enumerate(self._vectors)}
        return sorted(super().nearest(numbers, embedder, EVERYTHING, within), key=lambda match: (-match[1], places[match[0]]))[:most]


@breaks(contracts.the_nearest_come_first)
class TellsDistances(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return [(id, 1.0 - likeness) for id, likeness in super().nearest(numbers, embedder, most, within)]


@breaks(contracts.the_nearest_come_first)
class MeasuresStraightLines(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return [(id, 1.0 - math.sqrt(max(0.0, 2 - 2 * likeness))) for id, likeness in super().nearest(numbers, embedder, most, within)]


@breaks(contracts.zeros_are_like_nothing)
class DividesByLength(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        near = super().nearest(numbers, embedder, most, within)
        return [(id, likeness if any(self._vectors[id].numbers) and any(numbers) else math.nan) for id, likeness in near]


@breaks(contracts.never_more_than_asked_for)
class IgnoresHowMany(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return super().nearest(numbers, embedder, EVERYTHING, within)


@breaks(contracts.never_more_than_asked_for)
class HasABoundOfItsOwn(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return super().nearest(numbers, embedder, min(most, 200), within)


@breaks(contracts.as_many_as_there_are_in_the_place)
class FiltersOnceItHasChosen(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        inside = {id for id, _ in super().nearest(numbers, embedder, EVERYTHING, within)}
        return [match for match in super().nearest(numbers, embedder, 10 * most, {}) if match[0] in inside][:most]


@breaks(contracts.as_many_as_there_are_in_the_place)
class ForgetsTheScope(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return super().nearest(numbers, embedder, most, {})


@breaks(contracts.places_are_apart)
class KnowsNoCase(InMemoryVectorStore):
    def put(self, vectors):
        super().put([vector._replace(user_id=vector.user_id.lower()) for vector in vectors])

    def nearest(self, numbers, embedder, most, within):
        return super().nearest(numbers, embedder, most, {field: value.lower() for field, value in within.items()})


@breaks(contracts.places_are_apart)
class TakesNoUserForAll(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return super().nearest(numbers, embedder, most, {field: value for field, value in within.items() if value})


@breaks(contracts.places_are_apart)
class LooksAtOnePlace(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        return super().nearest(numbers, embedder, most, dict(list(within.items())[:1]))


@breaks(contracts.embedders_are_apart)
class ComparesWhatCannotBe(InMemoryVectorStore):
    def nearest(self, numbers, embedder, most, within):
        self._vectors = {id: vector._replace(embedder=embedder) for id, vector in self._vectors.items()}
        return super().nearest(numbers, embedder, most, within)


@breaks(contracts.a_vector_takes_the_place_of_another)
class KeepsTheFirst(InMemoryVectorStore):
    def put(self, vectors):
        super().put([vector for vector in vectors if vector.id not in self._vectors])


@breaks(contracts.a_vector_takes_the_place_of_another)
class KeepsTheFormerPlace(InMemoryVectorStore):
    def put(self, vectors):
        former = dict(self._vectors)
        super().put([vector._replace(project=former[vector.id].project) if vector.id in former else vector for vector in vectors])


@breaks(contracts.a_vector_takes_the_place_of_another)
class KeepsTheFirstOfSeveral(InMemoryVectorStore):
    def put(self, vectors):
        super().put(vectors[::-1])


@breaks(contracts.what_is_removed_is_gone)
class FindsWhatWasDeleted(InMemoryVectorStore):
    def __init__(self):
        super().__init__()
        self.deleted = {}

    def remove(self, ids):
        self.deleted.update({id: self._vectors[id] for id in ids if id in self._vectors})
        super().remove(ids)

    def nearest(self, numbers, embedder, most, within):
        there = self._vectors
        self._vectors = {**self.deleted, **there}
        try:
            return super().nearest(numbers, embedder, most, within)
        finally:
            self._vectors = there


@breaks(contracts.what_is_removed_is_gone)
class RemovesTheFirstAlone(InMemoryVectorStore):
    def remove(self, ids):
        super().remove(ids[:1])


@breaks(contracts.stamps_come_back)
class TidiesIds(InMemoryVectorStore):
    def put(self, vectors):
        super().put([vector._replace(id=vector.id.rstrip("%")) for vector in vectors])


@breaks(contracts.stamps_come_back)
class TellsAllStamps(InMemoryVectorStore):
    def stamps(self, ids=None):
        return super().stamps(ids if ids is None or len(ids) < 5 else None)


@breaks(contracts.a_bad_vector_changes_nothing)
class PutsUntilItFails(InMemoryVectorStore):
    def put(self, vectors):
        for vector in vectors:
            super().put([vector])


@breaks(contracts.thousands_at_once)
class TakesAThousand(InMemoryVectorStore):
    def put(self, vectors):
        super().put(vectors[:1_000])


@breaks(contracts.several_lose_nothing)
class WritesAllOfItsVectors(InMemoryVectorStore):
    def put(self, vectors):
        before = dict(self._vectors)
        time.sleep(0.001)  # lets the other threads come in between
        super().put(vectors)
        self._vectors = {**before, **{vector.id: self._vectors[vector.id] for vector in vectors if vector.id in self._vectors}}


@breaks(contracts.it_is_closed_twice)
class ClosesOnce(InMemoryVectorStore):
    is_closed = False

    def close(self):
        if self.is_closed:
            raise RuntimeError("closed")
        self.is_closed = True
