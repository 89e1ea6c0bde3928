"""The resources of the domain `memory`, over stores in memory and in SQLite."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.governance import DomainUnavailable
from popkit_retention.governance.domains.memory import MemoryDomain
from popkit_retention.governance.domains.rules import Resource, apply_rules
from popkit_retention.governance.policies import DEFAULT_POLICY
from popkit_retention.memory.items import COLD, DIMENSIONS, Item, id_of
from popkit_retention.memory.stores.sqlite import SqliteStore
from tests.governance.governed_memory import OLD, Governed, hold
from tests.memory.remembering import DAY, NOW, PROJECT, lesson, wrote


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
    sessions = {governed.item(resource.id).text: set(resource.sessions) for resource in governed.domain.resources(NOW)}
    assert sessions == {"src/cart.py": {"s1", "s2", "s3"}, "src/mail.py": {"s2"}}
    governed.old("told", episode="a talk")
    assert governed.resource("told").sessions == ("a talk",)


def test_pins_key_decisions_and_holds_are_vetoes(governed: Governed) -> None:
    for id, fields in (("pinned", {"held": True}), ("key", {"key": True}), ("archived", {"tier": "ARCHIVE"}), ("held", {}), ("free", {})):
        governed.old(id, **fields)
    governed.domain.add_hold(hold("item", "held", until=NOW + DAY))
    vetoes = {resource.id: resource.vetoes for resource in governed.domain.resources(NOW)}
    assert vetoes == {"pinned": ("pinned",), "key": ("pinned",), "archived": ("pinned",), "held": ("on_hold",), "free": ()}
    assert not any(resource.vetoes for resource in governed.domain.resources(NOW + DAY, ids=["held", "free"]))


def test_what_only_an_agent_calls_a_key_decision_is_not_kept_from_a_policy(governed: Governed) -> None:
    for id, source in (("waits", "agent"), ("accepted", "accepted")):
        governed.old(id, source=source, key=True, tier="ARCHIVE")
    assert {resource.id: resource.vetoes for resource in governed.domain.resources(NOW)} == {"waits": (), "accepted": ("pinned",)}
    assert "added by an agent and not accepted yet" in governed.domain.describe(["waits"])["waits"].stage


def test_marked_items_are_still_there_and_deleted_ones_are_not(governed: Governed) -> None:
    governed.old("m1")
    governed.old("m2")
    governed.domain.mark(["m1", "m2"], NOW, "user")
    governed.domain.delete(["m2"], NOW)
    assert [resource.id for resource in governed.domain.resources(NOW)] == ["m1"]


def test_they_can_be_those_of_a_project_and_those_of_some_ids(governed: Governed) -> None:
    governed.old("m1")
    governed.old("m2", project="other")
    assert [resource.id for resource in governed.domain.resources(NOW, PROJECT)] == ["m1"]
    assert [resource.id for resource in governed.domain.resources(NOW, PROJECT, ["m2", "m1", "none", "m1"])] == ["m1"]


def test_a_timestamp_that_no_clock_can_have_given_is_no_time(tmp_path: Path) -> None:
    governed = Governed(SqliteStore(str(tmp_path / "memory.sqlite"))).of(tmp_path)
    for id, timestamp in (("m1", "soon"), ("m2", "-5"), ("m3", "9e999"), ("m4", "5")):
        governed.old(id)
        with closing(sqlite3.connect(tmp_path / "memory.sqlite")) as db, db:
            db.execute("UPDATE items SET last_accessed = ? WHERE id = ?", (timestamp, id))
    assert [resource.created_at for resource in governed.domain.resources(NOW)] == [None, None, None, OLD]
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
    ids = [resource.id for resource in governed.domain.resources(NOW)]
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
