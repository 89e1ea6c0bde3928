"""The index while several processes are at work in the archive, and when they are killed."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from hooks.utils import archive
from hooks.utils.archive import index
from hooks.utils.archive.deleting import delete_records
from hooks.utils.archive.searching import search
from hooks.utils.edges.sqlite_file import Transaction
from tests.archive.written import CHAIN, fill
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
WORKS = """
import sys
from hooks.utils import archive
from hooks.utils.archive import index
from hooks.utils.archive.deleting import compact, delete_records
from hooks.utils.archive.searching import search
path, what, count = sys.argv[1:]
db = archive.open_archive(path, busy_s=300.0)
print(flush=True)
for number in range(int(count)):
    if what == "index":
        index.work_off(db)
    elif what == "delete":
        ids = [id for (id,) in db.execute("SELECT id FROM thought_records ORDER BY random() LIMIT 2").fetchall()]
        delete_records(db, ids)
        if number % 4 == 3:
            compact(db)
    elif what == "search":
        search(db, "content", str)
    else:
        record = archive.NewRecord(f"{what}{number}", "read", "label", f'"content {what} {number}"')
        left = index.AT_ONCE if number % 3 else 0
        archive.add_records(db, archive.Chain(what, what), [record], arrivals=index.Arrivals(db, left))
db.close()
"""


def start(path: Path, what: str, count: int) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", WORKS, str(path), what, str(count)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def check(path: Path) -> None:
    with closing(archive.open_archive(str(path))) as db:
        report = archive.verify(db)
        assert report.broken == report.problems == []
        assert index.work_off(db) == 0
        there = {id for (id,) in db.execute("SELECT id FROM thought_records WHERE zone IS NULL OR zone <> 'cold'")}
        assert {each.record.id for each in search(db, "content", str, most=9_999)} == there


def test_processes_that_add_index_delete_and_search_at_once_lose_nothing(tmp_path: Path, count) -> None:
    path = tmp_path / "archive.sqlite"
    archive.open_archive(str(path)).close()
    times = count(12, 80)
    running = [start(path, what, times) for what in ("one", "two", "index", "index", "delete", "search")]
    for each in running:
        each.communicate(timeout=HANG_S)
    assert [each.returncode for each in running] == [0] * len(running)
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
            index.begin_anew(db)  # which queues the stub, too
        with Transaction(db):
            assert index.is_ready(db)
            for seq, has_content, words in batch:
                index._settle(db, seq, has_content, words)
    check(path)


def test_an_index_that_is_begun_anew_while_one_searches_is_searched_as_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")
    tried: list[str] = []

    def begin_anew(statement: str) -> None:
        if "words MATCH" in statement and not tried:
            tried.append(statement)
            with closing(archive.open_archive(path, busy_s=0.0)) as other, suppress(sqlite3.OperationalError), Transaction(other):
                index.begin_anew(other)

    with closing(archive.open_archive(path)) as db:
        fill(db, 9)
        index.work_off(db)
        there = [each.record.id for each in search(db, "value", str)]
        db.set_trace_callback(begin_anew)
        found = [each.record.id for each in search(db, "value", str)]
        db.set_trace_callback(None)
    assert tried
    assert found == there != []


def test_a_kill_at_any_moment_leaves_index_and_contents_at_one(tmp_path: Path, count) -> None:
    pick = random.Random(11)
    path = tmp_path / "archive.sqlite"
    archive.open_archive(str(path)).close()
    for _ in range(count(4, 40)):
        running = [start(path, what, 10_000) for what in ("one", "index", "delete")]
        for each in running:
            each.stdout.readline()
        time.sleep(pick.random() / 5)
        for each in running:
            each.send_signal(signal.SIGKILL)
            each.communicate(timeout=HANG_S)
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
