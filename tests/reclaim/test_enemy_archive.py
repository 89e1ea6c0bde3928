"""An archive that somebody else has written into: whatever its columns hold, and whichever table is gone, every command ends with words."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.reclaim.shops import SESSION, Shop

BYTES = b"\xff\x00\x1b]0;title\x07"
MOST_ASKED = ("chains", "thought_records")


def _tables(path: Path) -> dict[str, list[str]]:
    """Our tables and their columns."""
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name DESC")]
        ours = [name for name in tables if not name.startswith(("words", "sqlite_"))]
        return {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in ours}


def _spoils(table: str, columns: list[str]) -> dict[str, list[str]]:
    value = f"x'{BYTES.hex()}'"
    return {
        "gone": [f"DROP TABLE {table}"],
        "another": [f"DROP TABLE {table}", f"CREATE TABLE {table} (x)", f"INSERT INTO {table} VALUES ({value})"],  # noqa: S608  our own names
        "bytes": [f"UPDATE OR IGNORE {table} SET {column} = {value}" for column in columns],  # noqa: S608
    }


@pytest.mark.parametrize("how", ["gone", "another", "bytes"])
def test_every_command_ends_with_words(working: Shop, how: str, request: pytest.FixtureRequest):
    working.clear()
    path, handle = working.home / "archive.sqlite", min(working.cleared().values())
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole, transcript = path.read_bytes(), working.transcript.read_bytes()
    asked = [("restore", handle), ("restore", "show", handle), ("restore", "search", "total"), ("uninstall", "--dry-run"), ("doctor",)]
    asked += [("archive", word) for word in ("list", "verify", "stats")]
    asked += [("context", *words, "--session", SESSION) for words in (["retention"], ["why", "1"], ["undo", "--dry-run"])]
    tables = _tables(path)
    for table in tables if request.config.getoption("--slow") else MOST_ASKED:
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as db:
            for statement in _spoils(table, tables[table])[how]:
                with suppress(sqlite3.IntegrityError):  # a column that takes no bytes
                    db.execute(statement)
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for words in asked:
            done = working.popkit(*words)
            assert done.out + done.err, (table, words)
            assert "Traceback" not in done.err, (table, words, done.err)
            assert "\x1b" not in done.out + done.err, (table, words)
    assert working.transcript.read_bytes() == transcript
    assert not (working.home / "hooks.log").exists()
