"""OpenCode's own storage, read as its exports are: the database, while OpenCode writes to it too, and the files of older versions."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.hosts import recorded_sessions, recordings
from popkit_retention.core.hosts.opencode import database, stored_sessions
from popkit_retention.core.hosts.transcripts import entries, sent, transcript
from popkit_retention.core.state import shipped
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.lab import sent_requests
from popkit_retention.memory.extraction import conversation
from popkit_retention.parallel.sources import find
from tests.hosts import stores
from tests.hosts.test_opencode import PROJECT, SESSION, worked
from tests.lab.test_robust import altered

OTHER = "ses_7f3amadeup0002"


def in_database(folder: Path) -> str:
    return f"{stores.database(folder, worked())}/{SESSION}"


def in_files(folder: Path) -> str:
    return str(stores.files(folder, worked()) / "session" / "p1" / f"{SESSION}.json")


FORMS = pytest.mark.parametrize("form", [in_database, in_files], ids=["database", "files"])


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Each file with its bytes and its time, apart from what SQLite's processes share."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith("-shm")
    }  # fmt: skip


def lines(address: str) -> list[bytes]:
    return [line for _, line in entries.lines(address)]


# --- what it says ----------------------------------------------------------------------------------------------------------------------


@FORMS
def test_it_says_what_an_export_of_the_session_says(tmp_path: Path, form: Callable[[Path], str]):
    exported = worked().write(tmp_path / "export")
    assert lines(form(tmp_path / "opencode")) == lines(str(exported))


@FORMS
def test_all_readers_take_its_address_like_a_file(tmp_path: Path, form: Callable[[Path], str]):
    address = form(tmp_path)
    assert [call.operation for call in transcript.events_of(address) if hasattr(call, "operation")] == ["read", "shell", "edit", "shell"]
    assert len(sent.read(address, entries.size_of(address)).requests) == len(sent_requests.read(address).requests) == 5
    rebuilt = rebuild(address, [], lambda _: shipped.rules())
    assert {result.label: result.ended[0] for result in rebuilt.state.expired.values()}["read src/prices.js"] == "edited"
    assert any(conversation(address))
    assert recordings.host_of(address) == "OpenCode"


@FORMS
def test_a_session_is_named_by_its_id_and_so_is_an_export_of_it(tmp_path: Path, form: Callable[[Path], str]):
    assert recordings.session_id_of(form(tmp_path)) == SESSION
    assert recordings.session_id_of(str(worked().write(tmp_path / "export"))) == SESSION
    assert recordings.session_id_of("/a/some.json") == "some.json"


@FORMS
def test_nothing_is_written_and_nothing_is_left_beside_it(tmp_path: Path, form: Callable[[Path], str]):
    address, before = form(tmp_path), everything(tmp_path)
    lines(address)
    find([str(tmp_path)], lambda *_: None)
    assert everything(tmp_path) == before


def test_a_line_can_be_found_again_where_it_was(tmp_path: Path):
    found = list(entries.lines(in_database(tmp_path)))
    place, line = found[2]
    assert next(entries.lines(in_database(tmp_path / "again"), begin=place)) == (place, line)
    assert [one for _, one in entries.lines(in_database(tmp_path / "more"), place + len(line))] == [one for _, one in found[:3]]


# --- which sessions there are ------------------------------------------------------------------------------------------------------------


def of_user(folder: Path, **more: str) -> list[stored_sessions.StoredSession]:
    return stored_sessions.every({"XDG_DATA_HOME": str(folder), **more})


def test_the_newest_comes_first_and_a_session_in_both_forms_once(tmp_path: Path):
    newer = worked(OTHER, "/home/dana/other")
    newer.say("and now?")
    stores.files(tmp_path / "opencode", worked(), worked("ses_7f3amadeup0003"))
    path = stores.database(tmp_path / "opencode", worked(), newer)
    found = of_user(tmp_path)
    assert [each.id for each in found if each.address.startswith(str(path))] == [OTHER, SESSION]
    assert sorted(each.id for each in found) == [SESSION, OTHER, "ses_7f3amadeup0003"]
    assert {each.project for each in map(stored_sessions.described, found)} == {PROJECT, "/home/dana/other"}


def test_a_subagent_s_session_counts_among_many_and_is_nobody_s_newest(tmp_path: Path):
    path = stores.database(tmp_path / "opencode", worked())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        stores.store(db, worked(OTHER), parent=SESSION)
    assert [each.id for each in recorded_sessions.of_opencode({"XDG_DATA_HOME": str(tmp_path)})] == [SESSION]
    assert len(find([str(path)], lambda *_: None)) == 2


def test_the_environment_says_where_it_is(tmp_path: Path):
    stores.database(tmp_path / "opencode", worked(), name="opencode-nightly.db")
    stores.database(tmp_path / "else", worked(OTHER), name="my.db")
    assert [each.id for each in of_user(tmp_path)] == [SESSION]
    assert [each.id for each in of_user(tmp_path, OPENCODE_DB=str(tmp_path / "else" / "my.db"))] == [OTHER]
    assert [each.id for each in of_user(tmp_path, OPENCODE_DB="opencode-nightly.db")] == [SESSION]
    assert of_user(tmp_path / "nowhere") == []
    assert stored_sessions.folder_of({"HOME": "/home/dana"}) == "/home/dana/.local/share/opencode"


def test_folders_and_databases_are_searched_for_sessions(tmp_path: Path):
    path = stores.database(tmp_path / "a" / "opencode", worked())
    stores.files(tmp_path / "b", worked(OTHER))
    everywhere = {source.address: source.size for source in find([str(tmp_path)], lambda *_: None)}
    assert {recordings.session_id_of(address) for address in everywhere} == {SESSION, OTHER}
    assert min(everywhere.values()) > 1_000
    (one,) = find([f"{path}/{SESSION}"], lambda *_: None)
    assert one.size == everywhere[one.address]


def test_what_is_not_there_is_left_out_with_its_reason(tmp_path: Path):
    path, left_out = stores.database(tmp_path, worked()), []
    (tmp_path / "notes.db").write_text("no database")
    assert find([f"{path}/ses_none", str(tmp_path / "notes.db")], lambda *why: left_out.append(why))[0].address.endswith("notes.db")
    assert left_out == [(f"{path}/ses_none", "cannot be read: this database has no session ses_none")]


# --- while OpenCode runs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_it_is_read_while_somebody_writes_and_keeps_nobody_from_writing(tmp_path: Path, journal: str):
    path = stores.database(tmp_path, worked(), journal=journal)
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as running:
        going = entries.lines(f"{path}/{SESSION}")
        next(going)
        more = worked(OTHER)
        running.execute("BEGIN IMMEDIATE")
        stores.store(running, more)
        running.execute("COMMIT")
        assert len(list(going)) > 5
        assert len(lines(f"{path}/{OTHER}")) > 5, "what is not in the database's own file yet is read, too"


def test_a_locked_database_is_reported_as_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "_BUSY_S", 0.01)
    path = stores.database(tmp_path, worked(), journal="delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as running:
        running.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match="locked"):
            lines(f"{path}/{SESSION}")


def test_changes_that_only_opencode_can_bring_in_are_not_passed_over(tmp_path: Path):
    path = stores.database(tmp_path / "one", worked())
    with closing(sqlite3.connect(path, isolation_level=None)) as running:
        stores.store(running, worked(OTHER))
        (tmp_path / "copy").mkdir()
        for name in ("opencode.db", "opencode.db-wal"):
            (tmp_path / "copy" / name).write_bytes((tmp_path / "one" / name).read_bytes())
    with pytest.raises(OSError, match="Start OpenCode once"):
        stored_sessions.sessions_in([str(tmp_path / "copy" / "opencode.db")])


def test_an_index_holds_for_a_session_that_has_grown_since(tmp_path: Path):
    path = stores.database(tmp_path, worked())
    index = transcript.index(f"{path}/{SESSION}")
    with closing(sqlite3.connect(path, isolation_level=None)) as running:
        later = "SELECT 'msg_9', session_id, time_created * 2, 0, data FROM message WHERE id = 'msg_0000'"
        running.execute(f"INSERT INTO message {later}")
        running.execute("INSERT INTO part VALUES ('prt_9', 'msg_9', ?, 0, 0, ?)", (SESSION, '{"type": "text", "text": "more"}'))
        assert len(list(entries.read(f"{path}/{SESSION}", index.size, index.relevant))) == sum(index.relevant)
        assert len(list(entries.read(f"{path}/{SESSION}", entries.ALL, index.relevant))) == sum(index.relevant) + 1


# --- what is broken, huge or of another version -------------------------------------------------------------------------------------------


def changed(path: Path, statement: str, *values: object) -> str:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement, values)
    return f"{path}/{SESSION}"


@pytest.mark.parametrize("data", ["", "{", "7", "null", "[]", '{"type": "tool"', b"\xff\xfe", b"\0\1", 9, "[" * 50_000])
def test_a_row_that_is_none_is_counted_and_passed_over(tmp_path: Path, data: object):
    path = stores.database(tmp_path, worked())
    address = changed(path, "UPDATE part SET data = ? WHERE id = 'prt_0001_0'", data)
    index = transcript.index(address)
    assert index.bad == 1
    assert len(index.calls) == 3
    changed(path, "UPDATE message SET data = ? WHERE id = 'msg_0002'", data)
    assert len(transcript.index(address).calls) == 2


@pytest.mark.parametrize("data", [b"", b"{", b"7", b"[]", b"\xff\xfe", b"[" * 50_000, None], ids=str)
def test_a_file_that_is_none_is_counted_and_passed_over(tmp_path: Path, data: bytes | None):
    address = in_files(tmp_path)
    path = tmp_path / "storage" / "part" / "msg_0001" / "prt_0001_0.json"
    path.unlink()
    path.mkdir() if data is None else path.write_bytes(data)
    index = transcript.index(address)
    assert (index.bad, len(index.calls)) == (1, 3)
    Path(address).write_bytes(data or b"")
    with pytest.raises(OSError, match="not a session of OpenCode"):
        lines(address)


@FORMS
def test_what_is_far_too_large_is_counted_and_passed_over(tmp_path: Path, form: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "LARGEST_ROW", 20_000)
    monkeypatch.setattr(stored_sessions, "LARGEST_FILE", 20_000)
    address = form(tmp_path)
    huge = json.dumps({"type": "text", "text": "x" * 30_000})
    if form is in_database:
        changed(tmp_path / "opencode.db", "UPDATE part SET data = ? WHERE id = 'prt_0001_0'", huge)
    else:
        (tmp_path / "storage" / "part" / "msg_0001" / "prt_0001_0.json").write_text(huge)
    index = transcript.index(address)
    assert (index.bad, len(index.calls)) == (1, 3)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("ALTER TABLE part RENAME TO parts", "part has no id, message_id, session_id, data"),
        ("ALTER TABLE message RENAME COLUMN data TO body", "message has no data"),
        ("DELETE FROM session", "no session"),
    ],
)
def test_another_version_is_refused_with_what_it_lacks(tmp_path: Path, statement: str, says: str):
    with pytest.raises(OSError, match=says):
        lines(changed(stores.database(tmp_path, worked()), statement))


def test_a_session_in_a_later_form_is_to_be_exported(tmp_path: Path):
    path = stores.database(tmp_path, worked())
    changed(path, "INSERT INTO session_message SELECT id, session_id, 'user', rowid, data FROM message")
    with pytest.raises(OSError, match=f"opencode export {SESSION}"):
        lines(changed(path, "DELETE FROM message"))


def test_bytes_that_are_no_database_are_refused(tmp_path: Path):
    address, chance = in_database(tmp_path), random.Random(1)
    path = Path(address).parent
    whole = path.read_bytes()
    for data in (b"", b"SQLite format 3\0", whole[:5_000], b"x" * 9_000, whole[:100] + chance.randbytes(len(whole))):
        path.write_bytes(data)
        with pytest.raises(OSError, match=r"."):
            lines(address)


@pytest.mark.parametrize("place", ["a pipe", "a folder"])
def test_what_is_no_file_keeps_nobody_waiting(tmp_path: Path, place: str):
    path = tmp_path / "opencode.db"
    os.mkfifo(path) if place == "a pipe" else path.mkdir()
    with pytest.raises(OSError, match=r"."):
        lines(f"{path}/{SESSION}")


def gone_through(address: str) -> None:
    """Whatever is in it, each reader ends or says why not."""
    with suppress(OSError):
        transcript.index(address)
        list(transcript.events_of(address))
        sent_requests.read(address)
        sent.read(address, entries.size_of(address))
        list(conversation(address))


def test_corrupt_values_end_nothing(tmp_path: Path, count):
    whole = worked()
    for seed in range(count(25, 600)):
        chance, export = random.Random(seed), worked()
        share = chance.choice([0.003, 0.01, 0.05, 0.2])
        export.messages = _whole_ids([altered(message, chance, share) for message in whole.messages], whole.messages)
        gone_through(f"{stores.database(tmp_path / str(seed), export)}/{SESSION}")


def _whole_ids(messages: list[Any], whole: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What stands in columns of their own is whole; all else is as it was altered."""
    repaired = []
    for message, before in zip(messages, whole):
        info, parts = (message.get(name) for name in ("info", "parts")) if isinstance(message, dict) else (None, None)
        whole_info = {**info, "id": before["info"]["id"], "time": before["info"]["time"]} if isinstance(info, dict) else before["info"]
        kept = [
            {**part, "id": id["id"]} for part, id in zip(parts, before["parts"]) if isinstance(part, dict)
        ] if isinstance(parts, list) else before["parts"]  # fmt: skip
        repaired.append({"info": whole_info, "parts": kept})
    return repaired


def test_a_database_with_corrupt_pages_is_read_or_refused(tmp_path: Path, count):
    whole = stores.database(tmp_path, worked(), worked(OTHER)).read_bytes()
    for seed in range(count(40, 1_000)):
        chance = random.Random(seed)
        data = bytearray(whole)
        for _ in range(chance.choice([1, 5, 40, 400])):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        path = tmp_path / f"{seed}.db"
        path.write_bytes(data)
        gone_through(f"{path}/{SESSION}")
        with suppress(OSError):
            stored_sessions.sizes([str(path)])
