"""The contracts of items: adding, getting, scanning, removing."""

from __future__ import annotations

from dataclasses import replace

from ..memory.items import DIMENSIONS, BadItem, Item
from ..memory.stores.protocol import Change, DuplicateId
from .checking import NOW, example, expect, full, ids, only, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..memory.stores.protocol import Store

# Texts that have broken programs: SQL, Cypher, Lucene, JSON, markup, controls, astral and combining characters, directions.
HOSTILE = (
    "'; DROP TABLE items; -- zebra",
    "}) DETACH DELETE n // zebra",
    'zebra" OR "1"="1',
    "zebra AND NOT (x OR y)~2 ^3 [a TO b] +- && || !",
    '{"zebra": null}',
    "$zebra `zebra` {zebra} \\",
    "zebra\r\n\t\x01\x7f\u2028\ufeff",
    "\U0001f993 zebra \U0001f469\u200d\U0001f4bb",
    "ze\u0301bra Zebra",
    "\u202eزيبرا zebra",
    "斑馬 zebra 斑马",
    "%_*?[]^$ zebra",
    "zebra " * 20_000,
)


def every_field_comes_back(store: Store, again: Callable[[], Store]) -> None:
    """All fields come back as they were stored, to the last bit; `original` says what the store keeps."""
    plain = Item("plain", "text")
    single = replace(full("single"), embedding=[0.5] * DIMENSIONS, original=True, marked_at=None)
    items = [plain, full(), single, replace(full("bare"), level="embedding", text="")]
    items += [replace(full(by), marked_by=by) for by in ("job", "tool", "policy")]
    store.add(items)
    for item in items:
        expect(only(store, item.id).to_json(), replace(item, original=False).to_json(), item.id)


def get_keeps_the_order(store: Store, again: Callable[[], Store]) -> None:
    """Items come back in the order of the ids; missing ones are left out, whatever the id."""
    store.add([example(number) for number in range(1200)])
    wanted = ["m00007", "none", "m01100", "m00003", "", "\0", "\ud800", "x" * 100_000, "' OR 1=1 --", "m00000"]
    expect(ids(store.get(wanted)), ["m00007", "m01100", "m00003", "m00000"], "get")
    expect(ids(store.get([f"m{number:05d}" for number in range(1300)])), [f"m{number:05d}" for number in range(1200)], "get")
    expect(store.get([]), [], "get of nothing")


def an_id_is_taken_once(store: Store, again: Callable[[], Store]) -> None:
    """An id that already exists, or occurs twice, is refused, and nothing is added."""
    store.add([example(1, text="the first")])
    refused(DuplicateId, lambda: store.add([example(2), example(1, text="another")]), "an id that is there")
    refused(DuplicateId, lambda: store.add([example(3), example(3)]), "an id that is given twice")
    expect(ids(store.scan()), ["m00001"], "what is there")
    expect(only(store, "m00001").text, "the first", "text")


def invalid_items_are_refused(store: Store, again: Callable[[], Store]) -> None:
    """Invalid items are refused, and nothing is added."""
    nan = float("nan")
    wrong: list[dict[str, object]] = [
        {"text": ""}, {"text": "a\0b"}, {"text": "\ud800"}, {"text": "x" * 1_000_001}, {"id": ""}, {"tier": "LUKEWARM"}, {"writes": -1},
        {"score": nan}, {"retention": 1.5}, {"created_at": -1.0}, {"embedding": [0.0] * 383}, {"embedding": [nan] * DIMENSIONS},
        {"details": {"a": nan}},
    ]  # fmt: skip
    for fields in wrong:
        items = [example(1), example(**{"number": 2, **fields})]  # type: ignore[arg-type]
        refused(BadItem, lambda items=items: store.add(items), f"{fields!r:.60}")  # type: ignore[misc]
    expect(ids(store.scan()), [], "what is there")


def nothing_is_shared(store: Store, again: Callable[[], Store]) -> None:
    """Changing an item outside of the store does not change it in the store."""
    item = example(1, accesses=[1.0], details={"a": [1]}, embedding=[0.5] * DIMENSIONS)
    store.add([item])
    stored = only(store, "m00001")
    for each in (item, stored, next(iter(store.scan()))):
        each.text = "changed"
        each.accesses.append(2.0)
        each.details["b"] = 1
        (each.embedding or [0.0])[0] = 0.75
    unchanged = only(store, "m00001")
    expect((unchanged.text, unchanged.accesses, unchanged.details), ("item1 zebra", [1.0], {"a": [1]}), "fields")
    expect(unchanged.embedding, [0.5] * DIMENSIONS, "embedding")


def hostile_texts_come_back(store: Store, again: Callable[[], Store]) -> None:
    """Any text is stored unchanged, in whatever field, and found by its terms."""
    items = [example(number, text=text, project=text[:99], episode=text[:99], place=1) for number, text in enumerate(HOSTILE)]
    store.add(items)
    for item in items:
        stored = only(store, item.id)
        expect((stored.text, stored.project, stored.episode), (item.text, item.project, item.episode), "texts")
        expect(ids(store.scan(project=item.project)), [item.id], f"scan of {item.project!r:.60}")
        expect(ids(store.candidates(["zebra"], item.project).items), [item.id], f"candidates of {item.project!r:.60}")
        expect(ids(store.around([(item.episode, 1)])), [item.id], "around")
        expect(store.totals(item.project)[0].items, 1, "totals")
    for terms in (['"'], ["a OR b", "*"], ["NOT", "~2"], ["zebra\\"], ["'", "--"], ["(", ""], ["}) RETURN 1"]):
        expect(ids(store.candidates(terms).items), [], f"candidates for {terms}")


def scan_goes_by_id(store: Store, again: Callable[[], Store]) -> None:
    """A scan yields every item once, by id in the order of code points, however many there are."""
    odd = ["Z", "a", "é", "\uffee", "\U0001f993", "~", "0 1", "ab"]
    items = [example(number, id=id) for number, id in enumerate(odd)] + [example(number) for number in range(10, 1610)]
    store.add(items[::-1])
    expect(ids(store.scan()), sorted(item.id for item in items), "scan")


def scan_chooses(store: Store, again: Callable[[], Store]) -> None:
    """A scan yields the items of a project, of these kinds and tiers, marked or not, and no others."""
    fields = [
        {"project": project, "kind": kind, "tier": tier, "marked_at": marked}
        for project in ("", "a", "A", "b")
        for kind in ("note", "path", "own")
        for tier in ("HOT", "COLD")
        for marked in (None, NOW)
    ]
    items = [example(number, **each) for number, each in enumerate(fields)]
    store.add(items)
    for project in (None, "", "a", "c"):
        for kinds in ((), ("note",), ("own", "path")):
            for tiers in ((), ("HOT", "ARCHIVE")):
                for marked in (None, True, False):
                    wanted = [
                        item.id
                        for item in items
                        if project in (None, item.project)
                        and (not kinds or item.kind in kinds)
                        and (not tiers or item.tier in tiers)
                        and (marked is None or (item.marked_at is not None) == marked)
                    ]
                    expect(ids(store.scan(project, kinds, tiers, marked)), wanted, f"scan of {project}, {kinds}, {tiers}, {marked}")


def a_bare_scan_leaves_embeddings_out(store: Store, again: Callable[[], Store]) -> None:
    """A bare scan yields the same items as a scan, without the embeddings, which stay in the store."""
    store.add([example(1), full(), replace(full("m00002"), project="a", marked_at=None)])
    for chosen in ({}, {"project": "a"}, {"marked": True}, {"kinds": ("note",), "tiers": ("WARM",)}):
        wanted = [replace(item, embedding=None) for item in store.scan(**chosen)]
        expect(list(store.scan(**chosen, bare=True)), wanted, f"bare scan of {chosen}")
    expect(only(store, "full").embedding, full().embedding, "the embedding")


def scan_goes_on_while_things_change(store: Store, again: Callable[[], Store]) -> None:
    """Items that are changed during a scan are yielded at most once, unchanged ones exactly once."""
    store.add([example(number) for number in range(1500)])
    met: list[str] = []
    for item in store.scan(tiers=("WARM",)):
        met.append(item.id)
        number = int(item.id[1:])
        if number % 500 == 250:
            removed = [f"m{other:05d}" for other in (number - 200, number + 240)]
            store.remove(removed)
            store.change(
                [Change(f"m{other:05d}", {"tier": "HOT", "text": "zebra again"}) for other in (number - 100, number, number + 245)]
            )
            store.add([example(20_000 + number), example(0, id=f"a{number}")])
    expect(len(met), len(set(met)), "items met")
    changed = {f"m{at + by:05d}" for at in (250, 750, 1250) for by in (-200, 240, -100, 0, 245)}
    missing = {f"m{number:05d}" for number in range(1500)} - changed - set(met)
    expect(missing, set(), "items not met")


def removed_items_are_deleted(store: Store, again: Callable[[], Store]) -> None:
    """A removed item is deleted for good, with its original and its words."""
    store.add([example(number, episode="e", place=number) for number in range(4)])
    store.keep_original("m00001", "the whole text")
    expect(store.remove(["m00001", "gone", "m00002", "m00001", "\ud800"]), 2, "items that were there")
    expect(ids(store.scan()), ["m00000", "m00003"], "what is there")
    expect(store.original("m00001"), None, "the original")
    result = store.candidates(["zebra", "item1"])
    expect((sorted(ids(result.items)), result.total, result.holding), (["m00000", "m00003"], 2, {"zebra": 2, "item1": 0}), "found")
    expect(ids(store.around([("e", 1)])), [], "around")
    expect(sum(total.items for total in store.totals()), 2, "totals")
    store.add([example(1)])
    expect((only(store, "m00001").original, store.original("m00001")), (False, None), "added again: the original")


def originals_are_kept(store: Store, again: Callable[[], Store]) -> None:
    """The full text of an item is kept to the last character, whatever becomes of the item's own text."""
    store.add([example(number) for number in range(3)])
    for text in ("", "line\r\n\0 \ud800 \U0001f993", "0123456789" * 100_000):
        store.keep_original("m00001", text)
        store.change([Change("m00001", {"text": "short", "level": "summary"})])
        expect((store.original("m00001"), only(store, "m00001").original), (text, True), "the original")
    store.keep_original("gone", "of nothing")
    expect([store.original(id) for id in ("m00002", "gone", "\ud800")], [None, None, None], "originals that never were")
    expect([item.original for item in store.scan()], [False, True, False], "items that have one")


CONTRACTS = (
    every_field_comes_back,
    get_keeps_the_order,
    an_id_is_taken_once,
    invalid_items_are_refused,
    nothing_is_shared,
    hostile_texts_come_back,
    scan_goes_by_id,
    scan_chooses,
    a_bare_scan_leaves_embeddings_out,
    scan_goes_on_while_things_change,
    removed_items_are_deleted,
    originals_are_kept,
)
