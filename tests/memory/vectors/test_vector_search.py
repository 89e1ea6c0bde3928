"""A memory is searched by words, by vector, or by both; its vectors follow its items, whatever happens in between."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popkit_retention.memory import (
    AsyncMemory,
    BadEmbedding,
    FunctionEmbedder,
    InMemoryStore,
    Item,
    Memory,
    SqliteStore,
    VectorStore,
)  # fmt: skip
from popkit_retention.memory.search import MODES
from popkit_retention.vector_stores import InMemoryVectorStore
from tests.memory.remembering import DAY, NOW
from tests.memory.vectors.conftest import Kind
from tests.memory.vectors.faulty import FindsWhatWasDeleted, ForgetsTheScope
from tests.memory.vectors.meanings import SUBJECTS, Counted, longer_meaning, meaning
from tests.paths import PYTHONPATH
from tests.patience import HANG_S, until

USERS = ("ana", "Ana", "bo", "bo\u0301", "*", "%", "a b", "\0", "\ud800")


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> float:
        return self.at


def shop(vectors: VectorStore | None, embedder: object = meaning, clock: Callable[[], float] = lambda: NOW) -> Memory:
    return Memory(InMemoryStore(), "shop", clock, embedder=embedder, vectors=vectors)


def texts(found: Sequence[tuple[Item, float]]) -> list[str]:
    return [item.text for item, _ in found]


def test_a_memory_is_searched_by_words_by_vector_or_by_both(kind: Kind) -> None:
    with shop(kind.make()) as memory:
        for text in ("the automobile is red", "the river is red", "a kitten, an invoice"):
            memory.add(text)
        assert texts(memory.search("red", mode="words")) == texts(memory.search("is it red", mode="words"))
        assert texts(memory.search("car", mode="words")) == []
        assert texts(memory.search("car", 1, mode="vector")) == ["the automobile is red"]
        assert texts(memory.search("stream red", 3, mode="both"))[0] == "the river is red"
        assert texts(memory.search("stream red")) == texts(memory.search("stream red", mode="both"))
        assert all(item.embedding is None for item in memory.list()), "the store of vectors has them"
        with pytest.raises(ValueError, match="mode is 'fuzzy': it may be words, vector, both"):
            memory.search("car", mode="fuzzy")


def test_both_rank_what_either_finds_and_best_what_both_find() -> None:
    memory = shop(InMemoryVectorStore())
    for text in ("a pet shop", "kitten", "the automobile of a cat"):
        memory.add(text)
    assert texts(memory.search("cat"))[0] == "the automobile of a cat"
    assert set(texts(memory.search("cat"))) == {"a pet shop", "kitten", "the automobile of a cat"}


@pytest.mark.parametrize("embedder", [meaning, None], ids=["a function", "hashing"])
def test_without_a_store_of_vectors_the_items_own_embeddings_are_compared(embedder: object) -> None:
    memory = shop(None, embedder)
    for text in ("the automobile is red", "the invoice is paid"):
        memory.add(text)
    assert texts(memory.search("automobiles", 1, mode="vector")) == ["the automobile is red"]
    assert len(memory.search("nothing of it", mode="vector")) == 2


def test_an_item_keeps_shorter_vectors_and_refuses_longer_ones() -> None:
    memory = shop(None)
    memory.add("a river")
    memory.run(force=True)
    (item,) = memory.list()
    assert (item.embedding, item.details["embedder"]) == ([0.0, 1.0, 0.0, 0.0, *[0.0] * 380], "tests.memory.vectors.meanings.meaning")
    with pytest.raises(BadEmbedding, match=r"returns 1,536 numbers for a text, and an item keeps 384\. Pass a vector store"):
        shop(None, longer_meaning).search("river", mode="vector")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda texts: [], "returned 0 vectors for 1 text"),
        (lambda texts: [[]] * len(texts), "returned a vector of 0 numbers"),
        (lambda texts: [[1.0, float("nan")]] * len(texts), "returned a vector with a number that is not finite"),
        (lambda texts: [[1.0] * len(text) for text in texts], r"returned a vector of 5 numbers; its first one had 4"),
    ],
)
def test_answers_that_are_no_vectors_are_refused(answer: Callable, says: str) -> None:
    embedder = FunctionEmbedder(answer, "mine")
    with pytest.raises(BadEmbedding, match="mine " + says):
        [embedder.vectors([text]) for text in ("four", "five!")]


def test_vectors_are_of_unit_length_even_of_the_largest_numbers() -> None:
    embedder = FunctionEmbedder(lambda texts: [[3e300, 4e300], [0.0, 0.0], [0.3, -0.4]], "mine")
    assert embedder.vectors(["a", "b", "c"]) == [pytest.approx([0.6, 0.8]), [0.0, 0.0], pytest.approx([0.6, -0.8])]


def test_an_embedder_has_a_name() -> None:
    assert FunctionEmbedder(Counted("their-model")).name == "their-model"
    assert FunctionEmbedder(meaning, "mine").name == "mine"
    for wrong in (3, "meaning"):
        with pytest.raises(BadEmbedding, match="an embedder is a function of texts to vectors"):
            shop(None, wrong)

    class Nameless:
        def __call__(self, texts):
            return meaning(texts)

    with pytest.raises(BadEmbedding, match="has no name"):
        shop(None, Nameless())


def test_vectors_follow_their_items(kind: Kind) -> None:
    clock = Clock()
    with shop(kind.make(), clock=clock) as memory:
        vectors = memory._index.vectors
        cat, river = memory.add("a cat"), memory.upsert("r", "a river", expires_at=NOW + DAY / 2)
        assert set(vectors.stamps()) == {cat.id, river.id}
        memory.update(cat.id, "an invoice")
        assert texts(memory.search("bill", 1, mode="vector")) == ["an invoice"]
        memory.forget([cat.id])
        assert set(vectors.stamps()) == {river.id}
        memory.undo([cat.id])
        assert set(vectors.stamps()) == {river.id, cat.id}
        memory.forget([cat.id])
        clock.at += DAY + 1
        memory.run(force=True)
        assert memory.store.get([cat.id]) == []
        assert vectors.stamps() == {}, "one was forgotten, the other has expired"


def test_only_what_has_changed_is_embedded_again() -> None:
    embedder = Counted()
    memory = shop(InMemoryVectorStore(), embedder)
    memory.add("a cat")
    memory.upsert("r", "a river")
    embedder.texts.clear()
    memory.upsert("r", "a river")
    memory.run(force=True)
    memory.pin(["r"])
    assert embedder.texts == []
    memory.update("r", user_id="ana")
    assert embedder.texts == ["a river"]


def test_a_compressed_item_keeps_the_vector_of_its_full_text() -> None:
    embedder = Counted()
    memory = shop(InMemoryVectorStore(), embedder)
    item = memory.add("a cat. " + "It sleeps on the sofa all day long. " * 40)
    before = memory._index.vectors.nearest([0.0, 0.0, 0.0, 1.0], "counted-1/4", 1, {})
    embedder.texts.clear()
    for level, text in (("summary", "It sleeps."), ("keywords", "sofa"), ("embedding", "")):
        memory.store.write(_changed(item.id, level=level, text=text))
        memory._sync()
    assert embedder.texts == []
    assert memory._index.vectors.nearest([0.0, 0.0, 0.0, 1.0], "counted-1/4", 1, {}) == before != []


def _changed(id: str, **to: object):
    from popkit_retention.memory.stores.protocol import Batch, Change  # noqa: PLC0415

    return Batch(change=[Change(id, to)])


def test_another_embedder_is_compared_from_the_next_run_on(kind: Kind) -> None:
    store, vectors = InMemoryStore(), kind.make()
    Memory(store, "shop", lambda: NOW, embedder=FunctionEmbedder(meaning, "one"), vectors=vectors).add("a cat")
    for embedder in (FunctionEmbedder(meaning, "two"), FunctionEmbedder(longer_meaning, "two")):
        memory = Memory(store, "shop", lambda: NOW, embedder=embedder, vectors=vectors)
        assert memory.search("kitten", mode="vector") == []
        assert texts(memory.search("cat")) == ["a cat"], "words find it"
        memory.run(force=True)
        assert texts(memory.search("kitten", mode="vector")) == ["a cat"]
    memory.close()


def test_the_run_makes_up_for_what_a_crash_has_left(sqlite_vec: Kind, tmp_path: Path) -> None:
    """Killed between the item's write and the vector's, and, as a kill leaves it, with vectors of items that are gone."""
    vectors = sqlite_vec.make()
    path = tmp_path / "items.sqlite"
    program = f"""
from popkit_retention.memory import Memory, SqliteStore
from popkit_retention.vector_stores import SqliteVecStore
from tests.memory.vectors.meanings import dying_meaning
memory = Memory(SqliteStore({str(path)!r}), "shop", embedder=dying_meaning, vectors=SqliteVecStore({vectors.path!r}))
memory.add("a river")
memory.add("a cat")
"""
    env = {"PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (9, "")
    with Memory(SqliteStore(path), "shop", embedder=FunctionEmbedder(meaning, "dying"), vectors=vectors) as memory:
        river, cat = sorted(memory.list(), key=lambda item: item.text, reverse=True)
        assert list(vectors.stamps()) == [river.id]
        memory.store.remove([river.id])
        memory.run(force=True)
        assert list(vectors.stamps()) == [cat.id]
        assert texts(memory.search("kitten", mode="vector")) == ["a cat"]


def test_the_error_of_an_embedder_is_its_own_and_an_upsert_can_be_repeated() -> None:
    failing = [True]

    def at_times(asked: Sequence[str]) -> list[list[float]]:
        if failing:
            raise ConnectionError("the model is away")
        return meaning(asked)

    memory = shop(InMemoryVectorStore(), at_times)
    with pytest.raises(ConnectionError, match="the model is away"):
        memory.upsert("c", "a cat")
    assert texts(memory.search("cat", mode="words")) == ["a cat"]
    failing.clear()
    memory.upsert("c", "a cat")
    assert texts(memory.search("kitten", mode="vector")) == ["a cat"]


def test_imported_items_have_vectors() -> None:
    source, target = shop(InMemoryVectorStore()), shop(InMemoryVectorStore())
    source.add("a cat")
    target.import_lines(source.export())
    assert texts(target.search("kitten", mode="vector")) == ["a cat"]


def test_a_filter_leaves_as_many_as_are_asked_for(kind: Kind) -> None:
    """However many nearer ones do not meet it."""
    with shop(kind.make()) as memory:
        items = [Item(f"n{n:03}", "cat " * 3, "shop", metadata={"lang": "de"}) for n in range(150)]
        items += [Item(f"w{n}", "cat and river", "shop", metadata={"lang": "en"}) for n in range(4)]
        memory.store.add([*items, Item("other", "cat", "another shop", metadata={"lang": "en"})])
        memory._sync()
        found = memory.search("kitten", 3, where={"metadata.lang": "en"}, mode="vector")
        assert [item.id for item, _ in found] == ["w0", "w1", "w2"]
        assert len(memory.search("kitten", 50, where={"metadata.lang": "en"}, mode="vector")) == 4
        everywhere = memory.search("kitten", 1, True, {"metadata.lang": "en"}, "vector")
        assert [item.id for item, _ in everywhere] == ["other"]


WORDS = [word for words in SUBJECTS for word in words]
NOTES = st.lists(st.tuples(st.sampled_from(USERS[:-2]), st.sampled_from(WORDS), st.sampled_from("live live forgotten expired".split())))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(notes=NOTES, user=st.sampled_from(USERS), word=st.sampled_from(WORDS), mode=st.sampled_from(MODES), most=st.integers(1, 12))
def test_no_search_of_a_scope_crosses_into_another(kind: Kind, notes: list, user: str, word: str, mode: str, most: int) -> None:
    """Nor finds what is forgotten or has expired; by vector, as many are found as there are."""
    clock = Clock()
    with shop(kind.make(), clock=clock) as memory:
        ids: dict[str, list[str]] = {}
        for number, (whose, about, fate) in enumerate(notes):
            expires = NOW + 5 if fate == "expired" else None
            item = memory.upsert(f"n{number:02}", f"{about} note {number}", user_id=whose, expires_at=expires)
            if fate == "forgotten":
                memory.forget([item.id])
            if fate == "live":
                ids.setdefault(whose, []).append(item.id)
        clock.at += 10
        found = [item.id for item, _ in memory.scoped(user_id=user).search(word, most, mode=mode)]
        own = ids.get(user, [])
        assert set(found) <= set(own)
        assert len(found) == len(set(found)) <= most
        if mode != "words":
            assert len(found) == min(most, len(own))


@pytest.mark.parametrize("store", [ForgetsTheScope, FindsWhatWasDeleted])
def test_a_store_of_vectors_that_fails_shows_nothing_of_others(store: type[InMemoryVectorStore]) -> None:
    memory = shop(store())
    ana = memory.scoped(user_id="ana")
    gone = ana.add("a cat")
    ana.forget([gone.id])
    for number in range(30):
        memory.add(f"cat {number}", user_id="bo")
    hers = ana.add("a river and a cat")
    for mode in ("vector", "both"):
        assert [item.id for item, _ in ana.search("kitten", 1, mode=mode)] == [hers.id]


@pytest.mark.slow
def test_ten_thousand_scopes_share_a_store_of_vectors(kind: Kind) -> None:
    count = 10_000
    with shop(kind.make()) as memory:
        memory.store.add(
            [Item(f"m{n:06}", f"{WORDS[9 - n // count * 3]} {n}", "shop", user_id=f"user {n % count}") for n in range(2 * count)]
        )
        memory._sync()
        for number in range(0, count, 97):
            found = memory.scoped(user_id=f"user {number}").search("kitten", 5, mode="vector")
            assert {item.user_id for item, _ in found} == {f"user {number}"}
            assert len(found) == 2
            assert found[0][0].text == f"cat {number}"


def test_threads_and_tasks_share_a_memory_with_vectors(kind: Kind) -> None:
    async def worked() -> tuple[int, list[str]]:
        async with AsyncMemory(InMemoryStore(), "shop", embedder=meaning, vectors=kind.make()) as memory:
            await asyncio.gather(*(memory.add(f"{WORDS[number]} {number}") for number in range(12)))
            answers = await asyncio.gather(*(memory.search(word, 1, mode="vector") for word in WORDS))
            assert all(len(answer) == 1 for answer in answers)
            return len(memory.memory._index.vectors.stamps()), texts(await memory.search("kitten", 3, mode="vector"))

    kept, found = asyncio.run(worked())
    assert kept == 12
    assert sorted(found) == ["cat 9", "kitten 10", "pet 11"]


def test_the_hourly_job_brings_vectors_up_to_date_and_leaves_them_open(sqlite_vec: Kind, tmp_path: Path) -> None:
    vectors, store = sqlite_vec.make(), SqliteStore(tmp_path / "items.sqlite")
    item = Memory(store, "shop").add("a cat")
    with Memory(store, "shop", embedder=meaning, vectors=vectors, job="hourly") as memory:
        until(lambda: list(vectors.stamps()) == [item.id], "the vector of the item")
        assert texts(memory.search("kitten", mode="vector")) == ["a cat"]
