"""Deleting for good: what a prune takes, what it leaves, and what the file still holds."""

from __future__ import annotations

import sqlite3

from hooks.utils import archive
from hooks.utils.archive import Chain, add_records, archive_chain, prune, retrieve_record, stats
from tests.archive.written import CHAIN, content, fill, new, row


def test_prune_takes_old_chains_wholly_and_leaves_stubs_in_younger_ones(opened: sqlite3.Connection) -> None:
    gone = Chain("session-0", "session-0")
    old = add_records(opened, gone, [new(1), new(2)], clear_at=100.0)
    mixed = [*fill(opened, 3, at=100.0), *add_records(opened, CHAIN, [new(8), new(9)], now=300.0).ids]
    archive_chain(opened, "session-1", hot_max=3, warm_max=9)
    size = sum(len(content(number)) for number in (1, 2, 2)) + sum(len(row(opened, id)["content_compressed"]) for id in mixed[:2])
    assert sorted(archive.prunable(opened, 200.0)) == sorted([*old.ids, *mixed[:3]])
    would = prune(opened, 200.0, dry_run=True)
    assert would.to_json() == {"records": 5, "chains": 1, "bytes": size, "on_hold": 0, "shrunk": False}
    assert archive.pruned_of(opened, "session-0") is None
    assert stats(opened)["records"] == 7
    did = prune(opened, 200.0, now=1_000.0)
    assert did.to_json() == {"records": 5, "chains": 1, "bytes": size, "on_hold": 0, "shrunk": True}
    assert archive.pruned_of(opened, "session-0") == (1_000.0, 2)
    assert archive.pruned_of(opened, "session-1") == (1_000.0, 3)
    assert [retrieve_record(opened, id) for id in old.ids] == [None, None]
    assert archive.chain(opened, "session-0") is None
    assert archive.clears_of(opened, "session-0") == []
    assert [retrieve_record(opened, id)["content_available"] for id in mixed] == [False] * 3 + [True] * 2
    assert archive.verify(opened).broken == []
    assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
    assert prune(opened, 200.0).records == 0, "what is gone is not pruned again"
    assert prune(opened, 400.0, now=2_000.0).chains == 1
    assert archive.pruned_of(opened, "session-1") == (2_000.0, 8)
    assert stats(opened)["records"] == 0
    assert opened.execute("SELECT count(*) FROM named").fetchone()[0] == 0


def test_what_was_pruned_is_not_in_the_file_any_more(tmp_path) -> None:
    path = tmp_path / "archive.sqlite"
    db = archive.open_archive(str(path))
    add_records(db, CHAIN, [new(1, content='"precious secret"', tool_use_id="a")], now=100.0)
    add_records(db, CHAIN, [new(2)], now=300.0)
    assert b"precious secret" in path.read_bytes()
    size = path.stat().st_size
    fill(db, 500, Chain("session-2", "session-2"), at=100.0)
    prune(db, 200.0)
    db.close()
    assert b"precious secret" not in path.read_bytes()
    assert path.stat().st_size <= size
    assert [each.name for each in tmp_path.iterdir()] == ["archive.sqlite"]


def test_a_file_that_cannot_be_written_anew_has_lost_the_contents_all_the_same(tmp_path) -> None:
    path = str(tmp_path / "archive.sqlite")
    db, reader = archive.open_archive(path), archive.open_archive(path)
    fill(db, 300, at=100.0)
    db.execute("PRAGMA busy_timeout = 0")
    reader.execute("PRAGMA busy_timeout = 0")

    class Reads:
        """Keeps a reader at work from the moment on at which the prune is done."""

        def __call__(self, statement: str) -> None:
            if statement == "VACUUM":
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM thought_records").fetchone()

    db.set_trace_callback(Reads())
    did = prune(db, 200.0)
    db.set_trace_callback(None)
    assert (did.records, did.shrunk) == (300, False)
    assert stats(db)["records"] == 0
    db.close()
    reader.close()


def test_nothing_old_is_nothing_to_prune(db: sqlite3.Connection) -> None:
    fill(db, 3, at=300.0)
    assert prune(db, 300.0).to_json() == {"records": 0, "chains": 0, "bytes": 0, "on_hold": 0, "shrunk": False}
    assert prune(db, 0.0).records == 0
