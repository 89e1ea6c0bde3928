"""OpenCode's own storage, made up: its database, with the tables that 1.18 has, and the files of the versions before 1.2."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.hosts.test_opencode import BEGAN, Export

TABLES = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, slug text NOT NULL,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text, time_created integer NOT NULL,
    time_updated integer NOT NULL, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


def database(folder: Path, *exports: Export, journal: str = "wal", name: str = "opencode.db") -> Path:
    """A database with these sessions, closed as OpenCode leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.executescript(TABLES)
        for export in exports:
            store(db, export)
    return path


def store(db: sqlite3.Connection, export: Export, parent: str | None = None) -> None:
    """Write one session."""
    info = export.data()["info"]
    row = (info["id"], "p1", None, parent, "slug", info["directory"], info["title"], "1.18.33", None, BEGAN, export.at, None)
    db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    for message in export.messages:
        message_info, at = message["info"], message["info"]["time"]["created"]
        db.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)",
            (message_info["id"], info["id"], at, at, _without(message_info, "id", "sessionID")),
        )
        for part in message["parts"]:
            data = _without(part, "id", "messageID", "sessionID")
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (part["id"], message_info["id"], info["id"], at, at, data))


def files(folder: Path, *exports: Export) -> Path:
    """The `storage` of the older form, with these sessions."""
    root = folder / "storage"
    for export in exports:
        info = export.data()["info"]
        _write(root / "session" / "p1" / f"{info['id']}.json", {**info, "time": {"created": BEGAN, "updated": export.at}})
        for message in export.messages:
            message_info = message["info"]
            _write(root / "message" / info["id"] / f"{message_info['id']}.json", message_info)
            for part in message["parts"]:
                _write(root / "part" / message_info["id"] / f"{part['id']}.json", part)
    return root


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))


def _without(value: dict[str, Any], *names: str) -> str:
    return json.dumps({name: found for name, found in value.items() if name not in names})
