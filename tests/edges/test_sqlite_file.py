"""A store's file: its tables are brought up to date step by step, and it remembers how; what is not ours, or newer, is left alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hooks.utils.edges import sqlite_file
from hooks.utils.edges.sqlite_file import Schema, StoreDamaged, StoreTooNew, Transaction, open_store

FIRST = ("notes", ("CREATE TABLE notes (text TEXT)",))


def _shout(db: sqlite3.Connection) -> None:
    db.execute("UPDATE notes SET text = upper(text)")


SECOND = ("louder", ("CREATE INDEX notes_by_text ON notes (text)", _shout))
NOTES = Schema("memory", 0x506F704D, (FIRST, SECOND))


def test_a_store_is_brought_up_to_date_and_remembers_what_was_applied(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "memory.sqlite")
    with closing(open_store(path, Schema("memory", NOTES.application_id, (FIRST,)))) as db:
        db.execute("INSERT INTO notes VALUES ('hello')")
        assert [row[:2] for row in sqlite_file.applied(db)] == [(1, "notes")]
    with closing(open_store(path, NOTES)) as db:
        assert db.execute("SELECT text FROM notes").fetchall() == [("HELLO",)]
        assert [row[:2] for row in sqlite_file.applied(db)] == [(1, "notes"), (2, "louder")]


def test_a_migration_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.sqlite")
    open_store(path, NOTES).close()
    broken = ("broken", ("CREATE TABLE more (a)", "CREATE TABLE notes (a)"))
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        open_store(path, Schema("memory", NOTES.application_id, (FIRST, SECOND, broken)))
    with closing(open_store(path, NOTES)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone()[0] == 0
        assert len(sqlite_file.applied(db)) == 2


def test_a_store_of_another_kind_or_of_a_later_version_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    open_store(str(path), NOTES).close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="database of another program"):
        open_store(str(path), Schema("governance", 0x506F7047, (FIRST,)))
    with pytest.raises(StoreTooNew, match=r"version 2; this one knows 1\). Update PopKit"):
        open_store(str(path), Schema("memory", NOTES.application_id, (FIRST,)))
    assert path.read_bytes() == before


def test_a_transaction_is_all_or_nothing_and_joins_the_callers(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "memory.sqlite"), NOTES)) as db:
        with pytest.raises(sqlite3.OperationalError), Transaction(db):
            _ = [db.execute(statement) for statement in ("INSERT INTO notes VALUES ('lost')", "INSERT INTO nowhere VALUES (1)")]
        with Transaction(db):
            with Transaction(db):
                db.execute("INSERT INTO notes VALUES ('kept')")
            assert db.in_transaction, "the inner one is a part of the outer"
        assert db.execute("SELECT text FROM notes").fetchall() == [("kept",)]
