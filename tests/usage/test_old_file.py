"""The context.sqlite of an earlier PopKit is imported once and whole, or not at all."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core.io.system import day_of
from popkit_retention.usage import configured_database
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import CLIENT, TRANSCRIPT
from popkit_retention.usage.usage_store import DatabaseTooNew, DatabaseUnavailable
from tests.kit.forks import Forks
from tests.usage.homes import House, all_open
from tests.usage.records import BREAKDOWN, NOW, STRATEGY, rows, total

AT = "2026-11-23 02:13:20.250000"  # NOW and a quarter of a second, in UTC
ID = "0f8c1e9a3b1d4c559e0a5d2a7b6c4e11"
FOURTEEN = f"({', '.join('?' * 14)})"
TABLES = """
CREATE TABLE popkit_context_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT popkit_context_version_pkc PRIMARY KEY (version_num));
CREATE TABLE context_snapshots (
  id CHAR(32) NOT NULL, session_id TEXT NOT NULL, user_id TEXT NOT NULL, tier_breakdown JSON NOT NULL, total_tokens INTEGER NOT NULL,
  budget_percent NUMERIC NOT NULL, pruning_strategy JSON NOT NULL, created_at DATETIME DEFAULT (CURRENT_TIMESTAMP) NOT NULL,
  budget_remaining_percent NUMERIC NOT NULL, full_tokens INTEGER NOT NULL, model TEXT NOT NULL, project TEXT NOT NULL, agent TEXT NOT NULL,
  counted TEXT NOT NULL, PRIMARY KEY (id)
);
CREATE TABLE context_usage (
  source TEXT NOT NULL, request_id TEXT NOT NULL, session_id TEXT NOT NULL, user_id TEXT NOT NULL, project TEXT NOT NULL,
  model TEXT NOT NULL, at DATETIME NOT NULL, day TEXT NOT NULL, input_tokens BIGINT NOT NULL, cache_read_tokens BIGINT NOT NULL,
  cache_write_5m_tokens BIGINT NOT NULL, cache_write_1h_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, usd NUMERIC,
  PRIMARY KEY (source, request_id)
);
"""


OLDER = "mod"  # a source that there is no more


class Old:
    """A home with a context.sqlite as an earlier PopKit has left it, and what it holds."""

    def __init__(self, folder: Path) -> None:
        self.house = House(folder)
        self.environ = self.house.environ
        self.house.home.mkdir()
        self.path, self.new = self.house.home / "context.sqlite", self.house.home / "usage.sqlite"
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(TABLES)
            db.execute("INSERT INTO popkit_context_version VALUES ('0001')")
            kept = (ID, "s1", "alice", json.dumps(BREAKDOWN), 40, 25.5, json.dumps(STRATEGY), AT, 74.5, 80, "m", "/shop", "main", "exact")
            db.execute("INSERT INTO context_snapshots VALUES " + FOURTEEN, kept)  # noqa: S608  marks alone
            for source in (CLIENT, TRANSCRIPT, OLDER):
                usd = None if source == OLDER else 0.25
                used = (source, "id of " + source, "s1", "alice", "/shop", "m", AT, day_of(NOW), 1, 2, 3, 4, 5, usd)
                db.execute("INSERT INTO context_usage VALUES " + FOURTEEN, used)  # noqa: S608  marks alone
            db.commit()

    def change(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path)) as db:
            db.execute(statement)
            db.commit()


@pytest.fixture
def old(tmp_path: Path) -> Old:
    return Old(tmp_path)


def test_everything_is_taken_in_and_the_old_file_is_gone(old: Old) -> None:
    with open_store(old.environ) as store:
        assert not list(old.house.home.glob("context.sqlite*"))
        (kept,) = store.snapshots("s1", 9)
        assert (kept.id, kept.created_at, kept.tier_breakdown, kept.pruning_strategy) == (
            "0f8c1e9a-3b1d-4c55-9e0a-5d2a7b6c4e11", NOW + 0.25, BREAKDOWN, STRATEGY
        )  # fmt: skip
        assert kept[4:6] + kept[8:] == (40, 25.5, 74.5, 80, "m", "/shop", "main", "exact")
        assert total(store, "s1") == (3, 3, 6, 21, 15, 0.5, 1)
        assert [(found.at, found.project) for found in store.by_session()] == [(NOW + 0.25, "/shop")]
        assert [day for day, _ in store.by_day("")] == [day_of(NOW)]


def test_who_only_asks_takes_it_in_too(old: Old) -> None:
    with open_store(old.environ, create=False) as store:
        assert rows(store) == [1, 3]
    assert not old.path.exists()


def test_looking_whether_it_can_be_used_takes_nothing_in(old: Old) -> None:
    assert configured_database.check_usable(old.environ) == "SQLite on this machine"
    assert old.path.exists()
    assert not old.new.exists()


def test_one_that_appears_later_is_taken_into_what_there_is(old: Old) -> None:
    moved = old.path.rename(old.path.with_name("aside"))
    with open_store(old.environ) as store:
        assert rows(store) == [0, 0]
        moved.rename(old.path)
        assert rows(store) == [1, 3]


def test_where_it_was_taken_in_and_not_removed_it_is_taken_in_once(old: Old) -> None:
    whole = old.path.read_bytes()
    open_store(old.environ).close()
    old.path.write_bytes(whole)
    with open_store(old.environ) as store:
        assert rows(store) == [1, 3]
    assert not old.path.exists()


def test_an_empty_one_is_removed(old: Old) -> None:
    old.path.write_bytes(b"")
    with open_store(old.environ) as store:
        assert rows(store) == [0, 0]
    assert not old.path.exists()


@pytest.mark.parametrize(
    "spoils",
    [
        "UPDATE context_usage SET at = 'yesterday' WHERE source = 'mod'",
        "UPDATE context_usage SET at = 5 WHERE source = 'mod'",
        "UPDATE context_snapshots SET id = 'no uuid'",
        "DROP TABLE context_usage",
        "DROP TABLE popkit_context_version",
    ],
)
def test_where_a_part_cannot_be_taken_in_nothing_is_and_the_old_file_stays(old: Old, spoils: str) -> None:
    old.change(spoils)
    before = old.path.read_bytes()
    for create in (True, False):
        with pytest.raises(DatabaseUnavailable, match=r"context\.sqlite cannot be imported into usage\.sqlite .* or move it away"):
            open_store(old.environ, create)
    assert old.path.read_bytes() == before
    with closing(sqlite3.connect(old.new)) as db:
        assert db.execute("SELECT (SELECT count(*) FROM context_usage) + (SELECT count(*) FROM context_snapshots)").fetchone() == (0,)
    old.path.rename(old.path.with_name("aside"))
    with open_store(old.environ) as store:
        assert rows(store) == [0, 0]


def test_one_that_is_no_database_stays(old: Old) -> None:
    old.path.write_bytes(b"no database " * 500)
    with pytest.raises(DatabaseUnavailable, match="file is not a database"):
        open_store(old.environ)
    assert old.path.read_bytes() == b"no database " * 500


def test_one_of_another_version_stays(old: Old) -> None:
    old.change("UPDATE popkit_context_version SET version_num = '0002'")
    with pytest.raises(DatabaseTooNew, match="version '0002'"):
        open_store(old.environ)
    assert old.path.exists()


def test_a_link_in_its_place_is_not_followed(old: Old) -> None:
    elsewhere = old.path.rename(old.house.transcripts / "elsewhere.sqlite")
    old.path.symlink_to(elsewhere)
    with pytest.raises(DatabaseUnavailable, match="regular file"):
        open_store(old.environ)
    assert elsewhere.exists()


def test_processes_that_find_it_at_once_take_it_in_once(forks: Forks, old: Old) -> None:
    all_open(forks, old.environ)
    with open_store(old.environ) as store:
        assert rows(store) == [1, 3]
    assert not old.path.exists()
