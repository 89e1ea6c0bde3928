"""The contracts of stores of vectors."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

from ..memory.vectors.protocol import PLACES, Vector
from .checking import NotConforming, expect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..memory.vectors.protocol import VectorStore

E, OTHER = "model-a/3", "model-b/3"
EAST = (1.0, 0.0, 0.0)
# Names that a careless query takes for one another, or for a pattern.
USERS = ("ana", "Ana", "ana ", "an_", "%", "*", "", "'", "bo\u0301", "b\u00f3", "a:b", "\U0001f600")


def at(id: str, degrees: float, embedder: str = E, **fields: str) -> Vector:
    """Return a vector so many degrees north of EAST."""
    angle = math.radians(degrees)
    return Vector(id, (math.cos(angle), math.sin(angle), 0.0), embedder, **fields)


def found(store: VectorStore, most: int = 100, embedder: str = E, **within: str) -> list[str]:
    """Return the ids of what is nearest to EAST."""
    return [id for id, _ in store.nearest(EAST, embedder, most, within)]


def an_empty_store_finds_nothing(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A fresh store has no vectors, and nothing to remove."""
    store.put([])
    store.remove(["gone"])
    expect((store.nearest(EAST, E, 5, {}), store.stamps(), store.stamps(["gone"]), store.stamps([])), ([], {}, {}, {}), "answers")


def the_nearest_come_first(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """The nearest vectors come first, each with its cosine; equally near ones by their ids."""
    store.put([at("far", 170), at("c", 40), at("near", -10), at("b", 40), at("a", 40), at("across", 90), at("B", 40)])
    answers = store.nearest(EAST, E, 100, {})
    expect([id for id, _ in answers], ["near", "B", "a", "b", "c", "across", "far"], "the order")
    for id, likeness in answers:
        degrees = {"near": 10, "across": 90, "far": 170}.get(id, 40)
        if not math.isclose(likeness, math.cos(math.radians(degrees)), abs_tol=1e-5):
            raise NotConforming(f"the cosine of {id}, {degrees} degrees away, is not {likeness!r:.40}")


def zeros_are_like_nothing(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A vector of zeros has the cosine 0 to every other one."""
    store.put([Vector("zeros", (0.0, 0.0, 0.0), E), at("near", 10), at("far", 170)])
    expect(found(store), ["near", "zeros", "far"], "the order")
    expect([likeness for id, likeness in store.nearest(EAST, E, 3, {}) if id == "zeros"], [0.0], "the cosine of zeros")
    expect({likeness for _, likeness in store.nearest((0.0, 0.0, 0.0), E, 3, {})}, {0.0}, "cosines to zeros")


def never_more_than_asked_for(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A query returns at most as many as it asks for: the nearest."""
    store.put([at(f"v{number:03}", number / 2) for number in range(300)])
    for most in (1, 7, 299, 300, 5_000):
        expect(found(store, most), [f"v{number:03}" for number in range(min(most, 300))], f"the nearest {most}")


def as_many_as_there_are_in_the_place(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """As many as are asked for are found within a place, however many nearer ones there are elsewhere."""
    store.put([at(f"hers{number:03}", number / 100, user_id="ana") for number in range(600)])
    store.put([at(f"his{number}", 100 + number, user_id="bo") for number in range(5)])
    expect(found(store, 3, user_id="bo"), ["his0", "his1", "his2"], "three of five")
    expect(len(found(store, 10, user_id="bo")), 5, "all of five")


def places_are_apart(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A query within a place returns vectors of no other: names are compared exactly, every one that is given, and one that no vector has
    finds nothing."""
    for field in PLACES:
        store.put([at(f"{field}{number}", number, **{field: user}) for number, user in enumerate(USERS) if user])
    for field in PLACES:
        for number, user in enumerate(USERS):
            if user:
                expect(found(store, 100, E, **{field: user}), [f"{field}{number}"], f"within {field} {user!r}")
        expect(len(found(store, 100, E, **{field: ""})), (len(USERS) - 1) * (len(PLACES) - 1), f"within no {field}")
        expect(found(store, 100, E, **{field: "nobody"}), [], f"within a {field} that is not there")
    store.put([at("both", 5, user_id="ana", session_id="1", project="p"), at("one", 5, user_id="ana", session_id="2", project="p")])
    expect(found(store, user_id="ana", session_id="1"), ["both"], "within two")
    expect(found(store, user_id="ana", session_id="1", project="q"), [], "within three of which one is another")
    expect(found(store, project="p"), ["both", "one"], "within the project alone")


def embedders_are_apart(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """Vectors of another embedder are not compared, whatever their length."""
    store.put([at("a", 10), at("b", 0, OTHER), Vector("c", (1.0, 0.0), "model-c/2"), Vector("d", (1.0,) * 5, "model-d/5")])
    expect(found(store), ["a"], "of one embedder")
    expect(found(store, embedder=OTHER), ["b"], "of the other")
    expect([id for id, _ in store.nearest((0.0, 1.0), "model-c/2", 5, {})], ["c"], "of shorter vectors")
    expect(found(store, embedder="model-e/3"), [], "of none")


def a_vector_takes_the_place_of_another(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A vector takes the place of the one that its item has: of its numbers, its embedder, its stamp and all of its places."""
    store.put([at("a", 10, stamp="1", user_id="ana", project="p"), at("b", 20, stamp="1", user_id="ana")])
    store.put([at("a", 90, OTHER, stamp="2", user_id="bo")])
    expect((found(store), found(store, embedder=OTHER)), (["b"], ["a"]), "embedders")
    expect(store.stamps(), {"a": "2", "b": "1"}, "stamps")
    expect(found(store, embedder=OTHER, user_id="ana"), [], "within the former place")
    expect(found(store, embedder=OTHER, project="p"), [], "within the former project")
    store.put([at("b", 30), at("b", 40, stamp="3"), at("b", 50, stamp="4")])
    expect((found(store), store.stamps(["b"])), (["b"], {"b": "4"}), "the last of several")
    ((_, likeness),) = store.nearest(EAST, E, 1, {})
    expect(round(likeness, 3), 0.643, "its cosine")


def what_is_removed_is_gone(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A removed vector is found by no query, and has no stamp; the others stay, and it may come back."""
    store.put([at(f"v{number}", number, user_id="ana") for number in range(5)])
    store.remove(["v1", "v3", "gone", "v1"])
    expect((found(store), found(store, user_id="ana")), (["v0", "v2", "v4"],) * 2, "what is left")
    expect((sorted(store.stamps()), store.stamps(["v1"])), (["v0", "v2", "v4"], {}), "stamps")
    store.put([at("v1", 1)])
    expect(found(store), ["v0", "v1", "v2", "v4"], "once it came back")


def stamps_come_back(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """Stamps come back as they were put, by ids, whatever these look like."""
    names = ["a", "A", "a'b", 'a"b', "%", "a;--", ":id", "\u00e9", "e\u0301", "\U0001f600", "x" * 200]
    stamps = {id: f"stamp {number} of {id}" for number, id in enumerate(names)}
    store.put([at(id, 1, stamp=stamp) for id, stamp in stamps.items()])
    expect(store.stamps(), stamps, "all")
    expect(store.stamps([*names[3:7], "gone"]), {id: stamps[id] for id in names[3:7]}, "some")
    expect(sorted(found(store)), sorted(names), "ids")


def a_bad_vector_changes_nothing(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A put that fails leaves everything unchanged."""
    store.put([at("a", 10, stamp="1")])
    bad = Vector("b", ("north", 0.0, 0.0), E)  # type: ignore[arg-type]
    try:
        store.put([at("a", 20, stamp="2"), at("c", 30), bad])
    except Exception:  # noqa: BLE001  any
        expect((store.stamps(), found(store)), ({"a": "1"}, ["a"]), "what is there")
        return
    raise NotConforming("numbers that are none are not refused")


def thousands_at_once(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """Thousands of vectors are put, asked for and removed by one call each."""
    vectors = [at(f"v{number:04}", number / 50, stamp=str(number)) for number in range(2_100)]
    store.put(vectors)
    expect(len(store.stamps([vector.id for vector in vectors])), 2_100, "stamps")
    store.remove([vector.id for vector in vectors[:2_099]])
    expect(found(store), ["v2099"], "what is left")


def several_lose_nothing(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """Several that put, remove and ask at the same time lose nothing, and each sees what it has just done."""

    def work(number: int) -> list[str]:
        mine, seen = again(), []
        try:
            for turn in range(8):
                mine.put([at(f"{number}-{turn}", turn, user_id=str(number)), at("shared", turn, stamp=str(number))])
                mine.remove([f"{number}-{turn - 1}"] if turn % 2 else [])
                seen += [id for id in found(mine, user_id=str(number)) if id == f"{number}-{turn}"]
            return seen
        finally:
            if mine is not store:
                mine.close()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4)))
    expect(results, [[f"{number}-{turn}" for turn in range(8)] for number in range(4)], "what each saw")
    expect(sorted(store.stamps()), sorted(["shared", *(f"{n}-{turn}" for n in range(4) for turn in range(1, 8, 2))]), "what is there")


def it_is_closed_twice(store: VectorStore, again: Callable[[], VectorStore]) -> None:
    """A store that is closed may be closed again."""
    mine = again()
    mine.close()
    mine.close()


CONTRACTS = (
    an_empty_store_finds_nothing,
    the_nearest_come_first,
    zeros_are_like_nothing,
    never_more_than_asked_for,
    as_many_as_there_are_in_the_place,
    places_are_apart,
    embedders_are_apart,
    a_vector_takes_the_place_of_another,
    what_is_removed_is_gone,
    stamps_come_back,
    a_bad_vector_changes_nothing,
    thousands_at_once,
    several_lose_nothing,
    it_is_closed_twice,
)
