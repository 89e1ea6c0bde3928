"""Contracts: what is kept beside the items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...items import DIMENSIONS, BadItem
from .. import Change
from .kit import NOW, example, expect, full, ids, only, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import Store


def values_come_back(store: Store, again: Callable[[], Store]) -> None:
    """Values are JSON; None forgets one; a prefix stands for itself."""
    values: list[object] = [0, 1.5, "é \ud800", [], {"a": [None, True]}, False, "", {"deep": [[1]]}]
    for number, value in enumerate(values):
        store.set_value(f"a%_{number}", value)
        expect(store.value(f"a%_{number}"), value, "value")
    store.set_value("ab1", 1)
    store.set_value("A%_", 2)
    store.set_value("a%_0", {"new": 1})
    store.set_value("a%_1", None)
    expect(store.values("a%_"), {"a%_0": {"new": 1}, **{f"a%_{n}": values[n] for n in range(2, 8)}}, "values")
    expect((store.value("a%_1"), store.value("never"), store.values("z")), (None, None, {}), "what is not there")
    expect(len(store.values("")), 9, "all values")
    for bad in (float("nan"), {1: 2}, object(), b"x"):
        refused(BadItem, lambda bad=bad: store.set_value("ab1", bad), f"{bad!r}")  # type: ignore[misc]
    expect(store.value("ab1"), 1, "value")


def the_log_is_kept(store: Store, again: Callable[[], Store]) -> None:
    """Entries of the audit come newest first, in the order in which they were appended, of one item or of all."""
    store.log([{"at": NOW, "action": "add", "id": "a", "project": "p", "reasons": ["é", 1]}, {"at": NOW, "action": "add", "id": "b"}])
    store.log([])
    for number in range(5):
        store.log([{"at": NOW - number, "action": str(number), "id": "a"}])
    expect([entry["action"] for entry in store.logged(most=6)], ["4", "3", "2", "1", "0", "add"], "newest")
    expect([entry["id"] for entry in store.logged()], ["a"] * 5 + ["b", "a"], "all")
    expect(store.logged("b"), [{"at": NOW, "action": "add", "id": "b"}], "of one item")
    expect(store.logged("a")[-1], {"at": NOW, "action": "add", "id": "a", "project": "p", "reasons": ["é", 1]}, "an entry")
    expect((store.logged("c"), len(store.logged("a", most=2))), ([], 2), "of none, and at most two")
    refused(BadItem, lambda: store.log([{"action": "good"}, {"action": float("nan")}]), "an entry that is no JSON")
    expect(len(store.logged()), 7, "entries")


def the_log_is_shortened(store: Store, again: Callable[[], Store]) -> None:
    """Of the audit the newest entries stay, as many as asked for; what is logged afterwards comes behind them."""
    expect(store.shorten_log(3), 0, "entries of an empty audit that were deleted")
    store.log([{"at": NOW - number, "action": str(number), "id": "ab"[number % 2]} for number in range(2500)])
    expect([store.shorten_log(2500), store.shorten_log(4), store.shorten_log(4)], [0, 2496, 0], "entries that were deleted")
    expect([entry["action"] for entry in store.logged()], ["2499", "2498", "2497", "2496"], "entries that are left")
    expect([entry["action"] for entry in store.logged("a")], ["2498", "2496"], "entries of one item that are left")
    store.log([{"at": NOW, "action": "new", "id": "a"}])
    expect([entry["action"] for entry in store.logged(most=2)], ["new", "2499"], "the newest")
    expect((store.shorten_log(0), store.logged()), (5, []), "all entries deleted")


def others_see_what_is_done(store: Store, again: Callable[[], Store]) -> None:
    """What one has done, another one sees at once."""
    other = again()
    store.add([example(1)])
    expect(ids(other.scan()), ["m00001"], "items")
    other.change([Change("m00001", {"text": "lion"})])
    store.access(["m00001"], NOW + 1)
    expect(ids(other.candidates(["lion"]).items), ["m00001"], "candidates")
    expect((only(other, "m00001").access_count, only(store, "m00001").text), (1, "lion"), "fields")
    if other is not store:
        other.close()


def a_sound_store_has_nothing_wrong(store: Store, again: Callable[[], Store]) -> None:
    """A store that has only been used as it should be finds nothing wrong with itself."""
    store.add([example(number, project="pq"[number % 2], episode="e", place=number) for number in range(30)])
    store.add([full()])
    store.keep_original("m00001", "whole")
    store.change([Change(f"m{number:05d}", {"text": f"lion {number}", "project": "r"}, {"writes": 1}) for number in range(5, 12)])
    store.change([Change("m00002", {"marked_at": NOW}), Change("m00003", {"embedding": [0.25] * DIMENSIONS})])
    store.access(["m00002", "m00004"], NOW)
    store.remove(["m00005", "m00001", "m00029"])
    expect(store.verify(), [], "verify")


def compacting_keeps_everything(store: Store, again: Callable[[], Store]) -> None:
    """A store that gives space back has and finds what it had, and goes on."""
    store.add([example(number, text=f"item{number} " + "zebra " * 200) for number in range(300)])
    store.keep_original("m00007", "whole")
    store.set_value("a", 1)
    store.log([{"at": NOW, "action": "added"}])
    store.remove([f"m{number:05d}" for number in range(10, 300)])
    before = [item.to_json() for item in store.scan()]
    expect(store.compact() in (True, False), True, "an answer")
    expect([item.to_json() for item in store.scan()], before, "items")
    expect((store.original("m00007"), store.value("a"), len(store.logged())), ("whole", 1, 1), "what is kept beside them")
    store.add([example(500)])
    found = store.candidates(["zebra", "item9", "item299"])
    expect((found.total, found.holding), (11, {"zebra": 11, "item9": 1, "item299": 0}), "what is found")
    expect(store.verify(), [], "verify")


CONTRACTS = (
    values_come_back,
    the_log_is_kept,
    the_log_is_shortened,
    others_see_what_is_done,
    a_sound_store_has_nothing_wrong,
    compacting_keeps_everything,
)
