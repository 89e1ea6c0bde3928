"""Laws that hold whatever is added and archived, in whatever order, within whatever boundaries."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from popkit_retention.core import archive
from popkit_retention.core.archive import RETENTION_ZONES, Chain, hash_content
from popkit_retention.core.archive.verification import verify
from tests.archive.written import row

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
BOUNDARIES = st.tuples(st.integers(1, 6), st.integers(0, 6)).map(lambda pair: (pair[0], sum(pair)))
KEEPS = {None: (True, False), "hot": (True, False), "warm": (False, True), "cold": (False, False)}


class Archiving(RuleBasedStateMachine):
    """The archive beside what it should hold: id -> (content, zone)."""

    @initialize()
    def begin(self) -> None:
        self.db = sqlite3.connect(":memory:")
        archive.migrate(self.db)
        self.known: dict[str, list] = {}
        self.chains: dict[str, list[str]] = {"one": [], "two": []}

    @rule(name=st.sampled_from(["one", "two"]), contents=st.lists(ANY_TEXT, max_size=5), call=st.integers(0, 3))
    def add(self, name: str, contents: list[str], call: int) -> None:
        given = [archive.NewRecord(f"call{call}", "read", text[:20], text) for text in contents]
        for id, text in zip(archive.add_records(self.db, Chain(name, name), given, now=1.0), contents):
            if id not in self.known:
                self.chains[name].append(id)
                self.known[id] = [text, "hot"]
            assert self.known[id][0] == text
            assert self.known[id][1] != "cold", "what is added can be had"

    def _expect(self, name: str, id: str, boundaries: tuple, may_go_cold: bool = True) -> None:
        ids = self.chains[name]
        target = archive.compute_zone(len(ids) - ids.index(id), *boundaries)
        if target == "cold" and not may_go_cold:
            target = "warm"
        self.known[id][1] = max(self.known[id][1], target, key=RETENTION_ZONES.index)

    @rule(name=st.sampled_from(["one", "two"]), which=st.integers(0, 30), boundaries=BOUNDARIES)
    def archive_one(self, name: str, which: int, boundaries: tuple) -> None:
        ids = self.chains[name]
        if ids:
            id = ids[which % len(ids)]
            before = self.known[id][1]
            self._expect(name, id, boundaries)
            moved = archive.archive_record(self.db, id, *boundaries)
            assert moved == {"id": id, "from_zone": before, "to_zone": self.known[id][1], "changed": before != self.known[id][1]}

    @rule(name=st.sampled_from(["one", "two"]), boundaries=BOUNDARIES, refused=st.booleans())
    def archive_all(self, name: str, boundaries: tuple, refused: bool) -> None:
        for id in self.chains[name]:
            self._expect(name, id, boundaries, not refused)
        archive.archive_chain(self.db, name, lambda record: not refused, *boundaries)

    @invariant()
    def every_record_is_what_it_should_be(self) -> None:
        for name, ids in self.chains.items():
            assert [archive.get_record_position(self.db, id) for id in ids] == list(range(len(ids), 0, -1))
            assert [record.id for record in archive.find_records(self.db, task_id=name)] == ids[::-1]
        for id, (text, zone) in self.known.items():
            found, columns = archive.retrieve_record(self.db, id), row(self.db, id)
            assert found["zone"] == zone
            assert found.get("content", text) == text
            assert found.get("hash_only", hash_content(text)) == columns["content_hash"] == hash_content(text)
            assert (columns["content"] is not None, columns["content_compressed"] is not None) == KEEPS[columns["zone"]]
        report = verify(self.db)
        assert (report.records, report.broken) == (len(self.known), [])

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()


Archiving.TestCase.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)
TestArchiving = Archiving.TestCase


@settings(deadline=None)
@given(st.lists(ANY_TEXT, min_size=1, max_size=12, unique=True), st.lists(BOUNDARIES, min_size=1, max_size=3))
def test_a_chain_archived_at_once_equals_one_archived_record_by_record(contents: list[str], steps: list[tuple]) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        archive.migrate(db)
        chains = []
        for name in ("at once", "one by one"):
            given = [archive.NewRecord("call", "read", "", text) for text in contents]
            chains.append(archive.add_records(db, Chain(name, name), given))
        for boundaries in steps:
            archive.archive_chain(db, "at once", lambda record: True, *boundaries)
            for id in chains[1]:
                archive.archive_record(db, id, *boundaries)
        kept = [[[row(db, id)[name] for name in ("zone", "content_compressed", "content_hash")] for id in ids] for ids in chains]
        assert kept[0] == kept[1]
