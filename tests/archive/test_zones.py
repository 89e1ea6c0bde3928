"""A record keeps as much as the zone of its position in its chain says."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive import (
    HOT_MAX_POSITION,
    RETENTION_ZONES,
    WARM_MAX_POSITION,
    ArchiveRecordInput,
    Chain,
    RecordNotFound,
    RetentionIntegrityError,
    RetentionZone,
    RetrieveRecordInput,
    add_records,
    archive_chain,
    archive_record,
    compute_zone,
    get_record_position,
    hash_content,
    retrieve_record,
    stats,
    zone_sizes,
)
from popkit_retention.core.archive.verification import verify
from tests.archive.written import CHAIN, content, fill, new, row, tamper

SMALL = {"hot_max": 2, "warm_max": 4}
# What archiving may never touch.
WRITTEN_ONCE = (
    "id", "type", "task_id", "agent_id", "timestamp", "prev_hash", "hash", "created_at", "place", "tool_use_id", "label", "subjects",
    "tokens", "size", "source", "content_hash",
)  # fmt: skip


@pytest.mark.parametrize(("position", "zone"), [(1, "hot"), (100, "hot"), (101, "warm"), (1000, "warm"), (1001, "cold"), (10**9, "cold")])
def test_compute_zone_knows_the_boundaries(position: int, zone: str) -> None:
    assert compute_zone(position) == zone
    assert (HOT_MAX_POSITION, WARM_MAX_POSITION, RETENTION_ZONES) == (100, 1000, ("hot", "warm", "cold"))


@pytest.mark.parametrize("position", [0, -1, 1.5, True, None, "1"])
def test_compute_zone_refuses_what_is_no_position(position: object) -> None:
    with pytest.raises(ValueError, match="whole numbers from 1"):
        compute_zone(position)


@pytest.mark.parametrize(("hot_max", "warm_max"), [(0, 10), (10, 9), (True, 10), (1, 2.0), (-1, -1)])
def test_compute_zone_refuses_boundaries_that_do_not_rise(hot_max: object, warm_max: object) -> None:
    with pytest.raises(ValueError, match=r"whole numbers|behind"):
        compute_zone(1, hot_max, warm_max)


def test_boundaries_can_be_configured_and_the_warm_zone_left_out() -> None:
    assert [compute_zone(position, 2, 3) for position in (1, 2, 3, 4)] == ["hot", "hot", "warm", "cold"]
    assert [compute_zone(position, 2, 2) for position in (2, 3)] == ["hot", "cold"]


def test_the_newest_record_of_a_chain_has_position_1(db: sqlite3.Connection) -> None:
    ids = fill(db, 5)
    assert [get_record_position(db, id) for id in ids] == [5, 4, 3, 2, 1]
    other = archive.add_records(db, archive.Chain("session-2", "session-2"), [new(7)])[0]
    assert get_record_position(db, other) == 1, "chains do not count each other's records"
    assert get_record_position(db, ids[-1]) == 1
    assert get_record_position(db, "nobody") is None


def test_archive_record_keeps_the_newest_record_hot_and_its_content_unchanged(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    assert row(db, ids[-1])["zone"] is None
    assert archive_record(db, ids[-1]) == {"id": ids[-1], "from_zone": "hot", "to_zone": "hot", "changed": False}
    after = row(db, ids[-1])
    assert (after["zone"], after["content"], after["content_compressed"]) == ("hot", content(2), None)


def test_archive_record_moves_hot_to_warm_at_position_101(db: sqlite3.Connection) -> None:
    ids = fill(db, 101)
    assert archive_record(db, ids[1])["to_zone"] == "hot"
    assert archive_record(db, ids[0]) == {"id": ids[0], "from_zone": "hot", "to_zone": "warm", "changed": True}
    after = row(db, ids[0])
    assert (after["zone"], after["content"], after["content_hash"]) == ("warm", None, hash_content(content(0)))
    assert 0 < len(after["content_compressed"]) < len(content(0))


def test_archive_record_moves_warm_to_cold_at_position_1001(db: sqlite3.Connection) -> None:
    ids = fill(db, 1000)
    assert archive_record(db, ids[0])["to_zone"] == "warm"
    archive.add_records(db, CHAIN, [new(1000)])
    assert archive_record(db, ids[0]) == {"id": ids[0], "from_zone": "warm", "to_zone": "cold", "changed": True}
    after = row(db, ids[0])
    assert (after["zone"], after["content"], after["content_compressed"]) == ("cold", None, None)
    assert after["content_hash"] == hash_content(content(0))


def test_archive_record_moves_hot_to_cold_at_once(db: sqlite3.Connection) -> None:
    ids = fill(db, 5)
    assert archive_record(db, ids[0], **SMALL) == {"id": ids[0], "from_zone": "hot", "to_zone": "cold", "changed": True}
    after = row(db, ids[0])
    assert (after["content"], after["content_compressed"], after["content_hash"]) == (None, None, hash_content(content(0)))


def test_retrieve_record_has_three_shapes(db: sqlite3.Connection) -> None:
    ids = fill(db, 5)
    for id in ids:
        archive_record(db, id, **SMALL)
    assert retrieve_record(db, ids[4]) == {"id": ids[4], "zone": "hot", "content": content(4), "content_available": True}
    assert retrieve_record(db, ids[2]) == {"id": ids[2], "zone": "warm", "content": content(2), "content_available": True}
    cold = {"id": ids[0], "zone": "cold", "hash_only": hash_content(content(0)), "content_available": False}
    assert retrieve_record(db, ids[0]) == cold


def test_a_record_that_was_never_archived_reads_as_hot(db: sqlite3.Connection) -> None:
    (id,) = fill(db, 1)
    assert retrieve_record(db, id) == {"id": id, "zone": "hot", "content": content(0), "content_available": True}


def test_hot_to_warm_to_cold_keeps_the_hash_and_flips_what_is_available(db: sqlite3.Connection) -> None:
    id = fill(db, 1)[0]
    seen = []
    for _ in range(3):
        archive_record(db, id, **SMALL)
        record = retrieve_record(db, id)
        seen.append((record["zone"], record["content_available"], row(db, id)["content_hash"]))
        archive.add_records(db, CHAIN, [new(100 + len(seen)), new(200 + len(seen))])
    hash = hash_content(content(0))
    assert seen == [("hot", True, hash), ("warm", True, hash), ("cold", False, hash)]


def test_i1_a_record_never_moves_back_whatever_the_boundaries_become(db: sqlite3.Connection) -> None:
    ids = fill(db, 5)
    for id in ids:
        archive_record(db, id, **SMALL)
    before = [row(db, id) for id in ids]
    for id in ids:
        assert archive_record(db, id, hot_max=1000, warm_max=2000)["changed"] is False
        assert archive_record(db, id)["changed"] is False
    assert [row(db, id) for id in ids] == before


def test_i2_a_second_call_changes_nothing_and_compresses_nothing_again(db: sqlite3.Connection) -> None:
    ids = fill(db, 5)
    for id in ids:
        archive_record(db, id, **SMALL)
    before, writes = [row(db, id) for id in ids], db.total_changes
    for id in ids:
        again = archive_record(db, id, **SMALL)
        assert (again["changed"], again["from_zone"]) == (False, again["to_zone"])
    assert ([row(db, id) for id in ids], db.total_changes) == (before, writes)


def test_i3_archiving_preserves_everything_that_is_written_once(db: sqlite3.Connection) -> None:
    ids = fill(db, 5)
    before = [{name: row(db, id)[name] for name in WRITTEN_ONCE} for id in ids]
    for id in ids:
        archive_record(db, id, **SMALL)
    assert [{name: row(db, id)[name] for name in WRITTEN_ONCE} for id in ids] == before


def test_i4_archiving_deletes_no_row(db: sqlite3.Connection) -> None:
    ids = fill(db, 9)
    for id in ids:
        archive_record(db, id, hot_max=1, warm_max=1)
    assert db.execute("SELECT count(*), count(content_hash), count(content) FROM thought_records").fetchone() == (9, 9, 1)
    assert verify(db).broken == []


def test_i5_positions_stay_as_they_are_within_a_transaction_and_only_grow(opened: sqlite3.Connection, tmp_path) -> None:
    ids = fill(opened, 3)
    other = archive.open_archive(str(tmp_path / "archive.sqlite"))
    other.execute("PRAGMA busy_timeout = 50")
    opened.execute("BEGIN")
    before = [get_record_position(opened, id) for id in ids]
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        archive.add_records(other, CHAIN, [new(4)])
    assert [get_record_position(opened, id) for id in ids] == before == [3, 2, 1]
    opened.execute("COMMIT")
    archive.add_records(other, CHAIN, [new(4)])
    assert [get_record_position(opened, id) for id in ids] == [4, 3, 2]
    other.close()


def test_i7_the_hash_is_that_of_the_content_at_birth_and_is_never_made_again(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    assert [row(db, id)["content_hash"] for id in ids] == [hash_content(content(number)) for number in range(3)]
    archive_record(db, ids[0], hot_max=1, warm_max=9)
    squeezed = archive.compress_content(content(99))
    tamper(db, ids[0], "content_compressed", squeezed)
    with pytest.raises(RetentionIntegrityError, match="content_hash"):
        archive_record(db, ids[0], hot_max=1, warm_max=1)
    assert row(db, ids[0])["content_hash"] == hash_content(content(0))
    assert row(db, ids[0])["zone"] == "warm"


def test_an_unknown_id_is_none_to_retrieve_and_an_error_to_archive(db: sqlite3.Connection) -> None:
    assert retrieve_record(db, "nobody") is None
    with pytest.raises(RecordNotFound, match=r"^Record not found: nobody$"):
        archive_record(db, "nobody")
    with pytest.raises(LookupError):
        archive_record(db, "lone \ud800 surrogate")


@pytest.mark.parametrize("zone", RETENTION_ZONES)
def test_the_schema_of_zones_knows_the_three(zone: str) -> None:
    assert RetentionZone.parse(zone) == zone


@pytest.mark.parametrize("value", ["Hot", "", None, 1, ["hot"]])
def test_the_schema_of_zones_refuses_all_else(value: object) -> None:
    with pytest.raises(ValueError, match="one of hot, warm, cold"):
        RetentionZone.parse(value)


@pytest.mark.parametrize("schema", [ArchiveRecordInput, RetrieveRecordInput])
def test_the_schemas_of_both_operations_ask_for_an_id_and_leave_all_else_out(schema: type) -> None:
    assert schema.parse({"id": "abc", "more": 1}) == {"id": "abc"}
    for value in ({}, {"id": ""}, {"id": 7}, "abc", None):
        with pytest.raises(ValueError, match="not empty"):
            schema.parse(value)


@pytest.mark.parametrize("id", ["", None, 7, b"abcdefgh"])
def test_an_id_that_is_none_is_an_error(db: sqlite3.Connection, id: object) -> None:
    for act in (archive_record, retrieve_record):
        with pytest.raises(ValueError, match="not empty"):
            act(db, id)


@pytest.mark.parametrize(
    ("place", "column", "value", "why"),
    [
        (4, "content", None, "is hot and has no content$"),
        (4, "content", '"other"', "content_hash"),
        (4, "content", b"\xff\xfe", "not text"),
        (4, "content_hash", "0" * 64, "content_hash"),
        (2, "content_compressed", None, "is warm and has no content_compressed"),
        (2, "content_compressed", b"\x1f\x8bgarbage", "cannot be decompressed"),
        (2, "content_compressed", "text", "bytes"),
        (2, "content_hash", "0" * 64, "content_hash"),
        (0, "content_hash", "", "is cold and has no content_hash"),
        (3, "zone", "tepid", "no zone 'tepid'"),
    ],
)
def test_a_row_that_was_tampered_with_is_an_integrity_error(
    db: sqlite3.Connection, place: int, column: str, value: object, why: str
) -> None:
    ids = fill(db, 5)
    for id in ids:
        archive_record(db, id, **SMALL)
    tamper(db, ids[place], column, value)
    before = row(db, ids[place])
    with pytest.raises(RetentionIntegrityError, match=why) as raised:
        retrieve_record(db, ids[place])
    assert str(raised.value).startswith(ids[place] + ": ")
    if place:  # a cold record has nowhere to go
        archive.add_records(db, CHAIN, [new(50)])
        with pytest.raises(RetentionIntegrityError, match=why):
            archive_record(db, ids[place], hot_max=1, warm_max=1)
    assert row(db, ids[place]) == before, "a record that is not understood stays as it is"


def test_a_cold_row_whose_hash_is_null_is_an_integrity_error(db: sqlite3.Connection) -> None:
    id = fill(db, 2)[0]
    archive_record(db, id, hot_max=1, warm_max=1)
    # The table itself does not allow it.
    with pytest.raises(sqlite3.IntegrityError):
        tamper(db, id, "content_hash", None)
    db.rollback()
    db.execute("PRAGMA writable_schema = ON")
    db.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'content_hash TEXT NOT NULL', 'content_hash TEXT') WHERE name = 'thought_records'"
    )
    db.execute("PRAGMA writable_schema = RESET")
    tamper(db, id, "content_hash", None)
    with pytest.raises(RetentionIntegrityError, match="is cold and has no content_hash"):
        retrieve_record(db, id)


def test_archiving_is_part_of_a_transaction_that_the_caller_has_begun(opened: sqlite3.Connection) -> None:
    ids = fill(opened, 2)
    opened.execute("BEGIN")
    assert archive_record(opened, ids[0], hot_max=1, warm_max=1)["changed"]
    opened.execute("ROLLBACK")
    assert retrieve_record(opened, ids[0])["content_available"]


# --- whole chains ---------------------------------------------------------------------------------------------------------------------


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


def test_of_the_warm_only_what_is_behind_position_1000_is_due_to_go_cold(db: sqlite3.Connection) -> None:
    ids = fill(db, 1003)
    for id in ids[:6]:
        archive_record(db, id, 100, 2_000)
    assert archive.due_cold(db, CHAIN.task_id, 9) == ids[:3]
    assert archive.due_cold(db, CHAIN.task_id, 2) == ids[:2]
    assert archive.due_cold(db, "nobody", 9) == []


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
    add_records(opened, Chain("session-2", "session-2"), [new(1)], now=200.0)
    archive_chain(opened, "session-1", **SMALL)
    found = stats(opened)
    warm = sum(len(row(opened, id)["content_compressed"]) for id in ids[1:3])
    assert found["zones"] == {"hot": 3, "warm": 2, "cold": 1}
    assert found["original_bytes"] == sum(len(content(number)) for number in (0, 1, 2, 3, 4, 1))
    assert found["stored_bytes"] == warm + sum(len(content(number)) for number in (3, 4, 1))
    assert (found["records"], found["chains"]) == (6, 2)
    assert (found["oldest"], found["newest"]) == ("1970-01-01T00:01:40.000Z", "1970-01-01T00:03:20.000Z")
    file = Path(opened.execute("PRAGMA database_list").fetchone()[2])
    assert found["file_bytes"] == file.stat().st_size


@pytest.mark.parametrize("boundaries", [{"hot_max": 0}, {"hot_max": 5, "warm_max": 4}])
def test_boundaries_that_do_not_rise_move_nothing(db: sqlite3.Connection, boundaries: dict) -> None:
    ids = fill(db, 6)
    for act in (lambda: archive_chain(db, "session-1", **boundaries), lambda: archive_record(db, ids[0], **boundaries)):
        with pytest.raises(ValueError, match=r"whole numbers|behind"):
            act()
    assert _zones(db, ids) == [None] * 6


def test_a_chain_is_not_moved_by_boundaries_that_do_not_rise(db) -> None:
    for hot_max, warm_max in ((0, 5), (5, 4)):
        with pytest.raises(ValueError, match=r"whole numbers|behind"):
            archive_chain(db, "no such chain", hot_max=hot_max, warm_max=warm_max)


def test_an_empty_archive_has_nothing_in_any_zone(db) -> None:
    assert zone_sizes(db) == {"hot": (0, 0, 0), "warm": (0, 0, 0), "cold": (0, 0, 0)}
