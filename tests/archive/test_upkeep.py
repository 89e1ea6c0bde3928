"""Whole chains moved at once, how large the archive is, and the one way out of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hooks.utils import archive
from hooks.utils.archive import Chain, add_records, archive_chain, archive_record, prune, retrieve_record, stats
from tests.archive.written import CHAIN, content, fill, new, row, tamper

SMALL = {"hot_max": 2, "warm_max": 4}


def _zones(db: sqlite3.Connection, ids: list[str]) -> list[str]:
    return [row(db, id)["zone"] for id in ids]


def test_a_chain_archived_at_once_is_as_if_record_by_record(db: sqlite3.Connection) -> None:
    ids = fill(db, 7)
    other = fill(db, 7, Chain("session-2", "session-2"))
    counts = archive_chain(db, "session-1", **SMALL)
    assert counts == {"hot_to_warm": 2, "hot_to_cold": 3, "warm_to_cold": 0, "kept_warm": 0, "damaged": 0}
    assert _zones(db, ids) == ["cold"] * 3 + ["warm"] * 2 + ["hot"] * 2
    assert _zones(db, other) == [None] * 7, "other chains are not touched"
    for id in other:
        archive_record(db, id, **SMALL)
    assert _zones(db, other) == _zones(db, ids)


def test_a_chain_archived_again_changes_nothing(db: sqlite3.Connection) -> None:
    ids = fill(db, 7)
    archive_chain(db, "session-1", **SMALL)
    before = [row(db, id) for id in ids]
    assert set(archive_chain(db, "session-1", **SMALL).values()) == {0}
    assert set(archive_chain(db, "session-1").values()) == {0}
    assert set(archive_chain(db, "nobody").values()) == {0}
    assert [row(db, id) for id in ids] == before


def test_what_may_not_go_cold_stays_warm_until_it_may(db: sqlite3.Connection) -> None:
    ids = fill(db, 6)
    asked: list[str] = []

    def may_go_cold(record: archive.Record) -> bool:
        asked.append(record.id)
        return record.label == "Read src/0.py"

    counts = archive_chain(db, "session-1", may_go_cold, **SMALL)
    assert (counts["hot_to_cold"], counts["kept_warm"], counts["hot_to_warm"]) == (1, 1, 3)
    assert asked == ids[:2]
    assert _zones(db, ids) == ["cold", "warm", "warm", "warm", "hot", "hot"]
    assert archive_chain(db, "session-1", **SMALL)["warm_to_cold"] == 1


def test_a_source_may_be_noted_while_a_record_is_judged(opened: sqlite3.Connection) -> None:
    fill(opened, 6)
    archive_chain(opened, "session-1", lambda record: archive.set_source(opened, record.id, {"path": "/a"}), **SMALL)
    assert [record.source for record in archive.find_records(opened)] == [None] * 4 + [{"path": "/a"}] * 2


def test_a_damaged_record_stays_and_stops_no_other(db: sqlite3.Connection) -> None:
    ids = fill(db, 6)
    tamper(db, ids[0], "content", '"other"')
    counts = archive_chain(db, "session-1", **SMALL)
    assert (counts["damaged"], counts["hot_to_cold"], counts["hot_to_warm"]) == (1, 1, 2)
    assert (row(db, ids[0])["zone"], row(db, ids[0])["content"]) == (None, '"other"')


def test_stats_count_by_zone_and_size(opened: sqlite3.Connection) -> None:
    nothing = stats(opened)
    assert (nothing["records"], nothing["oldest"], nothing["stored_bytes"]) == (0, None, 0)
    ids = fill(opened, 5, at=100.0)
    add_records(opened, Chain("session-2", "session-2"), [new(1)], clear_at=200.0)
    archive_chain(opened, "session-1", **SMALL)
    found = stats(opened)
    warm = sum(len(row(opened, id)["content_compressed"]) for id in ids[1:3])
    assert found["zones"] == {"hot": 3, "warm": 2, "cold": 1}
    assert found["original_bytes"] == sum(len(content(number)) for number in (0, 1, 2, 3, 4, 1))
    assert found["stored_bytes"] == warm + sum(len(content(number)) for number in (3, 4, 1))
    assert (found["records"], found["chains"], found["clears"]) == (6, 2, 1)
    assert (found["oldest"], found["newest"]) == ("1970-01-01T00:01:40.000Z", "1970-01-01T00:03:20.000Z")
    file = Path(opened.execute("PRAGMA database_list").fetchone()[2])
    assert found["file_bytes"] == file.stat().st_size


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


@pytest.mark.parametrize("boundaries", [{"hot_max": 0}, {"hot_max": 5, "warm_max": 4}])
def test_boundaries_that_do_not_rise_move_nothing(db: sqlite3.Connection, boundaries: dict) -> None:
    ids = fill(db, 6)
    for act in (lambda: archive_chain(db, "session-1", **boundaries), lambda: archive_record(db, ids[0], **boundaries)):
        with pytest.raises(ValueError, match=r"whole numbers|behind"):
            act()
    assert _zones(db, ids) == [None] * 6
