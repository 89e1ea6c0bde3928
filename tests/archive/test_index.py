"""Laws that hold whatever comes and goes: what is held stays, a search finds what a look at every content finds, verify is content;
also while several processes are at work, and when they are killed."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from popkit_retention.core import archive
from popkit_retention.core.archive import Chain, NewRecord, add_records, archive_record, index
from popkit_retention.core.archive.deletion import delete_records
from popkit_retention.core.archive.holds import add_hold, place_folders, release_hold
from popkit_retention.core.archive.returning import ReturningContent, bring_back
from popkit_retention.core.archive.searching import search
from popkit_retention.core.archive.terms import terms_of
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.io.sqlite_file import Transaction
from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SESSION, Hold
from tests.archive.searched import NOW, found, retrieve, text_record, with_all_queued
from tests.archive.written import CHAIN, fill, new
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function

WORDS = ["alpha", "betaGamma", "gamma_delta", "beta", "delta", "häuser", "数据库", "alphabet"]
LETTERS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)


def naive(held: dict[int, tuple[str, str]], question: str, most: int, among: set[str]) -> list[str]:
    """What `search` says it finds among handles, found by looking at every content. `held`: seq -> (handle, text with label)."""
    has = {seq: set(terms_of(text)) for seq, (_, text) in held.items()}
    ranked = []
    for term in terms_of(question):
        exact = {seq for seq, terms in has.items() if term in terms}
        holders = exact or {seq for seq, terms in has.items() if any(each.startswith(term) for each in terms)}
        if holders:
            ranked.append((len(holders), term, holders))
    ranked.sort()
    searched = {seq: each for seq, each in held.items() if each[0] in among}
    return placed(searched, ranked, len(ranked) // 2 + 1)[:most] or placed(searched, ranked, 1)[:most]


def placed(held: dict[int, tuple[str, str]], ranked: list, least: int) -> list[str]:
    found = []
    for seq in held:
        best = None
        for first in range(len(ranked)):
            row = 0
            while first + row < len(ranked) and seq in ranked[first + row][2]:
                row += 1
            if row >= least:
                best = best or (first, -row, -seq)
        if best:
            found.append(best)
    return [held[-seq][0] for _, _, seq in sorted(found)]


class Keeping(RuleBasedStateMachine):
    """An archive through which records come and go, beside what it should hold."""

    @initialize()
    def begin(self) -> None:
        self.db = sqlite3.connect(":memory:")
        archive.migrate(self.db)
        self.given: dict[str, tuple[Chain, NewRecord]] = {}
        self.safe: list[str] = []  # what is held, and was there when it was held
        self.holds: list[tuple[str, str]] = []
        self.number = 0

    def _is_held(self, id: str) -> bool:
        name = self.given[id][0].session_id
        return any(about in self.holds for about in ((ITEM, id), (SESSION, name), (PROJECT, name)))

    @rule(name=st.sampled_from(["one", "two"]), texts=st.lists(LETTERS, max_size=3), call=st.integers(0, 9))
    def add(self, name: str, texts: list[str], call: int) -> None:
        chain = Chain(name, name, project="/" + name)
        new = [text_record(call, text) for text in texts]
        for id, record in zip(add_records(self.db, chain, new), new):
            self.given[id] = (chain, record)

    def _some(self, picks: list[int]) -> list[str]:
        ids = sorted(self.given)
        return sorted({ids[pick % len(ids)] for pick in picks}) if ids else []

    @rule(picks=st.lists(st.integers(0, 40), max_size=5))
    def delete(self, picks: list[int]) -> None:
        ids = self._some(picks)
        there = {id for id in ids if retrieve(self.db, id)}
        assert set(delete_records(self.db, ids, NOW)) == {id for id in there if not self._is_held(id)}

    @rule()
    def prune(self) -> None:
        archive.prune(self.db, 4e9, now=NOW)

    @rule(picks=st.lists(st.integers(0, 40), max_size=5))
    def come_back(self, picks: list[int]) -> None:
        ids = self._some(picks)
        missing = {id for id in ids if not retrieve(self.db, id)}
        back = [ReturningContent(id, *self.given[id]) for id in ids]
        assert set(bring_back(self.db, back, NOW)) == missing
        assert bring_back(self.db, back, NOW) == []

    @rule(pick=st.integers(0, 40))
    def cool(self, pick: int) -> None:
        for id in self._some([pick]):
            if archive.record(self.db, id):
                archive_record(self.db, id, hot_max=1, warm_max=1, now=NOW)

    @rule(scope=st.sampled_from([ITEM, SESSION, PROJECT]), name=st.sampled_from(["one", "two"]), pick=st.integers(0, 40))
    def hold(self, scope: str, name: str, pick: int) -> None:
        for target in self._some([pick]) if scope == ITEM else [name]:
            self.number += 1
            add_hold(self.db, Hold(f"h{self.number}", scope, target, "user", "", NOW))
            self.holds.append((scope, target))
            self.safe = [id for id in self.given if self._is_held(id) and retrieve(self.db, id)]

    @rule()
    def release(self) -> None:
        for number in range(self.number + 1):
            release_hold(self.db, f"h{number}", NOW)
        self.holds, self.safe = [], []

    @rule()
    def forget_the_index(self) -> None:
        with_all_queued(self.db)

    @rule()
    def index_all(self) -> None:
        assert index.index_queued(self.db) == 0

    @rule(question=LETTERS, most=st.integers(1, 6), project=st.sampled_from([None, "/one"]))
    def ask(self, question: str, most: int, project: str | None) -> None:
        index.index_queued(self.db)
        held = {}
        for id, (_, record) in self.given.items():
            if retrieve(self.db, id):
                seq = self.db.execute("SELECT seq FROM thought_records WHERE id = ?", (id,)).fetchone()[0]
                held[seq] = (id, record.label + " " + json.loads(record.content))
        among = {id for id, (chain, _) in self.given.items() if project in (None, chain.project)}
        where = {} if project is None else {"projects": {project}}
        assert found(self.db, question, most=most, **where) == naive(held, question, most, among)

    @invariant()
    def what_is_held_is_there_and_all_is_as_it_was_written(self) -> None:
        if hasattr(self, "db"):
            place_folders(self.db, lambda folder: folder[1:])
            assert all(retrieve(self.db, id) for id in self.safe)
            self.safe = [id for id in self.given if self._is_held(id) and retrieve(self.db, id)]
            report = verify(self.db)
            assert report.broken == report.problems == []
            assert self.db.execute("PRAGMA foreign_key_check").fetchall() == []

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()


Keeping.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestKeeping = Keeping.TestCase


# --- several processes at work -----------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


def works(path: Path, whats: Sequence[str], count: int) -> list[Function]:
    return [Function("tests.archive.working:work", [str(path), what, count]) for what in whats]


def check(path: Path) -> None:
    with closing(archive.open_archive(str(path))) as db:
        report = verify(db)
        assert report.broken == report.problems == []
        assert index.index_queued(db) == 0
        there = {id for (id,) in db.execute("SELECT id FROM thought_records WHERE zone IS NULL OR zone <> 'cold'")}
        assert {match.record.id for match in search(db, "content", str, most=9_999)} == there


def test_processes_that_add_index_delete_and_search_at_once_lose_nothing(forks: Forks, tmp_path: Path, count) -> None:
    path = tmp_path / "archive.sqlite"
    archive.open_archive(str(path)).close()
    all_do(forks, works(path, ["one", "two", "index", "index", "delete", "search"], count(12, 80)), {})
    check(path)


def test_what_is_deleted_between_reading_and_indexing_does_not_enter_the_index(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    with closing(archive.open_archive(str(path))) as db:
        records = [archive.NewRecord(f"r{number}", "read", "label", f'"content {number}"') for number in range(3)]
        archive.add_records(db, archive.Chain("one", "one"), records, indexer=index.Indexer(db, 0))
        batch = index._next(db)
        (gone,) = db.execute("SELECT id FROM thought_records ORDER BY seq LIMIT 1").fetchone()
        delete_records(db, [gone])
        with Transaction(db):
            index.requeue_all(db)  # which queues the stub, too
        with Transaction(db):
            assert index.is_ready(db)
            for seq, has_content, words in batch:
                index._settle(db, seq, has_content, words)
    check(path)


def test_what_another_process_has_indexed_meanwhile_is_indexed_once(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    with closing(archive.open_archive(str(path))) as db:
        ids = archive.add_records(db, CHAIN, [new(number) for number in range(3)], indexer=index.Indexer(db, 0))
        batch = index._next(db)
        assert index.index_queued(db) == 0
        with Transaction(db):
            for seq, has_content, words in batch:
                index._settle(db, seq, has_content, words)
        assert index.problems(db) == []
        assert sorted(match.record.id for match in search(db, "value", str)) == sorted(ids)


def test_a_damaged_index_is_made_anew_with_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    with closing(archive.open_archive(str(path))) as db:
        ids = fill(db, 5)
        assert index.index_queued(db) == 0
        db.execute("UPDATE words_data SET block = x'ff'")
        ids += archive.add_records(db, archive.Chain("other", "other"), [new(9)], indexer=index.Indexer(db, 0))
        assert index.index_queued(db) == 0
        assert index.problems(db) == []
        assert sorted(match.record.id for match in search(db, "value", str)) == sorted(ids)


def test_an_index_that_is_rebuilt_during_a_search_is_searched_as_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")
    tried: list[str] = []

    def begin_again(statement: str) -> None:
        if "words MATCH" in statement and not tried:
            tried.append(statement)
            with closing(archive.open_archive(path, busy_s=0.0)) as other, suppress(sqlite3.OperationalError), Transaction(other):
                index.requeue_all(other)

    with closing(archive.open_archive(path)) as db:
        fill(db, 9)
        index.index_queued(db)
        there = [match.record.id for match in search(db, "value", str)]
        db.set_trace_callback(begin_again)
        found = [match.record.id for match in search(db, "value", str)]
        db.set_trace_callback(None)
    assert tried
    assert found == there != []


def test_a_kill_at_any_moment_leaves_index_and_contents_at_one(forks: Forks, tmp_path: Path, count) -> None:
    pick = random.Random(11)
    path = tmp_path / "archive.sqlite"
    archive.open_archive(str(path)).close()
    for _ in range(count(4, 40)):
        forks.run_together(works(path, ["one", "index", "delete"], 10_000), {}, kill_after_s=pick.uniform(0.05, 0.25))
        check(path)


def test_a_large_queue_goes_in_piece_by_piece(tmp_path: Path) -> None:
    with closing(archive.open_archive(str(tmp_path / "archive.sqlite"))) as db:
        words = " ".join(f"word{n:06}x" for n in range(25_000))
        records = [archive.NewRecord(f"t{n}", "read", "label", f'"{words} only{n}"') for n in range(5)]
        archive.add_records(db, CHAIN, records)
        seen: list[tuple[int, int]] = []
        index.index_queued(db, lambda done, total: seen.append((done, total)))
        assert seen[-1] == (5, 5)
        assert len(seen) > 1
        fill(db, 2, archive.Chain("other", "other"))
        assert len(search(db, "only3", str)) == 1
