"""The contracts of queries: searches, totals, values kept beside the items."""

from __future__ import annotations

from popkit_retention.core.policy.estimate import estimate_tokens

from ..memory.filters import matches, where_of
from ..memory.items import DIMENSIONS, BadItem
from ..memory.stores.protocol import Change, Total
from ..memory.terms import terms_of
from .checking import NOW, example, expect, full, ids, only, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..memory.stores.protocol import Store


def candidates_hold_the_terms(store: Store, again: Callable[[], Store]) -> None:
    """A search finds items with any of its terms, the most informative first, and what ranking needs to know."""
    texts = ["red apple", "green apple tree apple", "red house", "blue", "apple of red utils/foo_bar.py"]
    store.add([example(number, text=text, project="p") for number, text in enumerate(texts)])
    spoken = [terms_of(text) for text in texts]
    result = store.candidates([*terms_of("red foo_bar apple"), "nowhere", "red"], "p")
    expect(ids(result.items)[:2], ["m00004", "m00000"], "the best")
    expect(sorted(ids(result.items)), ["m00000", "m00001", "m00002", "m00004"], "candidates")
    expect(result.total, 5, "total")
    expect(round(result.mean_length, 9), round(sum(map(len, spoken)) / 5, 9), "mean length")
    wanted = {term: sum(term in each for each in spoken) for term in [*terms_of("red foo_bar apple"), "nowhere"]}
    expect(result.holding, wanted, "how many hold each term")
    expect(result.items[0].to_json(), only(store, "m00004").to_json(), "the item")
    nothing = store.candidates([], "p")
    expect((nothing.items, nothing.total, nothing.holding), ([], 5, {}), "a search for nothing")


def projects_are_apart(store: Store, again: Callable[[], Store]) -> None:
    """A search in one project sees nothing of others; a search in all projects sees everything."""
    store.add([example(number, project=("a", "b", "A")[number % 3], text="zebra " + "word " * number) for number in range(9)])
    result = store.candidates(["zebra"], "a")
    expect((sorted(ids(result.items)), result.total, result.holding), (["m00000", "m00003", "m00006"], 3, {"zebra": 3}), "in one")
    expect(result.mean_length, 4.0, "mean length")
    result = store.candidates(["zebra", "word"])
    expect((len(result.items), result.total, result.holding), (9, 9, {"zebra": 9, "word": 8}), "in all")
    result = store.candidates(["zebra"], "c")
    expect((result.items, result.total, result.mean_length, result.holding), ([], 0, 0.0, {"zebra": 0}), "in none")


def conditions_choose(store: Store, again: Callable[[], Store]) -> None:
    """A scan and a search give the items that meet all conditions of a filter, and no others, also after a change."""
    ages: list[object] = [None, 7, 7.5, True, 1, "7", "é", {"a": 1}]
    items = [
        example(
            number,
            text="zebra " + "word " * (number % 3),
            user_id=("", "ana", "Ana", "bo")[number % 4],
            agent_id="bot" if number % 2 else "",
            created_at=NOW - number,
            expires_at=NOW + number if number % 5 else None,
            metadata={} if number % 8 == 0 else {"age": ages[number % 8], 'a"b': number},
        )
        for number in range(40)
    ]
    store.add(items)
    filters: list[dict[str, object]] = [
        {"user_id": "ana"}, {"user_id": ""}, {"user_id": "nobody"}, {"user_id": {"in": ["ana", "bo"]}}, {"user_id": {"in": []}},
        {"user_id": "bo", "agent_id": "bot"}, {"created_at": {"gte": NOW - 9, "lt": NOW - 2}}, {"expires_at": None},
        {"expires_at": {"gt": NOW + 30}}, {"metadata.age": 7}, {"metadata.age": True}, {"metadata.age": 1}, {"metadata.age": None},
        {"metadata.age": {"gt": 6}}, {"metadata.age": {"lte": "7"}}, {"metadata.age": {"in": [None, "é", 7.5]}}, {"metadata.none": None},
        {"metadata.none": {"lt": 1}}, {"kind": "note", "speaker": ""}, {"confidence": {"lt": 1}},
    ]  # fmt: skip
    for filter in filters:
        where = where_of(filter)
        wanted = [item.id for item in items if matches(item, where)]
        expect(ids(store.scan(where=where)), wanted, f"scan of {filter}")
        expect(sorted(ids(store.candidates(["zebra"], where=where).items)), wanted, f"candidates of {filter}")
    store.change([Change("m00001", {"user_id": "bo", "metadata": {"age": 8}})])
    changed: list[tuple[dict[str, object], bool]] = [({"user_id": "ana"}, False), ({"user_id": "bo"}, True), ({"metadata.age": 8}, True)]
    for filter, there in changed:
        where = where_of(filter)
        found = ("m00001" in ids(store.scan(where=where)), "m00001" in ids(store.candidates(["zebra"], where=where).items))
        expect(found, (there, there), f"what {filter} finds after the change")


def a_scope_has_its_best_among_many(store: Store, again: Callable[[], Store]) -> None:
    """In a scope of few items, all that have a term are found, however many others have it."""
    store.add([example(number, text="zebra word", user_id=f"user {number % 350}") for number in range(3500)])
    store.add([example(5000, text="zebra lion", user_id="another")])
    where = where_of({"user_id": "user 7"})
    found = store.candidates(["zebra", "lion"], most=20, where=where)
    expect(sorted(ids(found.items)), [f"m{7 + 350 * turn:05d}" for turn in range(10)], "candidates")


def a_document_has_a_shortlist(store: Store, again: Callable[[], Store]) -> None:
    """Of a small project the shortlist has everything, of a large one what is pinned and of each kind what was used most and last."""
    items = [
        example(
            number,
            project="p" if number % 10 else "q",
            kind=("note", "order", "path")[number % 3],
            sessions=number % 7,
            session=number * 13 % 11,
            created_at=NOW - number % 5,
            held=number % 37 == 0,
            source="agent" if number % 17 == 0 else "user",
            level="embedding" if number % 19 == 0 else "full",
            marked_at=NOW if number % 23 == 0 else None,
            expires_at=NOW + number - 30 if number % 29 == 0 else None,
            user_id="ana" if number % 4 else "",
            metadata={"even": number % 2 == 0},
            embedding=[0.5] * DIMENSIONS if number % 31 == 0 else None,
        )
        for number in range(200)
    ]
    store.add(items)
    filters: list[dict[str, object]] = [{}, {"user_id": "ana"}, {"metadata.even": True}, {"user_id": "ana", "kind": "note"}]
    for filter in filters:
        where = where_of(filter)
        fitting = [item for item in items if item.project == "p" and matches(item, where)]
        everything = store.shortlist("p", NOW, where, whole=len(fitting))
        expect((ids(everything.items), everything.is_partial), ([item.id for item in fitting], False), f"shortlist of all of {filter}")
        expect([item.embedding for item in everything.items], [None] * len(fitting), "embeddings")
        listable = [item for item in fitting if item.marked_at is None and item.source != "agent" and item.level != "embedding"]
        listable = [item for item in listable if not item.has_expired(NOW)]
        wanted = {item.id for item in listable if item.held}
        for kind in ("note", "order", "path"):
            of_kind = [item for item in listable if item.kind == kind]
            most = sorted(of_kind, key=lambda item: (-item.sessions, -item.created_at, item.id))
            last = sorted(of_kind, key=lambda item: (-item.session, -item.created_at, item.id))
            wanted.update(item.id for item in (*most[:4], *last[:4]))
        best = store.shortlist("p", NOW, where, whole=len(fitting) - 1, of_each_kind=4)
        expect((ids(best.items), best.is_partial), (sorted(wanted), True), f"shortlist of {filter}")
        expect([item.embedding for item in best.items], [None] * len(wanted), "embeddings")


def marked_items_are_not_found(store: Store, again: Callable[[], Store]) -> None:
    """Items that are marked for deletion are neither found nor counted, until the mark is taken back."""
    store.add([example(1), example(2, text="zebra zebra zebra"), example(3, marked_at=NOW)])
    for marked, there in ((NOW, ["m00001"]), (NOW + 1, ["m00001"]), (None, ["m00001", "m00002"])):
        store.change([Change("m00002", {"marked_at": marked})])
        result = store.candidates(["zebra"])
        expect((sorted(ids(result.items)), result.total, result.holding), (there, len(there), {"zebra": len(there)}), f"marked at {marked}")
        expect(result.mean_length, 2.0 if marked else 2.5, "mean length")


def searches_follow_changes(store: Store, again: Callable[[], Store]) -> None:
    """An item is found by the text and the project that it has now."""
    store.add([example(number, project="p") for number in range(3)])
    store.change([Change("m00001", {"text": "lion"}), Change("m00001", {"text": "tiger tiger"}), Change("m00002", {"project": "q"})])
    result = store.candidates(["zebra", "lion", "tiger"], "p")
    expect((sorted(ids(result.items)), result.total), (["m00000", "m00001"], 2), "found in p")
    expect((result.holding, result.mean_length), ({"zebra": 1, "lion": 0, "tiger": 1}, 2.0), "counted in p")
    expect(ids(store.candidates(["zebra"], "q").items), ["m00002"], "found in q")


def the_best_are_among_many(store: Store, again: Callable[[], Store]) -> None:
    """Among many items with some of the terms, those with the rare one, or with all of them, are found."""
    words = ("one", "two", "six")
    many = [example(number, text=f"{words[number % 3]} item") for number in range(900)]
    store.add([example(5000, text="one two six"), *many, example(5001, text="rare item")])
    result = store.candidates(["one", "two", "six", "rare"], most=20)
    expect(len(result.items), 20, "how many")
    expect(sorted(ids(result.items)[:2]), ["m05000", "m05001"], "the best")
    expect(result.holding, {"one": 301, "two": 301, "six": 301, "rare": 1}, "how many hold each term")


def places_give_their_items(store: Store, again: Callable[[], Store]) -> None:
    """The items at some places come in the order of the places, at one place by id; outside of episodes there are no places."""
    fields = [("e", 1), ("e", 2), ("f", 2), ("e", 2), ("", 0), ("E", 2)]
    store.add([example(number, episode=episode, place=place) for number, (episode, place) in enumerate(fields)])
    expect(ids(store.around([("f", 2), ("e", 2), ("none", 1), ("", 0), ("e", 3), ("e", 2)])), ["m00002", "m00001", "m00003"], "around")
    store.add([example(100 + number, episode="long", place=number) for number in range(700)])
    places = [("long", number) for number in reversed(range(700))]
    expect(ids(store.around(places)), [f"m{100 + number:05d}" for _, number in places], "around many")


def totals_add_up(store: Store, again: Callable[[], Store]) -> None:
    """Totals count items and tokens by project, tier and level, and follow changes."""
    short, long = "x" * 29, "y" * 290
    store.add([example(number, text=short, project="pq"[number % 2], tier=("HOT", "COLD")[number // 4]) for number in range(8)])
    each, more = estimate_tokens(short), estimate_tokens(long)
    expect(store.totals("p"), [Total("p", "COLD", "full", 2, 2 * each), Total("p", "HOT", "full", 2, 2 * each)], "totals of p")
    store.change([Change("m00000", {"text": long, "level": "summary"}), Change("m00002", {"tier": "COLD", "marked_at": NOW})])
    wanted = [Total("p", "COLD", "full", 3, 3 * each), Total("p", "HOT", "summary", 1, more)]
    expect(store.totals("p"), wanted, "totals of p")
    expect(store.totals(), [*wanted, Total("q", "COLD", "full", 2, 2 * each), Total("q", "HOT", "full", 2, 2 * each)], "totals")
    expect(store.totals("r"), [], "totals of nothing")


def values_come_back(store: Store, again: Callable[[], Store]) -> None:
    """Values are JSON; None deletes one; a prefix is matched literally."""
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
    """Entries of the audit come newest first, in the order in which they were appended, for one item or for all."""
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
    """The newest entries of the audit are kept, as many as requested; later entries follow them."""
    expect(store.shorten_log(3), 0, "entries of an empty audit that were deleted")
    store.log([{"at": NOW - number, "action": str(number), "id": "ab"[number % 2]} for number in range(2500)])
    expect([store.shorten_log(2500), store.shorten_log(4), store.shorten_log(4)], [0, 2496, 0], "entries that were deleted")
    expect([entry["action"] for entry in store.logged()], ["2499", "2498", "2497", "2496"], "entries that are left")
    expect([entry["action"] for entry in store.logged("a")], ["2498", "2496"], "entries of one item that are left")
    store.log([{"at": NOW, "action": "new", "id": "a"}])
    expect([entry["action"] for entry in store.logged(most=2)], ["new", "2499"], "the newest")
    expect((store.shorten_log(0), store.logged()), (5, []), "all entries deleted")


def others_see_changes(store: Store, again: Callable[[], Store]) -> None:
    """A change is visible to others at once."""
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
    """A store that was only used correctly reports no problems."""
    store.add([example(number, project="pq"[number % 2], episode="e", place=number) for number in range(30)])
    store.add([full()])
    store.keep_original("m00001", "whole")
    store.change([Change(f"m{number:05d}", {"text": f"lion {number}", "project": "r"}, {"writes": 1}) for number in range(5, 12)])
    store.change([Change("m00002", {"marked_at": NOW}), Change("m00003", {"embedding": [0.25] * DIMENSIONS})])
    store.access(["m00002", "m00004"], NOW)
    store.remove(["m00005", "m00001", "m00029"])
    expect(store.verify(), [], "verify")


def compacting_keeps_everything(store: Store, again: Callable[[], Store]) -> None:
    """A store that returns space to the system keeps and finds everything, and stays usable."""
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
    result = store.candidates(["zebra", "item9", "item299"])
    expect((result.total, result.holding), (11, {"zebra": 11, "item9": 1, "item299": 0}), "what is found")
    expect(store.verify(), [], "verify")


CONTRACTS = (
    candidates_hold_the_terms,
    projects_are_apart,
    conditions_choose,
    a_scope_has_its_best_among_many,
    a_document_has_a_shortlist,
    marked_items_are_not_found,
    searches_follow_changes,
    the_best_are_among_many,
    places_give_their_items,
    totals_add_up,
    values_come_back,
    the_log_is_kept,
    the_log_is_shortened,
    others_see_changes,
    a_sound_store_has_nothing_wrong,
    compacting_keeps_everything,
)
