"""The contracts of changes: updates, accesses, batches."""

from __future__ import annotations

from dataclasses import replace

from ..memory.items import ACCESSES_KEPT, BadItem
from ..memory.stores.protocol import Batch, Change, DuplicateId, Outdated
from .checking import NOW, at_once, example, expect, full, ids, only, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..memory.stores.protocol import Store


def change_sets_fields(store: Store, again: Callable[[], Store]) -> None:
    """A change sets the fields that it names, and nothing else; items that do not exist are skipped and not counted."""
    before, after = example(1), full("m00001")
    booked = ("id", "access_count", "last_accessed", "accesses", "original")
    store.add([before, example(2)])
    for name, value in after.to_json().items():
        if name not in booked:
            expect(store.change([Change("m00001", {name: value}), Change("gone", {name: value})]), 1, "changes")
            before = replace(before, **{name: value})  # type: ignore[arg-type]
            expect(only(store, "m00001").to_json(), before.to_json(), name)
    expect(store.change([Change("m00001", {"embedding": None, "marked_at": None}), Change("m00001")]), 2, "changes")
    expect(only(store, "m00001").to_json(), replace(before, embedding=None, marked_at=None).to_json(), "taken away")
    expect(only(store, "m00002").to_json(), example(2).to_json(), "the other item")


def change_counts(store: Store, again: Callable[[], Store]) -> None:
    """Counts are added to, never below 0, and changes of one item are made in their order."""
    store.add([example(1, writes=5)])
    steps: list[Change] = [Change("m00001", by={"writes": 2, "sessions": -9, "reinforcements": 1}), Change("m00001", {"text": "one"})]
    steps += [Change("m00001", {"text": "two"}, {"writes": 1}), Change("m00001", {"writes": 100}), Change("m00001", by={"writes": 1})]
    expect(store.change(steps), 5, "changes")
    item = only(store, "m00001")
    expect((item.writes, item.sessions, item.reinforcements, item.text), (101, 0, 1, "two"), "counts and text")


def a_bad_change_changes_nothing(store: Store, again: Callable[[], Store]) -> None:
    """A change that is refused, or changes that break off, leave everything unchanged."""
    store.add([example(1), example(2)])
    impossible: list[dict[str, object]] = [
        {"id": "m3"}, {"accesses": [NOW]}, {"access_count": 1}, {"last_accessed": NOW}, {"original": True}, {"colour": 1},
        {"score": float("nan")}, {"score": 2.0}, {"text": ""}, {"tier": "X"}, {"embedding": [0.0]}, {"details": {"a": float("inf")}},
    ]  # fmt: skip
    wrong = [Change("m00002", to) for to in impossible]
    wrong += [Change("m00002", by={name: 1}) for name in ("access_count", "score")]
    wrong += [Change("m00002", by={"writes": 0.5}), Change("m00002", {"writes": 1}, {"writes": 1})]  # type: ignore[dict-item]
    good = Change("m00001", {"text": "changed", "score": 0.5}, {"writes": 1})
    for bad in wrong:
        refused(BadItem, lambda bad=bad: store.change([good, bad]), f"{bad!r:.100}")  # type: ignore[misc]

    def breaking_off() -> Iterator[Change]:
        yield good
        raise InterruptedError

    refused(InterruptedError, lambda: store.change(breaking_off()), "changes that break off")
    expect(only(store, "m00001").to_json(), example(1).to_json(), "the item")


def many_are_changed_at_once(store: Store, again: Callable[[], Store]) -> None:
    """Changes may be passed one by one, made from a scan of the same store."""
    store.add([example(number) for number in range(2100)])
    changes = (
        Change(item.id, {"score": 0.5, "tier": "COLD"} if int(item.id[1:]) % 3 else {"retention": 0.5}, {"writes": 1})
        for item in store.scan(marked=False)
    )
    expect(store.change(changes), 2100, "changes")
    for item in store.scan():
        wanted = ("COLD", 0.5, 1.0, 2) if int(item.id[1:]) % 3 else ("WARM", 0.0, 0.5, 2)
        expect((item.tier, item.score, item.retention, item.writes), wanted, item.id)


def counts_of_several_add_up(store: Store, again: Callable[[], Store]) -> None:
    """Additions to a count that several make at the same time add up."""
    store.add([example(1, writes=0)])
    at_once(store, again, lambda each, _: [each.change([Change("m00001", by={"writes": 1})]) for _ in range(15)])
    expect(only(store, "m00001").writes, 60, "writes")


def one_of_several_takes_an_id(store: Store, again: Callable[[], Store]) -> None:
    """Of several that add the same id at the same time, one succeeds, with all that it adds."""
    results = at_once(store, again, lambda each, number: each.add([example(100 + number), example(1, speaker=str(number))]))
    expect(sorted(map(str, results)), sorted(map(str, [None, *[DuplicateId] * 3])), "what the four got")
    expect(ids(store.scan()), ["m00001", f"m{100 + int(only(store, 'm00001').speaker):05d}"], "what is there")


def accesses_are_booked(store: Store, again: Callable[[], Store]) -> None:
    """An access counts once for each item, and its newest times are kept, even when the clock is set back."""
    store.add([example(1), example(2), example(3)])
    expect(store.access(["m00001", "gone", "m00002", "m00001", "\ud800"], NOW + 5, 3), 2, "items that were there")
    item = only(store, "m00001")
    expect((item.access_count, item.last_accessed, item.accesses, item.session), (1, NOW + 5, [NOW + 5], 3), "booked")
    store.access(["m00001"], NOW - 5, 2)
    item = only(store, "m00001")
    expect((item.access_count, item.last_accessed, item.accesses, item.session), (2, NOW + 5, [NOW - 5, NOW + 5], 3), "clock leapt back")
    for number in range(ACCESSES_KEPT):
        store.access(["m00001"], NOW + 10 + number)
    item = only(store, "m00001")
    expect((item.access_count, item.accesses), (2 + ACCESSES_KEPT, [NOW + 10 + n for n in range(ACCESSES_KEPT)]), "newest")
    expect(only(store, "m00003").to_json(), example(3).to_json(), "the other item")
    for at in (float("nan"), float("inf"), -1.0):
        refused(BadItem, lambda at=at: store.access(["m00003"], at), f"an access at {at}")  # type: ignore[misc]
    expect(only(store, "m00003").access_count, 0, "accesses")


def no_access_is_lost(store: Store, again: Callable[[], Store]) -> None:
    """No access is lost when several record accesses at the same time."""
    store.add([example(1), example(2)])
    at_once(store, again, lambda each, number: [each.access(["m00002", "m00001"][:: 1 - number % 2 * 2], NOW + number) for _ in range(15)])
    for item in (only(store, "m00001"), only(store, "m00002")):
        expect((item.access_count, len(item.accesses), item.last_accessed), (60, ACCESSES_KEPT, NOW + 3), item.id)


def a_batch_is_one(store: Store, again: Callable[[], Store]) -> None:
    """A batch does everything in it, in its order; where one part is refused, nothing of it is done."""
    store.add([example(1), example(2), example(3)])
    batch = Batch(
        add=[example(4), example(5)],
        change=[
            Change("m00004", {"text": "short", "level": "summary"}),
            Change("m00001", by={"writes": 1}),
            Change("gone", {"score": 0.5}),
        ],
        originals={"m00004": "long", "gone": "of nothing"},
        access=[(["m00004", "gone"], NOW + 1, 2), (["m00004"], NOW + 2, 3)],
        remove=["m00005", "m00002"],
        values={"lesson": {"a": 1}, "forgotten": None},
        log=[{"at": NOW, "action": "learnt", "id": "m00004"}],
    )
    for part in (
        {"add": [example(4), example(3)]},
        {"add": [example(6), example(6)]},
        {"change": [Change("m00001", {"text": ""})]},
        {"access": [(["m00001"], float("nan"), 0)]},
        {"values": {"lesson": float("nan")}},
        {"log": [{"action": float("nan")}]},
    ):
        refused((BadItem, DuplicateId), lambda part=part: store.write(replace(batch, **part)), f"{part!r:.60}")  # type: ignore[misc]
        expect([item.to_json() for item in store.scan()], [example(n).to_json() for n in (1, 2, 3)], f"items after {part!r:.60}")
        left = (store.original("m00004"), store.values(""), store.logged(), store.candidates(["zebra", "short"]).holding)
        expect(left, (None, {}, [], {"zebra": 3, "short": 0}), f"what was left by {part!r:.60}")
    store.set_value("forgotten", 1)
    store.write(batch)
    expect(ids(store.scan()), ["m00001", "m00003", "m00004"], "items")
    item = only(store, "m00004")
    expect((item.text, item.level, item.original, store.original("m00004")), ("short", "summary", True, "long"), "the original")
    expect((item.access_count, item.last_accessed, item.session, only(store, "m00001").writes), (2, NOW + 2, 3, 2), "counts")
    expect((store.values(""), len(store.logged("m00004"))), ({"lesson": {"a": 1}}, 1), "values and audit")
    store.write(Batch())


def expected_values_must_still_hold(store: Store, again: Callable[[], Store]) -> None:
    """A batch with expected values is written where the store still has them, and not at all where one has changed."""
    store.set_value("holds", [{"id": "h1"}])
    wrong: list[dict[str, object]] = [{"holds": []}, {"holds": None}, {"holds": [{"id": "h1"}], "other": 1}]
    for expected in wrong:
        batch = Batch(expected=expected, add=[example(1)], values={"holds": [], "other": 2}, log=[{"action": "added"}])
        refused(Outdated, lambda batch=batch: store.write(batch), f"{expected!r}")  # type: ignore[misc]
        expect(
            (ids(store.scan()), store.values(""), store.logged()), ([], {"holds": [{"id": "h1"}]}, []), f"what was done where {expected!r}"
        )
    store.write(Batch(expected={"holds": [{"id": "h1"}], "other": None}, add=[example(1)]))
    expect((ids(store.scan()), store.values("")), (["m00001"], {"holds": [{"id": "h1"}]}), "what was done where it holds")


def concurrent_counts_are_not_lost(store: Store, again: Callable[[], Store]) -> None:
    """No count is lost when several writers count up from a value that they have read."""

    def count_up(each: Store) -> None:
        while True:
            seen = each.value("count")
            try:
                each.write(Batch(expected={"count": seen}, values={"count": (seen if isinstance(seen, int) else 0) + 1}))
                return
            except Outdated:
                continue

    def count_five_up(each: Store, _: int) -> None:
        for _ in range(5):
            count_up(each)

    at_once(store, again, count_five_up)
    expect(store.value("count"), 20, "the count")


CONTRACTS = (
    change_sets_fields,
    change_counts,
    a_bad_change_changes_nothing,
    many_are_changed_at_once,
    counts_of_several_add_up,
    one_of_several_takes_an_id,
    accesses_are_booked,
    no_access_is_lost,
    a_batch_is_one,
    expected_values_must_still_hold,
    concurrent_counts_are_not_lost,
)
