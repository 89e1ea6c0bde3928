"""Users, agents and sessions of one store are apart; filters, updates and expiry of items."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.retention_kit.holds import Hold
from popkit_retention.memory import BadItem, DuplicateId, InMemoryStore, Item, ItemNotFound, ItemOnHold, Memory, SqliteStore
from popkit_retention.memory.filters import BadFilter, where_of
from popkit_retention.memory.stores.protocol import Store
from tests.memory.remembering import DAY, NOW, Remembering

STORES: dict[str, Callable[[], Store]] = {"sqlite": lambda: SqliteStore(":memory:"), "in this process": InMemoryStore}
USERS = ("ana", "Ana", "bo", "bo\u0301", "*", "%", "a b")


@pytest.fixture(params=STORES)
def shop(request: pytest.FixtureRequest) -> Remembering:
    return Remembering(STORES[request.param]())


def _of_list(word: Callable[[list[str]], object], id: str) -> object:
    return word([id])


def texts(items: list[Item]) -> set[str]:
    return {item.text for item in items}


def test_a_scope_adds_for_its_user_and_shows_nothing_of_others(shop: Remembering) -> None:
    ana, bo = shop.memory.scoped(user_id="ana"), shop.memory.scoped(user_id="bo")
    hers = ana.add("The customer prefers e-mail.")
    his = bo.add("The customer prefers e-mail.")
    assert hers.id != his.id, "the same words of two users are two items"
    assert (hers.user_id, his.user_id) == ("ana", "bo")
    assert [item.id for item, _ in ana.search("customer e-mail")] == [hers.id]
    assert [item.id for item in ana.list()] == [hers.id]
    assert his.id not in ana.document(500).items
    of_one = (ana.find, ana.show, ana.history, ana.why, lambda other: ana.update(other, "x"))
    for act in (*of_one, *(partial(_of_list, word) for word in (ana.forget, ana.pin, ana.reinforce, ana.restore))):
        with pytest.raises(ItemNotFound):
            act(his.id)
    assert len(shop.memory.list()) == 2


def test_a_scope_of_several_is_narrower_and_never_another_one(shop: Remembering) -> None:
    ana = shop.memory.scoped(user_id="ana")
    chat = ana.scoped(session_id="1")
    item = chat.add("A note.")
    assert (item.user_id, item.session_id) == ("ana", "1")
    assert ana.list() == [item]
    assert shop.memory.scoped(user_id="bo", session_id="1").list() == []
    with pytest.raises(BadItem, match="user_id is 'ana' in this memory, not 'bo'"):
        ana.scoped(user_id="bo")
    with pytest.raises(BadItem, match="user_id is 'ana' in this memory, not 'bo'"):
        ana.add("Another note.", user_id="bo")
    with pytest.raises(BadItem, match="an import may hold items of any user"):
        ana.import_lines(shop.memory.export())
    with pytest.raises(BadItem, match="a scope needs a value for one of user_id, agent_id, session_id"):
        shop.memory.scoped()


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
@given(
    notes=st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from("red green blue".split()), st.booleans()), max_size=25),
    user=st.sampled_from(USERS),
    word=st.sampled_from("red green blue".split()),
)
def test_no_query_of_a_scope_crosses_into_another(make: Callable[[], Store], notes: list, user: str, word: str) -> None:
    """Whatever is in the store: listed, searched, written into a document, forgotten and undone."""
    memory = Memory(make(), "shop", lambda: NOW)
    for number, (whose, colour, near) in enumerate(notes):
        memory.add(f"{colour} note {number}", user_id=whose, **({"episode": "talk", "place": number} if near else {}))
    mine = memory.scoped(user_id=user)
    own = {f"{colour} note {number}" for number, (whose, colour, _) in enumerate(notes) if whose == user}
    assert texts(mine.list(most=None)) == own
    found = texts([item for item, _ in mine.search(word, most=50)])
    assert {text for text in own if text.startswith(word)} <= found <= own
    assert len(mine.document(4_000).items) <= len(own)
    exported = [json.loads(line) for line in mine.export(everything=True)][1:-1]
    assert {item["text"] for item in exported} == own
    mine.forget([item.id for item in mine.list(most=None)])
    assert len(memory.list(marked=True, most=None)) == len(own)
    if own:
        mine.undo()
    assert len(memory.list(most=None)) == len(notes)


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
def test_a_document_of_a_large_project_considers_what_was_used_most_and_last(make: Callable[[], Store]) -> None:
    """And all that is pinned. A user who has few items sees the best of all of theirs."""
    memory = Memory(make(), "shop", lambda: NOW)
    plain = {"project": "shop", "created_at": NOW - 99, "last_accessed": NOW}
    notes = [Item(f"m{n:05d}", f"note {n}", user_id="ana" if n < 30 else "bo", **plain) for n in range(2_500)]
    used = [replace(notes[7], sessions=9), replace(notes[8], session=9), replace(notes[9], created_at=NOW), replace(notes[10], held=True)]
    memory.store.add([*notes[:7], *used, *notes[11:]])
    built = memory.document(30)
    assert built.is_partial
    assert {"m00007", "m00010"} <= set(built.items)
    considered = {*built.items, *(id for id, _ in built.left_out)}
    assert {item.id for item in used} <= considered < {item.id for item in notes}
    of_ana = memory.scoped(user_id="ana").document(500)
    assert not of_ana.is_partial
    assert len(of_ana.items) + len(of_ana.left_out) == 30


@pytest.mark.slow
def test_ten_thousand_scopes_share_a_file(tmp_path: Path) -> None:
    with Memory(SqliteStore(tmp_path / "agent.sqlite"), "shop") as memory:
        memory.store.add([Item(f"m{n:06d}", f"order {n % 7} of a customer", "shop", user_id=f"user {n % 10_000}") for n in range(100_000)])
        for number in (0, 7, 9_999):
            mine = memory.scoped(user_id=f"user {number}")
            assert {item.user_id for item, _ in mine.search("customer order", most=50)} == {f"user {number}"}
            assert len(mine.search("customer order", most=50)) == len(mine.list(most=None)) == 10


def test_a_filter_chooses_by_fields_and_metadata(shop: Remembering) -> None:
    memory = shop.memory
    memory.add("red shoes", kind="order", metadata={"size": 42, "paid": True})
    memory.add("blue shoes", kind="order", metadata={"size": 39})
    memory.add("green shoes", kind="wish")
    assert texts(memory.list(where={"kind": "order", "metadata.size": {"gte": 40}})) == {"red shoes"}
    assert texts(memory.list(where={"metadata.paid": True})) == {"red shoes"}
    assert texts([item for item, _ in memory.search("shoes", where={"kind": {"in": ["wish"]}})]) == {"green shoes"}
    assert len(memory.document(500, where={"kind": "wish"}).items) == 1


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        ({"colour": "red"}, "'colour' is no field to filter by. Known: user_id, agent_id, session_id"),
        ({"kind": {"like": "o%"}}, "kind: unknown operator 'like'. Known: eq, in, gt, gte, lt, lte"),
        ({"kind": {}}, "kind: no operator"),
        ({"user_id": 7}, "user_id: 7 is no value to compare with"),
        ({"created_at": "yesterday"}, "created_at: 'yesterday' is no value to compare with"),
        ({"score": float("nan")}, "score: nan is no value to compare with"),
        ({"metadata.": 1}, "a name in the metadata is printable"),
        ({'metadata.a"b': 1}, "a name in the metadata is printable"),
        ({"metadata.a": {"in": "abc"}}, "metadata.a: `in` takes a list"),
        ({"metadata.a": {"gt": True}}, "metadata.a: gt compares with a number or a text, not bool"),
        ([("kind", "order")], "a filter is an object of fields and values, not list"),
    ],
)
def test_a_wrong_filter_is_refused_with_what_is_known(filter: object, said: str) -> None:
    with pytest.raises(BadFilter) as caught:
        where_of(filter)
    assert said in str(caught.value)


def test_an_update_changes_an_item_and_its_history_has_what_it_was(shop: Remembering) -> None:
    memory = shop.memory
    item = memory.add("Ships on Monday.", metadata={"carrier": "A"})
    shop.now += DAY
    after = memory.update(item.id, "Ships on Friday.", metadata={"carrier": "B"}, kind="order")
    assert (after.text, after.metadata, after.kind, after.created_at) == ("Ships on Friday.", {"carrier": "B"}, "order", item.created_at)
    assert [found.id for found, _ in memory.search("Friday")] == [item.id]
    assert memory.search("Monday") == []
    entry = memory.history(item.id)[0]
    assert (entry["action"], entry["at"]) == ("updated", shop.now)
    assert entry["before"] == {"text": "Ships on Monday.", "metadata": {"carrier": "A"}, "kind": "note"}
    assert entry["after"] == {"text": "Ships on Friday.", "metadata": {"carrier": "B"}, "kind": "order"}
    assert memory.update(item.id, "Ships on Friday.").text == after.text
    assert len(memory.history(item.id)) == 2, "nothing changed, so nothing was noted"


def test_an_update_masks_secrets_and_refuses_what_no_item_can_be(shop: Remembering) -> None:
    item = shop.memory.add("A note.")
    assert "hunter2" not in shop.memory.update(item.id, "password=hunter2hunter2").text
    for wrong in ({"score": 1.0}, {"colour": "red"}, {"kind": 7}, {"expires_at": "soon"}, {"metadata": [1]}):
        with pytest.raises(BadItem):
            shop.memory.update(item.id, **wrong)
    with pytest.raises(BadItem):
        shop.memory.update(item.id, "")


def test_an_upsert_adds_once_and_then_updates(shop: Remembering) -> None:
    first = shop.memory.upsert("order-7", "Ships on Monday.", metadata={"n": 1})
    second = shop.memory.upsert("order-7", "Ships on Friday.", metadata={"n": 2})
    assert (first.id, second.id, second.text, second.metadata) == ("order-7", "order-7", "Ships on Friday.", {"n": 2})
    assert len(shop.memory.list()) == 1


def test_an_upsert_brings_back_what_was_forgotten_or_has_expired(shop: Remembering) -> None:
    shop.memory.upsert("order-7", "Ships on Monday.", expires_at=NOW + DAY)
    shop.memory.forget(["order-7"])
    shop.now += 2 * DAY
    item = shop.memory.upsert("order-7", "Ships on Friday.")
    assert (item.marked_at, item.expires_at) == (None, None)
    assert [found.id for found, _ in shop.memory.search("Friday")] == ["order-7"]


def test_an_id_of_another_scope_is_taken(shop: Remembering) -> None:
    shop.memory.scoped(user_id="ana").upsert("contact", "By e-mail.")
    with pytest.raises(DuplicateId, match=r"'contact' is taken outside of this scope\. Use ids that are unique in the store"):
        shop.memory.scoped(user_id="bo").upsert("contact", "By phone.")
    assert shop.item("contact").text == "By e-mail."


def test_a_hold_keeps_the_text_of_an_item(shop: Remembering) -> None:
    item = shop.memory.add("Ships on Monday.")
    shop.store.set_value("holds", [Hold("h1", "item", item.id, "alice", "audit", NOW).to_json()])
    with pytest.raises(ItemOnHold):
        shop.memory.update(item.id, "Ships on Friday.")
    assert shop.memory.update(item.id, metadata={"seen": True}).text == "Ships on Monday."


def test_an_item_that_has_expired_is_shown_to_nobody_and_deleted_a_day_later(shop: Remembering) -> None:
    memory = shop.memory
    brief = memory.add("The code of the day is red.", expires_at=NOW + DAY)
    lasting = memory.add("The code of the house is blue.")
    assert len(memory.search("code")) == 2
    shop.now += DAY
    assert [item.id for item, _ in memory.search("code")] == [lasting.id]
    assert [item.id for item in memory.list()] == [lasting.id]
    assert brief.id not in memory.document(500).items
    memory.run(force=True)
    assert shop.item(brief.id).marked_by == "job"
    shop.now += DAY + 1
    memory.run(force=True)
    assert shop.store.get([brief.id]) == []
    assert shop.store.get([lasting.id])


def test_what_a_person_pins_outlives_its_expiry(shop: Remembering) -> None:
    item = shop.memory.add("The code of the day is red.", expires_at=NOW + DAY)
    shop.memory.pin([item.id])
    shop.now += 9 * DAY
    shop.memory.run(force=True)
    assert shop.item(item.id).marked_at is None


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="this SQLite takes no column away, which makes a file of before")
def test_a_file_of_before_has_no_scopes(tmp_path: Path) -> None:
    """Its tables are brought up to date, and its items are nobody's."""
    path = tmp_path / "agent.sqlite"
    with Memory(SqliteStore(path), "shop") as memory:
        memory.add("A note.")
    db = sqlite3.connect(path)
    for name in ("user_id", "agent_id", "session_id"):
        db.execute(f"DROP INDEX items_of_{name}")
        db.execute(f"ALTER TABLE items DROP COLUMN {name}")
    db.execute("ALTER TABLE items DROP COLUMN metadata")
    db.execute("ALTER TABLE items DROP COLUMN expires_at")
    db.execute("ALTER TABLE items DROP COLUMN by_hand")
    for name in ("items_by_sessions", "items_by_last_session", "items_pinned"):
        db.execute(f"DROP INDEX {name}")
    db.execute("DELETE FROM migrations WHERE version > 3")
    db.execute("PRAGMA user_version = 3")
    db.commit()
    db.close()
    with Memory(SqliteStore(path), "shop") as memory:
        (item,) = memory.list()
        assert (item.user_id, item.metadata, item.expires_at) == ("", {}, None)
        assert memory.scoped(user_id="ana").list() == []
        assert memory.update(item.id, user_id="ana").user_id == "ana"
        assert [found.id for found, _ in memory.scoped(user_id="ana").search("note")] == [item.id]
        assert memory.store.verify() == []
