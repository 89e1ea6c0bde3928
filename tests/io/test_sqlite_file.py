"""A store's file: its tables are brought up to date step by step, and it remembers how; what is not ours, or newer, is left alone."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core.io import files
from popkit_retention.core.io.sqlite_file import Schema, StoreDamaged, StoreTooNew, Transaction, open_store
from tests.patience import HANG_S

FIRST = ("notes", ("CREATE TABLE notes (text TEXT)",))


def _shout(db: sqlite3.Connection) -> None:
    db.execute("UPDATE notes SET text = upper(text)")


def _applied(db: sqlite3.Connection) -> list:
    return db.execute("SELECT version, name FROM migrations ORDER BY version").fetchall()


SECOND = ("louder", ("CREATE INDEX notes_by_text ON notes (text)", _shout))
NOTES = Schema("memory", 0x506F704D, (FIRST, SECOND))


def test_a_store_is_brought_up_to_date_and_remembers_what_was_applied(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "memory.sqlite")
    with closing(open_store(path, Schema("memory", NOTES.application_id, (FIRST,)))) as db:
        db.execute("INSERT INTO notes VALUES ('hello')")
        assert _applied(db) == [(1, "notes")]
    with closing(open_store(path, NOTES)) as db:
        assert db.execute("SELECT text FROM notes").fetchall() == [("HELLO",)]
        assert _applied(db) == [(1, "notes"), (2, "louder")]


def test_a_migration_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.sqlite")
    open_store(path, NOTES).close()
    broken = ("broken", ("CREATE TABLE more (a)", "CREATE TABLE notes (a)"))
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        open_store(path, Schema("memory", NOTES.application_id, (FIRST, SECOND, broken)))
    with closing(open_store(path, NOTES)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone()[0] == 0
        assert len(_applied(db)) == 2


def test_a_new_store_that_many_open_at_once_is_made_once(tmp_path: Path, count) -> None:
    def open_it(path: str, together: threading.Barrier, opened: list) -> None:
        together.wait()
        with closing(open_store(path, NOTES, busy_s=HANG_S)) as db:
            opened.append(_applied(db))

    for attempt in range(count(30, 300)):
        opened: list = []
        given = (str(tmp_path / f"{attempt}.sqlite"), threading.Barrier(8), opened)
        threads = [threading.Thread(target=open_it, args=given) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert opened == [[(1, "notes"), (2, "louder")]] * 8


def test_a_store_of_another_kind_or_of_a_later_version_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    open_store(str(path), NOTES).close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="belongs to another program"):
        open_store(str(path), Schema("governance", 0x506F7047, (FIRST,)))
    with pytest.raises(StoreTooNew, match=r"version 2; this one knows 1\). Update PopKit"):
        open_store(str(path), Schema("memory", NOTES.application_id, (FIRST,)))
    assert path.read_bytes() == before


SILENT = """
CREATE TRIGGER notes_stay BEFORE DELETE ON notes
BEGIN SELECT RAISE(ABORT, 'notes stay'); END
"""
GUARDED = Schema("memory", NOTES.application_id, (("notes", ("CREATE TABLE notes (text TEXT)", SILENT)),))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER another AFTER INSERT ON notes BEGIN DELETE FROM migrations; END",
        "CREATE TRIGGER notes_stay BEFORE DELETE ON notes BEGIN DELETE FROM migrations; END",
        "CREATE VIEW notes_stay AS SELECT 1",
    ],
    ids=["another", "of the same name", "a view of the same name"],
)
def test_a_store_with_programs_that_we_have_not_made_is_refused(tmp_path: Path, statement: str) -> None:
    path = str(tmp_path / "memory.sqlite")
    open_store(path, GUARDED).close()
    open_store(path, GUARDED).close()
    with closing(sqlite3.connect(path)) as db:
        if "notes_stay" in statement:
            db.execute("DROP TRIGGER notes_stay")
        db.execute(statement)
        db.commit()
    with pytest.raises(StoreDamaged, match="a trigger or view that PopKit did not make"):
        open_store(path, GUARDED)


@pytest.mark.parametrize("beside", ["-journal", "-wal", "-shm"])
def test_what_lies_where_sqlite_keeps_its_own_files_is_opened_only_if_it_is_a_file(tmp_path: Path, beside: str) -> None:
    path = str(tmp_path / "memory.sqlite")
    open_store(path, NOTES).close()
    os.mkfifo(path + beside)
    for create in (True, False):
        with pytest.raises(OSError, match="regular file"):
            open_store(path, NOTES, create)


def _busy_ms(db: sqlite3.Connection) -> int:
    return db.execute("PRAGMA busy_timeout").fetchone()[0]


def _write_while_read(db: sqlite3.Connection, reader: sqlite3.Connection) -> None:
    with Transaction(db):
        db.execute("INSERT INTO notes VALUES ('lost')")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM notes").fetchall()


def test_a_hook_waits_in_a_transaction_no_longer_than_it_has_patience_left(tmp_path: Path, hook_patience: files.Patience) -> None:
    path = str(tmp_path / "memory.sqlite")
    with closing(open_store(path, NOTES, busy_s=hook_patience.next_s())) as db, closing(open_store(path, NOTES)) as other:
        hook_patience.left_s = 0.12
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"), Transaction(db):
            pytest.fail("somebody else holds it")
        assert (_busy_ms(db), hook_patience.left_s) == (120, 0)
        other.execute("ROLLBACK")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            _write_while_read(db, other)
        assert _busy_ms(db) == 0, "nor for a reader, before what was written counts"
        assert not db.in_transaction


def test_a_command_waits_as_long_as_the_store_was_opened_for(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "memory.sqlite"), NOTES)) as db, Transaction(db):
        assert _busy_ms(db) == 5_000


def test_a_transaction_is_all_or_nothing_and_joins_the_callers(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "memory.sqlite"), NOTES)) as db:
        with pytest.raises(sqlite3.OperationalError), Transaction(db):
            _ = [db.execute(statement) for statement in ("INSERT INTO notes VALUES ('lost')", "INSERT INTO nowhere VALUES (1)")]
        with Transaction(db):
            with Transaction(db):
                db.execute("INSERT INTO notes VALUES ('kept')")
            assert db.in_transaction, "the inner one is a part of the outer"
        assert db.execute("SELECT text FROM notes").fetchall() == [("kept",)]
