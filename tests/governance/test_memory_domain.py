"""The domain `memory`: what is deleted when, what is never deleted, what comes back, over stores in memory and in SQLite."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.utils.retention_kit.holds import Hold
from popkit_retention.conformance.checking import full
from popkit_retention.governance import DomainUnavailable
from popkit_retention.governance.domains import Content
from popkit_retention.governance.domains.memory import MemoryDomain
from popkit_retention.governance.domains.rules import Resource, apply_rules
from popkit_retention.governance.policies import DEFAULT_POLICY
from popkit_retention.memory import exchange, holds
from popkit_retention.memory.folder import Folder
from popkit_retention.memory.holds import ItemOnHold
from popkit_retention.memory.items import ARCHIVE, COLD, DIMENSIONS, Item, id_of
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import Batch, Store
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.examples import examples
from tests.memory.remembering import DAY, HOUR, NOW, PROJECT, Remembering, lesson, wrote
from tests.memory.test_job import LONG

OLD = NOW - 60 * DAY


class Governed(Remembering):
    """A memory, and the domain over its store."""

    def of(self, home: Path) -> Governed:
        self.home = home
        self.domain = MemoryDomain({"POPKIT_HOME": str(home)}, lambda: self.now, self.store)
        return self

    def old(self, id: str, **fields: object) -> Item:
        return self.keep(id, OLD, **fields)

    def resource(self, id: str) -> Resource:
        (only,) = self.domain.resources(self.now, ids=[id])
        return only


@pytest.fixture(params=["in memory", "sqlite"])
def governed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Governed]:
    store: Store = InMemoryStore() if request.param == "in memory" else SqliteStore(str(tmp_path / "memory.sqlite"))
    yield Governed(store).of(tmp_path)
    store.close()


def hold(scope: str, target: str, id: str = "h1", until: float | None = None) -> Hold:
    return Hold(id, scope, target, "alice", "audit", NOW, until)


# --- resources -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "source_type"),
    [("path", "context"), ("name", "context"), ("command", "action"), ("error", "action"), ("own kind", "action"), ("note", "thought")],
)
def test_a_kind_is_of_one_source_type(governed: Governed, kind: str, source_type: str) -> None:
    governed.old("m1", kind=kind)
    assert governed.resource("m1") == Resource("m1", OLD, source_type)


def test_an_item_ages_from_when_it_was_last_written_or_asked_for(governed: Governed) -> None:
    governed.memory.learn(lesson("s1", wrote("src/cart.py", at=OLD), at=OLD))
    (id,) = [item.id for item in governed.store.scan()]
    assert governed.resource(id).created_at == OLD
    governed.memory.learn(lesson("s1", wrote("src/cart.py", 2, at=OLD + DAY), at=OLD + DAY))  # the same session goes on
    assert governed.resource(id).created_at == OLD + DAY
    governed.memory.learn(lesson("s2", wrote("src/cart.py", at=OLD + 2 * DAY), at=OLD + 2 * DAY))
    assert governed.resource(id).created_at == OLD + 2 * DAY
    governed.memory.show(id)
    assert governed.resource(id).created_at == NOW


def test_it_is_of_every_session_that_taught_it(governed: Governed) -> None:
    for session in ("s1", "s2", "s3"):
        governed.memory.learn(lesson(session, wrote("src/cart.py"), *([wrote("src/mail.py")] if session == "s2" else [])))
    sessions = {governed.item(each.id).text: set(each.sessions) for each in governed.domain.resources(NOW)}
    assert sessions == {"src/cart.py": {"s1", "s2", "s3"}, "src/mail.py": {"s2"}}
    governed.old("told", episode="a talk")
    assert governed.resource("told").sessions == ("a talk",)


def test_pins_key_decisions_and_holds_are_vetoes(governed: Governed) -> None:
    for id, fields in (("pinned", {"held": True}), ("key", {"key": True}), ("archived", {"tier": "ARCHIVE"}), ("held", {}), ("free", {})):
        governed.old(id, **fields)
    governed.domain.add_hold(hold("item", "held", until=NOW + DAY))
    vetoes = {each.id: each.vetoes for each in governed.domain.resources(NOW)}
    assert vetoes == {"pinned": ("pinned",), "key": ("pinned",), "archived": ("pinned",), "held": ("on_hold",), "free": ()}
    assert not any(each.vetoes for each in governed.domain.resources(NOW + DAY, ids=["held", "free"]))


def test_what_only_an_agent_calls_a_key_decision_is_not_kept_from_a_policy(governed: Governed) -> None:
    for id, source in (("waits", "agent"), ("accepted", "accepted")):
        governed.old(id, source=source, key=True, tier="ARCHIVE")
    assert {each.id: each.vetoes for each in governed.domain.resources(NOW)} == {"waits": (), "accepted": ("pinned",)}
    assert "added by an agent and not accepted yet" in governed.domain.describe(["waits"])["waits"].stage


def test_marked_items_are_still_there_and_deleted_ones_are_not(governed: Governed) -> None:
    governed.old("m1")
    governed.old("m2")
    governed.domain.mark(["m1", "m2"], NOW, "user")
    governed.domain.delete(["m2"], NOW)
    assert [each.id for each in governed.domain.resources(NOW)] == ["m1"]


def test_they_can_be_those_of_a_project_and_those_of_some_ids(governed: Governed) -> None:
    governed.old("m1")
    governed.old("m2", project="other")
    assert [each.id for each in governed.domain.resources(NOW, PROJECT)] == ["m1"]
    assert [each.id for each in governed.domain.resources(NOW, PROJECT, ["m2", "m1", "none", "m1"])] == ["m1"]


def test_a_timestamp_that_no_clock_can_have_given_is_no_time(tmp_path: Path) -> None:
    governed = Governed(SqliteStore(str(tmp_path / "memory.sqlite"))).of(tmp_path)
    for id, timestamp in (("m1", "soon"), ("m2", "-5"), ("m3", "9e999"), ("m4", "5")):
        governed.old(id)
        with closing(sqlite3.connect(tmp_path / "memory.sqlite")) as db, db:
            db.execute("UPDATE items SET last_accessed = ? WHERE id = ?", (timestamp, id))
    assert [each.created_at for each in governed.domain.resources(NOW)] == [None, None, None, OLD]
    governed.store.close()


def test_a_word_means_the_one_that_it_is_else_some_that_begin_so(governed: Governed) -> None:
    for number in range(7):
        governed.old(f"m3{number}")
    governed.old("m3", project="other")
    matching = governed.domain.matching_ids
    assert (matching("m3"), matching("m36"), matching("x"), matching("")) == (["m3"], ["m36"], [], [])
    assert matching("m3", PROJECT) == ["m30", "m31", "m32", "m33", "m34"]


def test_a_person_is_told_what_it_is_and_where_it_stands(governed: Governed) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLZ"
    governed.old("m1", text=f"the key is {secret}\nand more", episode="s1", tier=COLD, held=True)
    governed.old("m2", tier=COLD, level="summary")
    governed.store.keep_original("m2", "é" * 500)
    governed.domain.mark(["m2"], NOW, "job")
    described = governed.domain.describe(["m2", "m1", "none"])
    assert list(described) == ["m2", "m1"]
    assert secret not in described["m1"].label
    assert described["m1"].label.endswith("and more")
    assert (described["m1"].project, described["m1"].session) == (PROJECT, "s1")
    assert described["m1"].stage == "COLD for 60 days, pinned"
    assert described["m2"].bytes == len("the text of m2") + 1000
    assert described["m2"].stage == "COLD for 60 days, compressed to its summary, marked by its retention policy, can be deleted in 24 h"


# --- marks -------------------------------------------------------------------------------------------------------------------------------


def test_a_policy_marks_in_its_own_name_and_knows_who_let_it(governed: Governed) -> None:
    for id in ("m1", "m2", "mine"):
        governed.old(id)
    governed.memory.forget(["mine"])
    assert governed.domain.mark(["m1", "mine", "none"], NOW, "job") == ["m1"]
    assert governed.domain.mark(["m2", "m1"], NOW + 5, "user") == ["m2"]
    assert {id: (mark.at, mark.by) for id, mark in governed.domain.marked().items()} == {"m1": (NOW, "job"), "m2": (NOW + 5, "user")}
    assert governed.item("m1").marked_by == "policy"
    assert governed.store.logged("m1", 1)[0]["reasons"] == ["its retention policy releases it"]
    assert governed.memory.search("text of m1") == []


def test_a_mark_is_taken_back_by_governance_and_by_the_user(governed: Governed) -> None:
    for id in ("m1", "m2", "mine"):
        governed.old(id)
    governed.domain.mark(["m1", "m2"], NOW, "job")
    governed.memory.forget(["mine"])
    assert governed.domain.unmark(["m1", "mine", "none"]) == ["m1"]
    governed.memory.undo(["m2"])
    assert governed.domain.marked() == {}
    assert governed.item("mine").marked_by == "user"
    assert governed.domain.unmark(["m1", "m2"]) == []


def test_only_what_a_policy_has_marked_is_deleted_and_only_by_it(governed: Governed) -> None:
    for id in ("m1", "mine", "free"):
        governed.old(id)
    governed.memory.forget(["mine"])
    governed.domain.mark(["m1"], NOW, "user")
    governed.after(2 * DAY).run()
    assert [item.id for item in governed.store.scan(marked=True)] == ["m1"]
    assert governed.domain.delete(["m1", "mine", "free", "none"], governed.now) == ["m1"]
    assert governed.domain.delete(["m1"], governed.now) == []
    assert governed.store.get(["m1"]) == []
    assert governed.store.value("governed") is None


def test_what_a_policy_deleted_leaves_the_backups_and_may_be_learnt_again(governed: Governed) -> None:
    governed.memory.learn(lesson("s1", wrote("src/cart.py", at=OLD), at=OLD))
    (item,) = governed.store.scan()
    folder = Folder(str(governed.home)).backups
    while governed.item(item.id).tier != ARCHIVE:
        governed.memory.promote([item.id])
    path = exchange.back_up(governed.store, folder, NOW)
    assert path is not None
    assert item.id in Path(path).read_text()
    governed.memory.demote([item.id])
    governed.domain.mark([item.id], NOW, "user")
    assert governed.domain.delete([item.id], NOW + DAY) == [item.id]
    assert item.id not in Path(path).read_text()
    governed.memory.learn(lesson("s2", wrote("src/cart.py")))
    assert governed.item(item.id).marked_at is None


def test_originals_go_with_their_items(governed: Governed) -> None:
    governed.old("m1")
    governed.store.keep_original("m1", "whole")
    governed.domain.mark(["m1"], NOW, "user")
    governed.domain.delete(["m1"], NOW + DAY)
    assert governed.store.original("m1") is None
    assert governed.store.verify() == []


# --- holds -------------------------------------------------------------------------------------------------------------------------------


def test_holds_come_back_as_they_were_made_and_end_once(governed: Governed) -> None:
    added = [hold("item", "m1"), hold("session", "s1", "h2", NOW + DAY), hold("project", PROJECT, "h3")]
    for each in [*added, hold("item", "another", "h1")]:
        governed.domain.add_hold(each)
    assert governed.domain.holds() == added
    assert [governed.domain.release_hold(id, NOW + 5) for id in ("h1", "h1", "none")] == [True, False, False]
    assert governed.domain.release_hold("h2", NOW + 2 * DAY) is False
    assert governed.domain.holds() == [added[0].released(NOW + 5), *added[1:]]


@pytest.mark.parametrize(("scope", "target"), [("item", "m1"), ("session", "s1"), ("project", PROJECT)])
def test_nothing_marks_or_deletes_what_is_on_hold(governed: Governed, scope: str, target: str) -> None:
    governed.old("m1", episode="s1")
    governed.old("m2", episode="s1")
    governed.domain.mark(["m2"], NOW, "user")
    governed.domain.add_hold(hold(scope, target))
    governed.domain.add_hold(hold("item", "m2", "h2"))
    assert governed.domain.mark(["m1"], NOW, "user") == []
    assert governed.domain.delete(["m2"], NOW + 2 * DAY) == []
    with pytest.raises(ItemOnHold):
        governed.memory.forget(["m1"])
    for id in ("h1", "h2"):
        governed.domain.release_hold(id, NOW)
    assert governed.domain.mark(["m1"], NOW, "user") == ["m1"]
    assert governed.domain.delete(["m1", "m2"], NOW + DAY) == ["m1", "m2"]


def test_a_hold_keeps_what_comes_to_its_session_or_project_later(governed: Governed) -> None:
    governed.domain.add_hold(hold("session", "s1"))
    governed.domain.add_hold(hold("project", "other", "h2"))
    governed.memory.learn(lesson("s1", wrote("src/cart.py")))
    governed.old("m1", project="other")
    assert [each.vetoes for each in governed.domain.resources(NOW)] == [("on_hold",)] * 2


@pytest.mark.parametrize("word", ["undo", "pin"])
def test_what_is_brought_back_while_a_collection_is_at_work_stays(governed: Governed, word: str) -> None:
    for id in ("m1", "m2"):
        governed.old(id)
    governed.domain.mark(["m1", "m2"], NOW, "user")
    write = governed.store.write

    def write_late(batch: Batch) -> None:
        governed.store.write = write  # type: ignore[method-assign]
        getattr(governed.memory, word)(["m1"])
        write(batch)

    governed.store.write = write_late  # type: ignore[method-assign]
    assert governed.domain.delete(["m1", "m2"], NOW + DAY) == ["m2"]
    assert governed.item("m1").marked_at is None


# --- archives ----------------------------------------------------------------------------------------------------------------------------


def test_archived_content_returns_byte_for_byte_and_counts_as_wanted_from_then_on(governed: Governed) -> None:
    governed.store.add([replace(full("m1"), held=False, key=False, marked_at=None, marked_by=""), full("m2")])
    governed.store.keep_original("m1", "the whole text\r\n\u2028 é \U0001f993 \ud800")
    governed.old("m3", text="bare", kind="own", details={"a": ["é", None, {"b": 1.5}]})
    ids = ["m3", "m1", "m2"]
    before = list(governed.domain.contents(["none", *ids]))
    assert [content.id for content in before] == ids
    items = governed.store.get(ids)
    governed.store.remove(ids)
    governed.now += DAY
    assert governed.domain.put_back(before, governed.now) == ids
    assert governed.domain.put_back(before, governed.now) == []
    assert list(governed.domain.contents(ids)) == [replace(each, about={**each.about, "last_accessed": governed.now}) for each in before]
    for item, again in zip(items, governed.store.get(ids)):
        assert again == replace(item, last_accessed=governed.now, marked_at=None, marked_by="")
    assert governed.resource("m3").created_at == governed.now
    assert governed.store.original("m1") == "the whole text\r\n\u2028 é \U0001f993 \ud800"
    assert governed.store.verify() == []


def test_what_is_there_stays_as_it_is(governed: Governed) -> None:
    governed.old("m1", text="as it was")
    (content,) = governed.domain.contents(["m1"])
    governed.memory.pin(["m1"])
    assert governed.domain.put_back([content, content], NOW) == []
    assert governed.item("m1").held


def test_what_comes_back_from_an_archive_may_be_learnt_again(governed: Governed) -> None:
    governed.memory.learn(lesson("s1", wrote("src/cart.py")))
    (item,) = governed.store.scan()
    archived = list(governed.domain.contents([item.id]))
    governed.memory.forget([item.id])
    governed.after(25 * HOUR).run()
    assert governed.domain.put_back(archived, governed.now) == [item.id]
    governed.memory.learn(lesson("s2", wrote("src/cart.py")))
    assert governed.item(item.id).sessions == 2
    assert set(governed.resource(item.id).sessions) == {"s1", "s2"}


def test_a_line_of_an_archive_is_one_of_an_export(governed: Governed) -> None:
    governed.old("m1")
    (content,) = governed.domain.contents(["m1"])
    exported = json.loads(list(exchange.lines_of(governed.store, None, NOW))[1])
    renewed = {name: exported.pop(name) for name in ("last_accessed", "marked_at", "marked_by")}
    assert (json.loads(content.data), renewed["last_accessed"]) == (exported, OLD)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"id": "other", "text": "x"}', b'{"id": "m1", "text": 5}', b"[" * 99_999])
def test_what_is_no_item_is_refused_and_nothing_comes_back(governed: Governed, data: bytes) -> None:
    governed.old("m2")
    good = list(governed.domain.contents(["m2"]))
    governed.store.remove(["m2"])
    with pytest.raises(DomainUnavailable, match="memory: 'm1'"):
        governed.domain.put_back([*good, Content("m1", data)], NOW)
    assert list(governed.store.scan()) == []


# --- the store ---------------------------------------------------------------------------------------------------------------------------


def test_where_nobody_has_made_a_store_there_is_nothing_and_none_is_made(tmp_path: Path) -> None:
    domain = MemoryDomain({"POPKIT_HOME": str(tmp_path)}, lambda: NOW)
    assert list(domain.resources(NOW)) == []
    assert (domain.matching_ids("m1"), domain.describe(["m1"]), domain.placeholders(["m1"]), domain.holds()) == ([], {}, {}, [])
    assert (domain.mark(["m1"], NOW, "user"), domain.unmark(["m1"]), domain.delete(["m1"], NOW), domain.marked()) == ([], [], [], {})
    assert (list(domain.contents(["m1"])), domain.put_back([], NOW), domain.release_hold("h1", NOW)) == ([], [], False)
    domain.compact()
    domain.close()
    assert list(tmp_path.rglob("*.sqlite")) == []
    domain.add_hold(hold("project", PROJECT))
    assert [path.name for path in tmp_path.rglob("*.sqlite")] == ["memory.sqlite"]
    domain.close()
    with_another = MemoryDomain({"POPKIT_HOME": str(tmp_path)}, lambda: NOW)
    assert with_another.holds() == [hold("project", PROJECT)]
    with_another.close()


def test_a_store_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    (tmp_path / "memory.sqlite").write_text("no database at all" * 99)
    domain = MemoryDomain({"POPKIT_HOME": str(tmp_path)}, lambda: NOW)
    for ask in (lambda: list(domain.resources(NOW)), lambda: domain.mark(["m1"], NOW, "user"), domain.holds, domain.compact):
        with pytest.raises(DomainUnavailable, match="Move it away"):
            ask()


def test_compacting_a_file_gives_its_space_back(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    governed = Governed(SqliteStore(str(path))).of(tmp_path)
    for number in range(200):
        governed.old(f"m{number}", text="word " * 2_000 + str(number))
    before = path.stat().st_size
    ids = [each.id for each in governed.domain.resources(NOW)]
    governed.domain.mark(ids, NOW, "user")
    governed.domain.delete(ids, NOW + DAY)
    assert path.stat().st_size >= before
    assert governed.domain.compact()
    assert path.stat().st_size < before / 5
    other = SqliteStore(str(path))
    with other._writing():
        assert not governed.domain.compact()
    other.close()
    governed.store.close()


@pytest.mark.bench
def test_100_000_resources_with_embeddings_take_some_seconds_of_the_processor(tmp_path: Path) -> None:
    governed = Governed(SqliteStore(str(tmp_path / "memory.sqlite"))).of(tmp_path)
    for number in range(100):
        times = dict.fromkeys(("created_at", "last_accessed", "tier_since"), OLD)
        paths = [f"src/part{number}/file{each}.py" for each in range(1_000)]
        items = [Item(id_of("p", "path", path), path, "p", "path", "code", embedding=[0.5] * DIMENSIONS, **times) for path in paths]
        governed.store.add(items)
        governed.store.set_value(f"lesson:p:s{number}", {"number": number, "ended": OLD, "writes": {item.id: 1 for item in items[:300]}})
    began = time.process_time()
    assert apply_rules(DEFAULT_POLICY, governed.domain.resources(NOW), NOW).left_out == 95_000
    taken = time.process_time() - began
    print(f"{taken:.2f} s")
    assert taken < 4.0
    governed.store.close()


# --- the law -----------------------------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("job"), st.sampled_from([0.0, HOUR, DAY, 40 * DAY])),
        st.tuples(
            st.sampled_from(["collect", "forget", "forget by a tool", "undo", "pin", "hold", "release", "learn", "put back"]),
            st.integers(0, 5),
        ),
    ),
    max_size=25,
)


@pytest.mark.parametrize("kind", ["in memory", "sqlite"])
@settings(max_examples=examples(25, 1_000), deadline=None)
@given(steps=STEPS)
def test_nothing_that_is_on_hold_ever_goes(tmp_path_factory: pytest.TempPathFactory, kind: str, steps: list) -> None:
    """Whatever the job, the user, tools and collections do, in whatever order."""
    home = tmp_path_factory.mktemp("law")
    store: Store = InMemoryStore() if kind == "in memory" else SqliteStore(str(home / "memory.sqlite"))
    governed = Governed(store).of(home)
    for number in range(6):
        governed.old(f"m{number}", tier=COLD, profile="code", episode=f"s{number % 3}", text=LONG)
    archived = list(governed.domain.contents([f"m{number}" for number in range(6)]))
    for number, (step, which) in enumerate(steps):
        before = {item.id: item for item in store.scan()}
        on = holds.read(store, governed.now)
        held = {id for id, item in before.items() if on.on(item)}
        _take(governed, step, which, number, archived)
        if step in ("job", "hold", "release"):  # time has passed, or another hold holds
            on = holds.read(store, governed.now)
            held &= {id for id, item in before.items() if on.on(item)}
        after = {item.id: item for item in store.scan()}
        assert held <= set(after)
        assert all(after[id].marked_at in (before[id].marked_at, None) and after[id].text == before[id].text for id in held)
    assert store.verify() == []
    store.close()


def _take(governed: Governed, step: str, which: int, number: int, archived: list[Content]) -> None:
    domain, id = governed.domain, f"m{which}"
    if step == "job":
        governed.after(which).run(force=True)
    elif step == "collect":
        _collect(governed)
    elif step == "hold":
        scope, target = (("item", id), ("session", f"s{which % 3}"), ("project", PROJECT))[number % 3]
        domain.add_hold(hold(scope, target, f"h{which}", governed.now + DAY if which % 2 else None))
    elif step == "release":
        domain.release_hold(f"h{which}", governed.now)
    elif step == "learn":
        governed.memory.learn(lesson(f"s{which % 3}", wrote("src/cart.py"), at=governed.now))
    elif step == "put back":
        domain.put_back([archived[which]], governed.now)
    else:
        try:
            if step == "forget by a tool":
                governed.memory.forget([id], "tool")
            else:
                getattr(governed.memory, step)([id])
        except (ItemOnHold, LookupError):
            pass


def _collect(governed: Governed) -> None:
    """As bluntly as a collection could be: what is eligible or marked is marked and deleted at once."""
    due = apply_rules(replace(DEFAULT_POLICY, older_than_days=1), governed.domain.resources(governed.now), governed.now)
    everything = [each.id for each in (*due.eligible, *due.protected)]
    governed.domain.mark(everything, governed.now, "job")
    governed.domain.delete(everything, governed.now)
