"""The store in Neo4j, on a real server, which these tests start: they stay in one file, so that there is one of it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from popkit_retention import conformance
from popkit_retention.conformance.checking import NOW, example, full
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.retention_kit.holds import Hold
from popkit_retention.governance.domains.memory import MemoryDomain
from popkit_retention.memory.items import LEVELS
from popkit_retention.memory.monitoring import Compressed, monitor
from popkit_retention.memory.stores.protocol import Change
from popkit_retention.memory.stores.servers import neo4j_schema
from popkit_retention.memory.stores.servers.neo4j import Neo4jStore
from popkit_retention.memory.tier_manager import MemoryTierManager
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function
from tests.memory.stores import server as servers
from tests.memory.stores.refusing import refused
from tests.memory.stores.server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.conformance.checking import Contract

OURS = "MATCH (n) WHERE n:PopkitItem OR n:PopkitValue OR n:PopkitEntry OR n:PopkitCounter DETACH DELETE n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own; else the one that NEO4J_TEST_URI names; else what is missing is told. CI must have it where it can."""
    lacking = servers.missing()
    if lacking:
        if not os.environ.get("NEO4J_TEST_URI"):
            pytest.skip(f"no Neo4j: {lacking} missing, and NEO4J_TEST_URI names none")
        yield Server(os.environ["NEO4J_TEST_URI"])
        return
    try:
        servers.install()
    except servers.ServerInstallError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with servers.running(tmp_path_factory.mktemp("neo4j")) as started:
        yield started


@pytest.fixture
def fresh(server: Server) -> Callable[[], Neo4jStore]:
    """Makes a store with nothing in it."""

    def make() -> Neo4jStore:
        store = Neo4jStore(server.url, os.environ)
        store._write(lambda tx: tx.run(OURS).consume())
        return store

    return make


@pytest.mark.parametrize("contract", conformance.contracts(), ids=lambda contract: contract.__name__)
def test_it_keeps(contract: Contract, fresh: Callable[[], Neo4jStore], server: Server) -> None:
    conformance.hold(contract, fresh, lambda _: Neo4jStore(server.url, os.environ, try_s=300))


def test_governance_rules_over_it_as_over_any_store(fresh: Callable[[], Neo4jStore], tmp_path: Path) -> None:
    store = fresh()
    domain = MemoryDomain({"POPKIT_HOME": str(tmp_path)}, lambda: NOW, store)
    items = [replace(full(id), held=False, key=False, marked_at=None, marked_by="") for id in ("held", "kept", "gone")]
    store.add(items)
    store.keep_original("gone", "the whole text")
    store.set_value("lesson:github.com/a/b:s1", {"writes": {"kept": 1}, "ended": NOW})
    domain.add_hold(Hold("h1", "item", "held", "alice", "audit", NOW))
    domain.add_hold(Hold("h2", "session", "s1", "bob", "tests", NOW, NOW + 60))
    vetoes = {each.id: each.vetoes for each in domain.resources(NOW)}
    assert vetoes == {"gone": (), "held": ("on_hold",), "kept": ("on_hold",)}
    assert domain.mark(["held", "kept", "gone"], NOW, "job") == ["gone"]
    assert {id: mark.by for id, mark in domain.marked().items()} == {"gone": "job"}
    archived = list(domain.contents(["gone"]))
    assert domain.delete(["held", "gone"], NOW) == ["gone"]
    assert domain.put_back(archived, NOW + 60) == ["gone"]
    assert [each.data for each in domain.contents(["gone"])] == [each.data for each in archived]
    assert domain.release_hold("h1", NOW)
    assert domain.mark(["held"], NOW, "user") == ["held"]
    assert domain.unmark(["held"]) == ["held"]
    assert store.verify() == []
    store.close()


def test_the_server_is_a_real_one(fresh: Callable[[], Neo4jStore], record_property: Callable, tmp_path: Path) -> None:
    store = fresh()
    ((name, versions, edition),) = store.components()
    store.close()
    record_property("server", f"{name} {versions[0]} {edition}")
    print(name, versions[0], edition)
    assert name == "Neo4j Kernel"


@pytest.fixture
def store(fresh: Callable[[], Neo4jStore]) -> Iterator[Neo4jStore]:
    opened = fresh()
    yield opened
    opened.close()


def test_nodes_and_indexes_are_those_of_the_specification(store: Neo4jStore) -> None:
    store.add([example(1), full()])
    store.access(["m00001"], time.time())
    rows = store.ask("MATCH (n:PopkitItem) RETURN labels(n), properties(n) ORDER BY n.id")
    (whole, short), (chunk, context) = (properties for _, properties in rows), (set(labels) for labels, _ in rows)
    assert (chunk, context) == ({"PopkitItem", "CompressedContext"}, {"PopkitItem", "KnowledgeChunk"})
    named = {
        "access_count", "last_accessed", "reinforcement_count", "memory_strength", "retention_probability", "retention_value", "uniqueness",
        "confidence", "access_recency", "composite_score", "tier", "previous_tier", "tier_changed_at",
    }  # fmt: skip
    assert named <= whole.keys()
    assert named | {"compression_level", "token_count"} <= short.keys()
    assert short["retention_value"] == pytest.approx(1 / 20, abs=1e-3)
    assert (short["access_recency"], short["memory_strength"]) == (pytest.approx(1.0, abs=1e-3), 7.0)
    assert whole["memory_strength"] == pytest.approx(7 * 1.5**4)
    names = {row[0] for row in store.ask("SHOW INDEXES YIELD name RETURN name")}
    assert {"knowledge_chunk_retention", "compressed_context_retention", "popkit_terms"} <= names
    store.change([Change("m00001", {"level": "keywords", "text": "zebra"}), Change("full", {"level": "full"})])
    assert [set(labels) for (labels,) in store.ask("MATCH (n:PopkitItem) RETURN labels(n) ORDER BY n.id")] == [context, chunk]


def test_nodes_of_others_are_never_touched(store: Neo4jStore) -> None:
    theirs = "{id: 'm00001', tier: 'WARM', composite_score: 0.9, access_count: 9, content: 'theirs'}"
    store.ask(f"CREATE (:KnowledgeChunk {theirs}), (:CompressedContext {theirs})", writes=True)
    try:
        store.add([example(1)])
        store.change([Change("m00001", {"tier": "COLD"})])
        assert monitor(store, NOW).tiers == {"COLD": 1}
        assert monitor(store, NOW).archive == []
        assert store.remove(["m00001"]) == 1
        assert store.ask("MATCH (n) WHERE n.content = 'theirs' RETURN n.tier") == [["WARM"], ["WARM"]]
    finally:
        store.ask("MATCH (n) WHERE n.content = 'theirs' DELETE n", writes=True)


def test_monitoring_answers_as_the_specification_asks(store: Neo4jStore) -> None:
    day = 86_400.0
    store.add(
        [
            example(1, tier="HOT", created_at=NOW - 2 * day, score=0.5, project="p"),
            example(2, tier="HOT", created_at=NOW - 2 * day, score=0.6, project="p"),
            example(3, tier="HOT", created_at=NOW - day / 2, score=0.1, project="p"),
            example(4, tier="WARM", score=0.8, access_count=5, text="x" * 250, project="p"),
            example(5, tier="WARM", score=0.8, access_count=4, project="p"),
            example(6, tier="COLD", level="summary", text="y" * 29, score=0.25, project="p"),
            example(7, tier="COLD", level="summary", text="y" * 58, score=0.75, project="q"),
        ]
    )
    everything, of_p, of_q = monitor(store, NOW), monitor(store, NOW, "p"), monitor(store, NOW, "q")
    assert of_p.tiers == {"HOT": 3, "WARM": 2, "COLD": 1}
    assert everything.tiers["COLD"] == 2
    assert everything.levels == [Compressed("summary", 2, (estimate_tokens("y" * 29) + estimate_tokens("y" * 58)) / 2, 0.5)]
    assert [(item.id, item.score, item.access_count) for item in everything.demotion] == [("m00001", 0.5, 0)]
    assert [(item.id, item.text) for item in of_p.archive] == [("m00004", "x" * 250)]
    assert of_q.archive == []


@pytest.mark.parametrize("level", LEVELS)
def test_the_specified_manager_moves_items_of_every_level_and_names_the_rest(store: Neo4jStore, level: str) -> None:
    """It says what it cannot move."""
    store.add([example(1, level=level, score=0.25)])
    item = {"id": "m00001", "tier": "WARM", "composite_score": 0.25, "created_at": "2026-11-20T00:00:00Z"}
    with store._session() as session:
        manager = MemoryTierManager(session)
        assert manager.evaluate_and_transition(item) == ("COLD", "demote_age_or_value")
        (moved,) = store.get(["m00001"])
        assert (moved.tier, moved.previous_tier, moved.tier_score) == ("COLD", "WARM", 0.25)
        with pytest.raises(LookupError, match="'gone': it was not moved from WARM to COLD"):
            manager.evaluate_and_transition({**item, "id": "gone"})


def test_what_the_specifications_manager_deletes_is_marked(store: Neo4jStore) -> None:
    store.add([example(1, level="keywords", tier="COLD")])
    item = {"id": "m00001", "tier": "COLD", "composite_score": 0.01, "created_at": "2026-01-20T00:00:00Z"}
    with store._session() as session:
        assert MemoryTierManager(session).evaluate_and_transition(item) == ("DELETED", "delete_expired")
    (marked,) = store.get(["m00001"])
    assert (marked.tier, marked.marked_by, marked.marked_at is not None) == ("COLD", "job", True)
    assert store.verify() == []


def test_two_machines_lose_no_access(store: Neo4jStore, server: Server) -> None:
    store.add([example(1), example(2)])
    with closing(Forks(installed=True)) as forks:
        all_do(forks, [Function("tests.memory.stores.working:access", [server.url])] * 2, dict(os.environ))
    assert [item.access_count for item in store.get(["m00001", "m00002"])] == [50, 50]


def test_a_server_that_may_only_be_read_says_so_and_keeps_what_it_has(store: Neo4jStore, server: Server) -> None:
    if server.process is None:
        pytest.skip("somebody else's server stays as it is")
    store.add([example(1)])
    server.tell("read-only")
    try:
        for use in (lambda: store.add([example(2)]), lambda: store.access(["m00001"], NOW), lambda: store.remove(["m00001"])):
            refused(use, "is read-only", "Make it writable")
        assert [item.to_json() for item in store.scan()] == [example(1).to_json()]
    finally:
        server.tell("writable")
    assert store.access(["m00001"], NOW) == 1


def test_a_store_of_a_later_popkit_is_left_alone(store: Neo4jStore, server: Server) -> None:
    store.ask(neo4j_schema.SET_VERSION, writes=True, version=99)
    try:
        refused(lambda: Neo4jStore(server.url, os.environ), "later PopKit", "Update PopKit")
    finally:
        store.ask(neo4j_schema.SET_VERSION, writes=True, version=neo4j_schema.VERSION)


def test_a_database_that_is_not_there_is_reported(fresh: Callable[[], Neo4jStore], server: Server) -> None:
    fresh().close()
    refused(lambda: Neo4jStore(server.url, {**os.environ, "NEO4J_DATABASE": "nobodys"}), "Set NEO4J_DATABASE")


def test_an_original_that_was_tampered_with_is_found(store: Neo4jStore) -> None:
    store.add([example(1)])
    store.keep_original("m00001", "the whole text")
    store.ask("MATCH (n:PopkitItem) SET n.original_hash = 'another'", writes=True)
    refused(lambda: store.original("m00001"), "damaged", "backup")
    assert len(store.verify()) == 1


@pytest.mark.bench
def test_how_long_searches_take_among_20_000_items(store: Neo4jStore) -> None:
    draw = random.Random(1)
    vocabulary = [f"w{number:x}" for number in range(30_000)]
    weights = [1 / (number + 5) for number in range(30_000)]
    for start in range(0, 20_000, 5_000):
        store.add([example(n, text=" ".join(draw.choices(vocabulary, weights, k=15)), project="p") for n in range(start, start + 5_000)])
    taken = []
    for _ in range(50):
        asked = draw.choices(vocabulary, weights, k=6)
        began = time.perf_counter()
        store.candidates(asked, "p")
        taken.append(time.perf_counter() - began)
    print(f"candidates: {sorted(taken)[25] * 1000:.1f} ms at the median")
    began = time.perf_counter()
    changed = store.change(Change(item.id, {"score": 0.5}) for item in store.scan())
    print(f"scan and change of {changed}: {time.perf_counter() - began:.1f} s")
