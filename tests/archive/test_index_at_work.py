"""The index while several processes are at work in the archive, and when they are killed."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from hooks.utils import archive
from hooks.utils.archive import index
from hooks.utils.archive.deletion import delete_records
from hooks.utils.archive.searching import search
from hooks.utils.io.sqlite_file import Transaction
from tests.archive.written import CHAIN, fill
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function

ROOT = Path(__file__).resolve().parents[2]


def works(path: Path, whats: Sequence[str], count: int) -> list[Function]:
    return [Function("tests.archive.working:work", [str(path), what, count]) for what in whats]


def check(path: Path) -> None:
    with closing(archive.open_archive(str(path))) as db:
        report = archive.verify(db)
        assert report.broken == report.problems == []
        assert index.work_off(db) == 0
        there = {id for (id,) in db.execute("SELECT id FROM thought_records WHERE zone IS NULL OR zone <> 'cold'")}
        assert {each.record.id for each in search(db, "content", str, most=9_999)} == there


def test_processes_that_add_index_delete_and_search_at_once_lose_nothing(forks: Forks, tmp_path: Path, count) -> None:
    path = tmp_path / "archive.sqlite"
    archive.open_archive(str(path)).close()
    all_do(forks, works(path, ["one", "two", "index", "index", "delete", "search"], count(12, 80)), {})
    check(path)


def test_what_is_deleted_between_reading_and_indexing_does_not_enter_the_index(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    with closing(archive.open_archive(str(path))) as db:
        records = [archive.NewRecord(f"r{number}", "read", "label", f'"content {number}"') for number in range(3)]
        archive.add_records(db, archive.Chain("one", "one"), records, arrivals=index.Arrivals(db, 0))
        batch = index._next(db)
        (gone,) = db.execute("SELECT id FROM thought_records ORDER BY seq LIMIT 1").fetchone()
        delete_records(db, [gone])
        with Transaction(db):
            index.begin_again(db)  # which queues the stub, too
        with Transaction(db):
            assert index.is_ready(db)
            for seq, has_content, words in batch:
                index._settle(db, seq, has_content, words)
    check(path)


def test_an_index_that_is_begun_anew_while_one_searches_is_searched_as_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")
    tried: list[str] = []

    def begin_again(statement: str) -> None:
        if "words MATCH" in statement and not tried:
            tried.append(statement)
            with closing(archive.open_archive(path, busy_s=0.0)) as other, suppress(sqlite3.OperationalError), Transaction(other):
                index.begin_again(other)

    with closing(archive.open_archive(path)) as db:
        fill(db, 9)
        index.work_off(db)
        there = [each.record.id for each in search(db, "value", str)]
        db.set_trace_callback(begin_again)
        found = [each.record.id for each in search(db, "value", str)]
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
        words = " ".join(f"word{n:06}x" for n in range(60_000))
        records = [archive.NewRecord(f"t{n}", "read", "label", f'"{words} only{n}"') for n in range(5)]
        archive.add_records(db, CHAIN, records)
        seen: list[tuple[int, int]] = []
        index.work_off(db, lambda done, total: seen.append((done, total)))
        assert seen[-1] == (5, 5)
        assert len(seen) > 1
        fill(db, 2, archive.Chain("other", "other"))
        assert len(search(db, "only3", str)) == 1
