"""LangGraph's store over a memory: it keeps what LangGraph promises of any store, which its own in-memory store shows."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from popkit_retention.memory import BadItem, InMemoryStore, Memory, SqliteStore

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from popkit_retention.adapters.langgraph import PopkitStore

pytestmark = pytest.mark.skipif(find_spec("langgraph") is None, reason="langgraph is not installed: it needs Python 3.10")

ANA, BEN = ("users", "ana"), ("users", "ben")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(SqliteStore(tmp_path / "memory.sqlite"), "agent") as memory:
        yield memory


@pytest.fixture(scope="module")
def base() -> ModuleType:
    """LangGraph's words for what a store is asked."""
    return importlib.import_module("langgraph.store.base")


@pytest.fixture(scope="module")
def opened() -> type[PopkitStore]:
    """Our store, whose package takes half a second to load."""
    from popkit_retention.adapters.langgraph import PopkitStore

    return PopkitStore


@pytest.fixture
def store(memory: Memory, opened: type[PopkitStore]) -> PopkitStore:
    return opened(memory)


@pytest.fixture(params=["theirs", "in memory", "sqlite"])
def any_store(request: pytest.FixtureRequest, memory: Memory, opened: type[PopkitStore]) -> BaseStore:
    """The reference, and ours over two stores: all of them keep the same promises."""
    if request.param == "theirs":
        from langgraph.store.memory import InMemoryStore as TheirStore

        return TheirStore()
    return opened(memory if request.param == "sqlite" else Memory(InMemoryStore(), "agent"))


def found(items: list[Any]) -> set[tuple[tuple[str, ...], str]]:
    return {(item.namespace, item.key) for item in items}


def test_a_value_comes_back_as_it_was_put_and_a_missing_key_is_none(any_store: BaseStore) -> None:
    value = {"theme": "dark", "sizes": [1, 2.5, None, True], "nested": {"ключ": "значение"}, "": ""}
    any_store.put(ANA, "prefs", value)
    item = any_store.get(ANA, "prefs")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (ANA, "prefs", value)
    assert item.created_at.tzinfo is not None
    assert item.created_at <= item.updated_at
    assert any_store.get(ANA, "other") is None
    assert any_store.get(BEN, "prefs") is None


def test_a_second_put_takes_the_place_of_the_first(any_store: BaseStore) -> None:
    any_store.put(ANA, "prefs", {"theme": "dark", "size": 3})
    any_store.put(ANA, "prefs", {"theme": "light"})
    assert any_store.get(ANA, "prefs").value == {"theme": "light"}
    assert len(any_store.search(ANA)) == 1


def test_what_is_deleted_is_not_found_and_may_be_put_again(any_store: BaseStore) -> None:
    any_store.put(ANA, "prefs", {"theme": "dark"})
    any_store.delete(ANA, "prefs")
    any_store.delete(ANA, "prefs")
    any_store.delete(ANA, "never put")
    assert any_store.get(ANA, "prefs") is None
    assert any_store.search(ANA) == []
    any_store.put(ANA, "prefs", {"theme": "light"})
    assert any_store.get(ANA, "prefs").value == {"theme": "light"}


def test_a_search_is_for_all_namespaces_that_begin_with_the_labels(any_store: BaseStore) -> None:
    for namespace in (ANA, BEN, ("users", "anabel"), ("users", "ana", "drafts"), ("teams", "ana")):
        any_store.put(namespace, "note", {"text": "hello"})
    assert found(any_store.search(ANA)) == {(ANA, "note"), (("users", "ana", "drafts"), "note")}
    assert len(any_store.search(("users",))) == 4
    assert len(any_store.search(())) == 5
    assert any_store.search(("user",)) == []


@pytest.mark.parametrize(
    ("filter", "keys"),
    [
        ({"colour": "red"}, {"a", "c"}),
        ({"colour": "red", "size": 1}, {"a"}),
        ({"colour": "blue"}, set()),
        ({"size": {"$gt": 1}}, {"b", "c"}),
        ({"size": {"$gte": 1, "$lt": 3}}, {"a", "b"}),
        ({"size": {"$lte": 1}}, {"a"}),
        ({"size": {"$eq": 2}}, {"b"}),
        ({"colour": {"$ne": "red"}}, {"b"}),
        ({"made": {"by": "ana"}}, {"b"}),
    ],
)
def test_a_filter_asks_for_equal_values_or_by_operators(any_store: BaseStore, filter: dict[str, Any], keys: set[str]) -> None:
    any_store.put(ANA, "a", {"colour": "red", "size": 1, "made": {"by": "ben"}})
    any_store.put(ANA, "b", {"colour": "green", "size": 2, "made": {"by": "ana", "at": 7}})
    any_store.put(ANA, "c", {"colour": "red", "size": 3})
    assert {item.key for item in any_store.search(ANA, filter=filter)} == keys


def test_an_unknown_operator_is_an_error(any_store: BaseStore) -> None:
    any_store.put(ANA, "a", {"size": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        any_store.search(ANA, filter={"size": {"$near": 1}})


def test_pages_hold_every_item_once(any_store: BaseStore) -> None:
    for number in range(7):
        any_store.put(ANA, f"k{number}", {"number": number})
    pages = [[item.key for item in any_store.search(ANA, limit=3, offset=offset)] for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert sorted(key for page in pages for key in page) == [f"k{number}" for number in range(7)]


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "123"),
]


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ({}, NAMESPACES),
        ({"prefix": ("a", "b")}, NAMESPACES[:4]),
        ({"suffix": ("f",)}, NAMESPACES[3:6]),
        ({"prefix": ("a",), "suffix": ("f",)}, NAMESPACES[3:5]),
        ({"prefix": ("a", "*", "f")}, NAMESPACES[3:5]),
        ({"suffix": ("*", "f")}, NAMESPACES[3:6]),
        ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
        ({"limit": 2}, NAMESPACES[:2]),
        ({"limit": 2, "offset": 6}, NAMESPACES[6:]),
        ({"prefix": ("nobody",)}, []),
        ({"prefix": ("a", "b", "c", "d", "e")}, []),
    ],
)
def test_namespaces_are_listed_in_order_by_how_they_begin_and_end(any_store: BaseStore, asked: dict[str, Any], listed: list[Any]) -> None:
    for namespace in reversed(NAMESPACES):
        any_store.put(namespace, "key", {"text": "x"})
    assert any_store.list_namespaces(**asked) == listed


def test_a_batch_answers_in_its_order_and_reads_what_was_before_it(any_store: BaseStore, base: ModuleType) -> None:
    any_store.put(ANA, "prefs", {"theme": "dark"})
    put, got, searched, listed, gone = any_store.batch(
        [
            base.PutOp(BEN, "prefs", {"theme": "light"}),
            base.GetOp(ANA, "prefs"),
            base.SearchOp(("users",)),
            base.ListNamespacesOp(match_conditions=(base.MatchCondition("prefix", ("users",)),)),
            base.GetOp(BEN, "prefs"),
        ]
    )
    assert (put, gone) == (None, None)
    assert got.value == {"theme": "dark"}
    assert found(searched) == {(ANA, "prefs")}
    assert listed == [ANA]
    assert any_store.get(BEN, "prefs").value == {"theme": "light"}


def test_of_two_puts_of_a_key_in_one_batch_the_last_one_counts(any_store: BaseStore, base: ModuleType) -> None:
    any_store.batch(
        [
            base.PutOp(ANA, "prefs", {"n": 1}),
            base.PutOp(ANA, "prefs", {"n": 2}),
            base.PutOp(BEN, "prefs", {"n": 3}),
            base.PutOp(BEN, "prefs", None),
        ]
    )
    assert any_store.get(ANA, "prefs").value == {"n": 2}
    assert any_store.get(BEN, "prefs") is None


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("a", ""), ("langgraph", "x")])
def test_a_namespace_that_could_be_read_as_another_is_refused(any_store: BaseStore, namespace: tuple[str, ...], base: ModuleType) -> None:
    with pytest.raises(base.InvalidNamespaceError):
        any_store.put(namespace, "key", {"text": "x"})


def test_so_it_is_in_a_batch(store: PopkitStore, base: ModuleType) -> None:
    for op in (
        base.PutOp(("a.b",), "k", {"n": 1}),
        base.GetOp(("a", ""), "k"),
        base.SearchOp(("a.b",)),
        base.ListNamespacesOp((base.MatchCondition("prefix", ("a.",)),)),
    ):
        with pytest.raises(base.InvalidNamespaceError, match="periods"):
            store.batch([op])


def test_awaited_calls_do_the_same(any_store: BaseStore) -> None:
    async def main() -> None:
        await asyncio.gather(*(any_store.aput(ANA, f"k{number}", {"number": number}) for number in range(20)))
        assert (await any_store.aget(ANA, "k7")).value == {"number": 7}
        assert len(await any_store.asearch(ANA, limit=50)) == 20
        await any_store.adelete(ANA, "k7")
        assert await any_store.aget(ANA, "k7") is None
        assert await any_store.alist_namespaces() == [ANA]

    asyncio.run(main())


def test_threads_share_it(store: PopkitStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.put(ANA, f"k{number}", {"number": number}), range(40)))
        read = list(pool.map(lambda number: store.get(ANA, f"k{number}").value["number"], range(40)))
    assert read == list(range(40))


def test_a_question_finds_values_by_their_words_the_best_first(store: PopkitStore) -> None:
    store.put(ANA, "a", {"text": "Ana pays by invoice."})
    store.put(ANA, "b", {"text": "Ana lives in Graz, and pays the delivery to Graz in advance."})
    store.put(BEN, "c", {"text": "Ben lives in Graz."})
    first, *rest = store.search(ANA, query="who lives in Graz")
    assert first.key == "b"
    assert first.score > 0
    assert all(item.score < first.score for item in rest)
    assert "c" not in {item.key for item in rest}
    assert [item.key for item in store.search(("users",), query="Graz", filter={"text": "Ben lives in Graz."})] == ["c"]


def test_a_search_reads_the_fields_that_are_asked_for(memory: Memory, opened: type[PopkitStore]) -> None:
    store = opened(memory, fields=["title"])
    store.put(ANA, "a", {"title": "lemon cake", "body": "sugar"})
    store.put(ANA, "b", {"title": "bread", "body": "lemon"}, index=["body"])
    store.put(ANA, "c", {"title": "lemon pie"}, index=False)
    assert {item.key for item in store.search(ANA, query="lemon")} == {"a", "b"}
    assert store.search(ANA, query="sugar") == []
    assert store.get(ANA, "c").value == {"title": "lemon pie"}


class Clock:
    now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


def test_an_item_expires_by_its_minutes_and_later_if_it_is_read(opened: type[PopkitStore]) -> None:
    clock = Clock()
    store = opened(Memory(InMemoryStore(), "agent", clock), ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(ANA, "short", {"n": 1})
    store.put(ANA, "read", {"n": 2}, ttl=10)
    store.put(ANA, "long", {"n": 3}, ttl=None)
    clock.now += 9 * 60
    store.get(ANA, "read", refresh_ttl=True)
    store.get(ANA, "short")
    clock.now += 9 * 60
    assert {item.key for item in store.search(ANA)} == {"read", "long"}
    assert store.get(ANA, "short") is None
    store.search(ANA, refresh_ttl=True)
    clock.now += 9 * 60
    assert store.get(ANA, "read").value == {"n": 2}
    clock.now += 60 * 60
    assert [item.key for item in store.search(ANA)] == ["long"]
    assert store.list_namespaces() == [ANA]


def test_what_is_deleted_comes_back_by_an_undo_for_a_day(store: PopkitStore, memory: Memory) -> None:
    store.put(ANA, "prefs", {"theme": "dark"})
    store.delete(ANA, "prefs")
    memory.undo()
    assert store.get(ANA, "prefs").value == {"theme": "dark"}


def test_the_memory_knows_the_items_and_other_items_are_not_the_stores(store: PopkitStore, memory: Memory) -> None:
    store.put(ANA, "prefs", {"text": "Ana pays by invoice."})
    memory.add("Orders ship from Graz.")
    assert "Ana pays by invoice." in memory.document(tokens=500).text
    assert found(store.search(())) == {(ANA, "prefs")}
    assert store.search((), query="Graz") == []
    assert store.list_namespaces() == [ANA]


def test_projects_and_scopes_keep_the_same_key_apart(tmp_path: Path, opened: type[PopkitStore]) -> None:
    with Memory(SqliteStore(tmp_path / "m.sqlite"), "one") as memory:
        stores = [
            opened(each) for each in (memory, memory.scoped(user_id="ana"), memory.scoped(user_id="ben"), Memory(memory.store, "two"))
        ]
        for number, store in enumerate(stores):
            store.put(("prefs",), "k", {"n": number})
        assert [store.get(("prefs",), "k").value["n"] for store in stores] == [0, 1, 2, 3]
        assert [len(store.search(())) for store in stores[1:]] == [1, 1, 1]


def test_a_value_that_is_not_json_is_refused(store: PopkitStore) -> None:
    with pytest.raises(BadItem, match="not a JSON value"):
        store.put(ANA, "k", {"when": object()})
    assert store.get(ANA, "k") is None


def test_a_graph_writes_and_reads_it(store: PopkitStore) -> None:
    from langgraph.graph import END, START, StateGraph
    from langgraph.runtime import Runtime
    from typing_extensions import TypedDict

    class State(TypedDict):
        said: str
        known: list[str]

    def remember(state: State, runtime: Runtime) -> dict[str, Any]:
        assert runtime.store is not None
        runtime.store.put(ANA, "said", {"text": state["said"]})
        return {}

    def recall(state: State, runtime: Runtime) -> dict[str, Any]:
        assert runtime.store is not None
        return {"known": [item.value["text"] for item in runtime.store.search(ANA, query="invoice")]}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_node("recall", recall)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", "recall")
    builder.add_edge("recall", END)
    graph = builder.compile(store=store)
    assert graph.invoke({"said": "Ana pays by invoice.", "known": []})["known"] == ["Ana pays by invoice."]
