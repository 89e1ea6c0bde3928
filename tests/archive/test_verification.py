"""Verify names the first record of each chain that is not as it was written, whatever was changed."""

from __future__ import annotations

import sqlite3

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive import Chain, archive_chain
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.io import row_chain
from tests.archive.written import CHAIN, COLUMNS, content, fill, tamper

SMALL = {"hot_max": 2, "warm_max": 4}
# One change to each column of a hot record.
CHANGES = {
    "id": "aaaaaaaa",
    "type": "run",
    "agent_id": "agent-9",
    "timestamp": "2027-01-01T00:00:00.000Z",
    "prev_hash": "0" * 64,
    "hash": "1" * 64,
    "created_at": "2027-01-01T00:00:00.000Z",
    "place": 77,
    "tool_use_id": "toolu_other",
    "label": "Read src/other.py",
    "subjects": "[]",
    "tokens": 1,
    "size": 1,
    "source": "{nonsense",
    "zone": "tepid",
    "content_hash": "2" * 64,
    "content_compressed": b"x",
    "content": '"other"',
}


def _found(db: sqlite3.Connection) -> list[tuple[str, int, str]]:
    return [(problem.task_id, problem.place, problem.id) for problem in verify(db).broken]


@pytest.fixture
def ids(db: sqlite3.Connection) -> list[str]:
    """A chain with records in every zone, beside two that stay sound."""
    fill(db, 3, Chain("session-0", "session-0"))
    ids = fill(db, 6)
    fill(db, 3, Chain("session-2", "session-2"))
    archive_chain(db, "session-1", **SMALL)
    return ids


def test_a_sound_archive_is_sound_in_every_zone(db: sqlite3.Connection, ids: list[str]) -> None:
    report = verify(db)
    assert (report.records, report.chains, report.broken) == (12, 3, [])


@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "task_id"])
def test_a_change_in_any_column_is_named(db: sqlite3.Connection, ids: list[str], column: str) -> None:
    tamper(db, ids[4], column, CHANGES[column])
    broken = verify(db).broken
    # A record whose number was changed is missing in its place, which the next one shows; one whose id was changed has the new id.
    at = {"place": ids[5], "id": "aaaaaaaa"}.get(column, ids[4])
    assert [(problem.task_id, problem.place, problem.id) for problem in broken] == [("session-1", 5, at)]
    assert broken[0].what


def test_a_record_moved_to_another_chain_breaks_both(db: sqlite3.Connection, ids: list[str]) -> None:
    tamper(db, ids[4], "task_id", "session-2")
    assert _found(db) == [("session-1", 5, ids[5]), ("session-2", 4, ids[4])]


@pytest.mark.parametrize("column", ["label", "task_id", "prev_hash", "subjects"])
def test_bytes_that_are_no_text_are_named_and_end_nothing(db: sqlite3.Connection, ids: list[str], column: str) -> None:
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute(f"UPDATE thought_records SET {column} = CAST(x'ff41' AS TEXT) WHERE id = ?", (ids[4],))  # noqa: S608
    report = verify(db)
    assert "session-1" in [problem.task_id for problem in report.broken]
    assert (report.chains, report.records) >= (3, 9)
    assert db.text_factory is str, "the connection is as it was"


@pytest.mark.parametrize(
    ("place", "column", "value", "why"),
    [
        (0, "zone", "warm", "do not match a warm record"),
        (0, "content", content(0), "do not match a cold record"),
        (2, "zone", None, "do not match a hot record"),
        (2, "zone", "cold", "do not match a cold record"),
        (2, "content_compressed", archive.compress_content('"other"'), "does not match its content_hash"),
        (2, "content_compressed", b"\x1f\x8bxx", "cannot be decompressed"),
        (4, "content", None, "do not match a hot record"),
        (4, "label", "other", "one of them was changed"),
        (4, "prev_hash", "x", "not the hash of the record before"),
    ],
)
def test_it_says_what_is_wrong(db: sqlite3.Connection, ids: list[str], place: int, column: str, value: object, why: str) -> None:
    tamper(db, ids[place], column, value)
    broken = verify(db).broken
    assert [problem.id for problem in broken] == [ids[place]]
    assert why in broken[0].what


def test_only_the_first_broken_record_of_a_chain_is_named(db: sqlite3.Connection, ids: list[str]) -> None:
    for id in ids[2:]:
        tamper(db, id, "label", "other")
    other = archive.find_records(db, task_id="session-2")[0].id
    tamper(db, other, "tokens", -1)
    assert _found(db) == [("session-1", 3, ids[2]), ("session-2", 3, other)]


@pytest.mark.parametrize(("gone", "place", "named"), [(0, 1, 1), (3, 4, 4)])
def test_a_record_that_is_gone_shows_at_the_one_after_it(db: sqlite3.Connection, ids: list[str], gone: int, place: int, named: int) -> None:
    db.execute("DELETE FROM thought_records WHERE id = ?", (ids[gone],))
    assert _found(db) == [("session-1", place, ids[named])]


def test_a_last_record_that_is_gone_shows_too(db: sqlite3.Connection, ids: list[str]) -> None:
    db.execute("DELETE FROM thought_records WHERE id = ?", (ids[5],))
    assert _found(db) == [("session-1", 6, "")]
    assert [problem.what for problem in verify(db).broken] == ["the chain should end with record 6, and ends with another one, at 5"]


def test_a_chain_that_is_gone_or_unknown_shows(db: sqlite3.Connection, ids: list[str]) -> None:
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("DELETE FROM thought_records WHERE task_id = 'session-0'")
    db.execute("DELETE FROM chains WHERE task_id = 'session-2'")
    assert _found(db) == [("session-0", 1, ""), ("session-2", 0, "")]


def test_two_records_that_changed_places_show(db: sqlite3.Connection, ids: list[str]) -> None:
    for id, place in ((ids[4], 99), (ids[5], 5), (ids[4], 6)):
        tamper(db, id, "place", place)
    assert _found(db) == [("session-1", 5, ids[5])]


def test_a_chain_rewritten_from_some_record_on_shows_at_its_end(db: sqlite3.Connection, ids: list[str]) -> None:
    tamper(db, ids[5], "label", "other")
    values = db.execute(f"SELECT {', '.join(archive.chains.HASHED)} FROM thought_records WHERE id = ?", (ids[5],)).fetchone()  # noqa: S608
    prev_hash = db.execute("SELECT hash FROM thought_records WHERE id = ?", (ids[4],)).fetchone()[0]
    tamper(db, ids[5], "hash", row_chain.link_hash((prev_hash, *values), row_chain.COMPACT))
    assert _found(db) == [("session-1", 7, "")]


def test_an_empty_archive_is_sound(db: sqlite3.Connection) -> None:
    report = verify(db)
    assert (report.records, report.chains, report.broken) == (0, 0, [])


def test_a_walk_within_a_transaction_leaves_it_open(opened: sqlite3.Connection) -> None:
    fill(opened, 2)
    opened.execute("BEGIN")
    archive.add_records(opened, CHAIN, [])
    assert verify(opened).broken == []
    assert opened.in_transaction
    opened.execute("COMMIT")
