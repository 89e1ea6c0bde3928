"""What answers a question best comes first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.memory.embedding_items import context, embed_items
from popkit_retention.memory.embeddings import HashedEmbedder
from popkit_retention.memory.items import EMBEDDING, Item
from popkit_retention.memory.search import rank, search, similarities
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Candidates
from popkit_retention.memory.stores.sqlite import SqliteStore
from popkit_retention.memory.terms import terms_of

from .remembering import Remembering, lesson, wrote

WORDS = ["cache", "parser", "deploy", "token", "ledger", "archive"]
texts = st.lists(st.sampled_from([*WORDS, "lamp", "river"]), min_size=1, max_size=12).map(" ".join)
MAY, JUNE = 1_684_000_000.0, 1_687_000_000.0  # of 2023


def item(id: str, text: str, **more: object) -> Item:
    return Item(id=id, text=text, **more)  # type: ignore[arg-type]


def candidates(items: list[Item]) -> Candidates:
    lengths = [len(terms_of(each.text)) for each in items]
    every = [set(terms_of(each.text)) for each in items]
    holding = {term: sum(term in each for each in every) for term in set().union(*every)}
    return Candidates(items, len(items), sum(lengths) / len(lengths), holding)


def order(query: str, items: list[Item]) -> list[str]:
    return [found.id for found, _ in rank(query, candidates(items))]


@given(st.lists(texts, min_size=1, max_size=8), st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
def test_only_what_holds_a_term_is_an_answer_and_scores_fall(sentences: list[str], asked: list[str]) -> None:
    ranked = rank(" ".join(asked), candidates([item(f"i{at}", text) for at, text in enumerate(sentences)]))
    assert {each.id for each, _ in ranked} == {f"i{at}" for at, text in enumerate(sentences) if set(asked) & set(text.split())}
    scores = [score for _, score in ranked]
    assert all(score > 0 for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(st.lists(texts, min_size=1, max_size=8), st.sampled_from(WORDS), st.data())
def test_one_more_occurrence_of_the_term_that_is_asked_for_raises_the_score(sentences: list[str], term: str, data: st.DataObject) -> None:
    found = candidates([item(f"i{at}", text) for at, text in enumerate(sentences)])
    at = data.draw(st.integers(0, len(sentences) - 1))
    before = {each.id: score for each, score in rank(term, found)}
    found.items[at] = replace(found.items[at], text=f"{found.items[at].text} {term}")
    found.holding.setdefault(term, 1)
    after = {each.id: score for each, score in rank(term, found)}
    assert after[f"i{at}"] > before.get(f"i{at}", 0.0)
    assert all(after[id] == score for id, score in before.items() if id != f"i{at}")


@given(st.lists(texts, min_size=1, max_size=8), st.permutations(range(8)), st.sampled_from(WORDS))
def test_the_order_that_a_store_finds_items_in_does_not_matter(sentences: list[str], places: list[int], term: str) -> None:
    items = [item(f"i{at}", text) for at, text in enumerate(sentences)]
    shuffled = [items[at] for at in places if at < len(items)]
    assert rank(term, candidates(items)) == rank(term, candidates(shuffled))


def test_equal_items_come_by_their_ids() -> None:
    assert order("cache", [item("b", "a cache"), item("c", "a cache"), item("a", "a cache")]) == ["a", "b", "c"]


def test_a_rare_term_tells_more_than_a_common_one() -> None:
    items = [item("common", "the cache"), item("rare", "the ledger"), *(item(f"x{at}", "the cache again") for at in range(5))]
    assert order("ledger cache", items)[0] == "rare"


def test_what_the_stop_list_holds_asks_for_nothing() -> None:
    assert order("who was it", [item("a", "who was it")]) == []


def test_a_turn_lends_most_to_the_turns_after_it_and_nothing_across_episodes() -> None:
    turns = [item(f"t{at}", text, episode="e", place=at) for at, text in enumerate(["x1", "x2", "x3", "the cache", "x4", "x5", "x6"])]
    turns.append(item("other", "x7", episode="f", place=4))
    store = InMemoryStore()
    store.add(turns)
    ranked = [(each.id, score) for each, score in search(store, "cache")]
    assert [id for id, _ in ranked] == ["t3", "t4", "t2", "t5", "t1"]
    own = ranked[0][1]
    assert [score / own for _, score in ranked] == pytest.approx([1, 0.45, 0.3, 0.225, 0.15], abs=1e-4)


def test_what_is_no_part_of_an_episode_has_no_neighbours() -> None:
    assert order("cache", [item("a", "cache", place=1), item("b", "other", place=2)]) == ["a"]


def test_marked_items_are_no_answers_and_lend_nothing() -> None:
    kept = item("kept", "nothing", episode="e", place=1)
    marked = item("marked", "cache", episode="e", place=0, marked_at=1.0)
    assert rank("cache", candidates([item("a", "a cache"), marked]), lambda places: [marked, kept])[0][0].id == "a"
    assert len(rank("cache", candidates([item("a", "a cache"), marked]), lambda places: [marked, kept])) == 1


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("What did Ann say of the cache?", {"speaker": "Ann"}, {"speaker": "Bob"}),
        ("the cache of popkit", {"project": "/src/popkit"}, {"project": "/src/other"}),
        ("the cache in May", {"created_at": MAY}, {"created_at": JUNE}),
        ("the cache in june 2023", {"created_at": JUNE}, {"created_at": MAY}),
        ("the cache on 2023-06-17", {"created_at": JUNE}, {"created_at": MAY}),
        ("the cache of 2023", {"created_at": MAY}, {"created_at": 1.0}),
        ("the cache", {"text": "the cache"}, {"text": "the cache?"}),
    ],
)
def test_who_spoke_and_when_decides_between_equals(query: str, first: dict, second: dict) -> None:
    ours, theirs = {"text": "a cache", **first}, {"text": "a cache", **second}
    assert order(query, [Item(id="z", **ours), Item(id="a", **theirs)]) == ["z", "a"]


@pytest.mark.parametrize("query", ["may the cache march on", "the cache in june 2022", "the cache"])
def test_a_question_that_names_no_time_of_an_item_prefers_none(query: str) -> None:
    assert order(query, [item("b", "a cache", created_at=MAY), item("a", "a cache", created_at=JUNE)]) == ["a", "b"]


def test_a_question_of_names_alone_is_answered_by_them() -> None:
    assert order("Ann", [item("a", "thanks, Ann", speaker="Bob"), item("b", "hello", speaker="Ann")]) == ["a"]


def test_likeness_brings_up_what_shares_fewer_terms() -> None:
    items = [item("a", "deploy the parser cache"), item("b", "the parser")]
    assert order("parser cache", items) == ["a", "b"]
    found = rank("parser cache", candidates(items), alike=lambda found: {"b": 0.9, "a": -0.2})
    assert [each.id for each, _ in found] == ["a", "b"]
    alone = rank("river", candidates(items), alike=lambda found: {"b": 0.9, "a": 0.1})
    assert [each.id for each, _ in alone] == ["b", "a"]


def test_embeddings_of_another_embedder_are_not_compared() -> None:
    embedder = HashedEmbedder()
    near, far = embedder.embed(["parser cache", "a river under the lamp"])
    store = InMemoryStore()
    store.add(
        [
            item("a", "the parser and a ledger", embedding=far, details={"embedder": embedder.name}),
            item("b", "the parser and a ledger", embedding=near, details={"embedder": embedder.name}),
            item("c", "the parser and a ledger", embedding=near, details={"embedder": "another"}),
        ]
    )
    scores = {each.id: score for each, score in search(store, "parser cache", embedder=embedder)}
    assert max(scores, key=scores.__getitem__) == "b"
    assert scores["c"] < scores["b"]
    assert [each.id for each, _ in search(store, "parser cache")] == ["a", "b", "c"]


def test_an_item_is_embedded_with_who_said_it_and_the_turn_before() -> None:
    before, after = item("a", "Where to?", speaker="Ann"), item("b", "To the river.", speaker="Bob")
    assert context(after, before) == "Ann: Where to? Bob: To the river."
    assert context(item("c", "a note")) == "a note"


def test_items_are_embedded_once_each_with_the_turn_before(tmp_path) -> None:
    embedder = HashedEmbedder()
    turns = [item(f"t{at}", f"{word} lamp", episode="e", place=at, speaker="Ann") for at, word in enumerate(WORDS)]
    store = SqliteStore(str(tmp_path / "memory.db"))
    store.add(
        [*turns, item("note", "alone"), item("gone", "marked", marked_at=1.0), item("bare", "", level=EMBEDDING, embedding=[0.5] * 384)]
    )
    assert embed_items(store, embedder, most=3) == 3
    assert embed_items(store, embedder) == 4
    assert embed_items(store, embedder) == 0
    first, second, note, gone, bare = store.get(["t0", "t1", "note", "gone", "bare"])
    texts = ["Ann: cache lamp", "Ann: cache lamp Ann: parser lamp", "alone"]
    assert [first.embedding, second.embedding, note.embedding] == embedder.embed(texts)
    assert first.details == {"embedder": embedder.name}
    assert gone.embedding is None
    assert bare.embedding == [0.5] * 384
    store.close()


def test_stores_give_one_answer(tmp_path) -> None:
    items = [item(f"i{at}", f"{word} {WORDS[at - 1]} lamp", episode="e", place=at, speaker="Ann") for at, word in enumerate(WORDS)]
    sqlite, memory = SqliteStore(str(tmp_path / "memory.db")), InMemoryStore()
    sqlite.add(items)
    memory.add(items)
    one, other = search(sqlite, "did Ann deploy the ledger?"), search(memory, "did Ann deploy the ledger?")
    assert [(each.id, score) for each, score in one] == [(each.id, score) for each, score in other]
    assert len(search(sqlite, "lamp", most=2)) == 2
    sqlite.close()


# --- which episodes a prompt is about

TEXTS = {"a": "src/cart/totals.ts", "b": "src/login/token.ts", "c": "src/cart/coupon.ts", "d": "README.md"}


def test_the_episode_that_spoke_of_the_same_comes_first():
    scores = similarities("fix the rounding of cart totals", {"s1": ["a", "c"], "s2": ["b", "d"]}, TEXTS)
    assert scores == {"a": 1.0, "c": 1.0}


def test_an_item_is_as_similar_as_the_best_of_its_episodes():
    scores = similarities("cart totals", {"s1": ["a", "d"], "s2": ["c", "d"]}, TEXTS)
    assert scores["d"] == scores["a"] == 1.0 > scores["c"] > 0


def test_nothing_is_similar_to_nothing():
    assert similarities("", {"s1": ["a"]}, TEXTS) == {}
    assert similarities("cart", {}, TEXTS) == {}
    assert similarities("penguins", {"s1": ["a"]}, TEXTS) == {}


def test_a_prompt_brings_what_its_sessions_wrote_into_the_document(remembering: Remembering):
    for number in range(12):
        remembering.memory.learn(lesson(f"s{number}", *(wrote(f"src/part_{number:02}/file_{file}.ts", 3) for file in range(4))))
    assert "part_03" not in remembering.memory.document(100).text
    assert "part_03" in remembering.memory.document(100, "Change file 2 of part_03, please").text


def test_two_machines_that_learn_the_same_at_once_lose_nothing(remembering: Remembering):
    write, first = remembering.store.write, [lesson("s2", wrote("src/cart.ts", 2))]

    def raced(batch):
        if first:
            remembering.store.write = write
            other = Remembering(remembering.store)
            other.memory.learn(first.pop())
        write(batch)

    remembering.store.write = raced
    remembering.memory.learn(lesson("s1", wrote("src/cart.ts", 3)))
    (item,) = remembering.memory.list()
    assert (item.writes, item.sessions) == (5, 2)
