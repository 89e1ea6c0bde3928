"""The log: it only grows, each entry is bound to the one before, and what was done to it otherwise is named."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.io.row_chain import FIRST_PREV_HASH, link_hash
from popkit_retention.core.io.sqlite_file import open_store
from popkit_retention.governance import BadRequest, GovernanceDamaged, GovernanceError, GovernanceTooNew
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.log import Entry, Log
from popkit_retention.governance.log_schema import HASHED, SCHEMA
from tests.examples import examples
from tests.kit.crowds import all_do
from tests.kit.forks import Done, Forks, Function
from tests.kit.kills import kill_at_each_call

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def log(tmp_path: Path):
    log = Log(str(tmp_path / "log.sqlite"))
    yield log
    log.close()


def _filled(log: Log, count: int = 8) -> list[Entry]:
    """So many entries of both domains, the last with something still to be done; oldest first."""
    appended = []
    for number in range(count):
        domain = "rag" if number % 2 else "memory"
        todo = {"do": "mark", "ids": ["x"]} if number == count - 1 else None
        appended.append(log.append("marked", domain, [f"id-{number}", "all"], {"limit": number}, "job", 1000.5 + number, todo))
    return appended


def _rows(log: Log) -> list[tuple]:
    """The hashed columns of all entries."""
    with closing(sqlite3.connect(log.path)) as db:
        return db.execute(f"SELECT {', '.join(HASHED)} FROM entries ORDER BY number").fetchall()  # noqa: S608


def _tampered(log: Log, *statements: str) -> list[str]:
    """What `verify` says after somebody has done this to the file and has put the guards back."""
    log.close()
    with closing(sqlite3.connect(log.path, isolation_level=None)) as db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for _, sql in guards:
            db.execute(sql)
    return log.verify()


def test_entries_come_back_as_they_were_appended_newest_first(log: Log):
    appended = _filled(log)
    assert log.entries() == appended[::-1]
    assert (log.count(), appended[0].number, appended[-1].todo) == (8, 1, {"do": "mark", "ids": ["x"]})
    assert log.entries(most=2) == [appended[7], appended[6]]
    assert log.entries(domain="rag", most=1) == [appended[7]]
    assert log.entries(action="deleted") == []
    assert log.entries(id="id-3") == [appended[3]]
    assert log.entries(id="all", domain="memory", action="marked") == [appended[6], appended[4], appended[2], appended[0]]
    assert log.verify() == []


def test_a_log_that_is_not_there_is_empty_and_is_not_made(log: Log, tmp_path: Path):
    assert (log.entries(), log.unfinished(), log.count(), log.verify()) == ([], [], 0, [])
    log.done(5)
    assert list(tmp_path.iterdir()) == []


def test_the_first_entry_makes_a_private_file_and_its_folder(tmp_path: Path):
    folder = Folder(str(tmp_path / "home"))
    log = Log(folder.log_path)
    log.append("marked", "rag", [], {}, "user", 1)
    log.close()
    assert stat.S_IMODE(Path(folder.log_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(folder.state).stat().st_mode) == 0o700


def test_what_is_still_to_be_done_stays_until_it_is_done(log: Log):
    first = log.append("marked", "rag", ["a"], {}, "user", 1, {"do": "mark", "ids": ["a"]})
    second = log.append("deleted", "rag", ["b"], {}, "user", 2, {"do": "delete", "ids": ["b"]})
    log.append("restored", "rag", ["c"], {}, "user", 3)
    assert log.unfinished() == [first, second]
    log.done(first.number)
    assert log.unfinished() == [second]
    log.done(first.number)
    log.done(second.number)
    assert log.unfinished() == []
    assert log.verify() == []


def test_each_entry_is_bound_to_the_one_before(log: Log):
    appended = _filled(log, 3)
    rows = _rows(log)
    assert [row[0] for row in rows] == [FIRST_PREV_HASH, appended[0].hash, appended[1].hash]
    assert [link_hash(row) for row in rows] == [entry.hash for entry in appended]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET by = 'user'",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = 8",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE number = 3",
        "UPDATE named SET number = 1",
        "DELETE FROM named",
        "INSERT INTO named VALUES ('x', 3)",
    ],
)
def test_the_file_itself_refuses_to_change_what_was_logged(log: Log, statement: str):
    _filled(log)
    with closing(sqlite3.connect(log.path)) as db, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)


_WRONG = {
    "UPDATE entries SET by = 'user' WHERE number = 3": "entry 3: it does not match its hash: one of its columns was changed",
    "UPDATE entries SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE number = 3": "entry 3: it does not match its hash",
    "DELETE FROM entries WHERE number = 3": "entry 3 is missing",
    "DELETE FROM entries WHERE number IN (3, 4)": "entries 3 to 4 are missing",
    "DELETE FROM entries WHERE number > 6": "entries 7 to 8 are missing: the end was cut off",
    "DELETE FROM entries": "entries 1 to 8 are missing: the end was cut off",
    "DELETE FROM head": "the record of where the log ends is missing",
    "UPDATE head SET number = 5": "entry 8: it was added after the log's end",
    "UPDATE head SET hash = 'x'": "entry 8: it is not the one that the log ended with",
    "DELETE FROM named WHERE id = 'all' AND number = 4": "entry 4: the index of ids does not agree with it",
    "INSERT INTO named VALUES ('more', 4)": "entry 4: the index of ids does not agree with it",
    "UPDATE todo SET todo = '{}'": "entry 8: what is to be done for it was changed",
    "INSERT INTO todo VALUES (5, '{}')": "entry 5: what is to be done for it was changed",
    "INSERT INTO todo VALUES (50, '{}')": "entry 50: what is to be done for it was changed",
}


@pytest.mark.parametrize("statement", _WRONG)
def test_verify_names_the_first_broken_entry_and_what_is_wrong_with_it(log: Log, statement: str):
    _filled(log)
    assert _tampered(log, statement)[0].startswith(_WRONG[statement])


def test_verify_names_entries_that_were_reordered(log: Log):
    _filled(log)
    renumber = "UPDATE entries SET number = 99 WHERE number = 3", "UPDATE entries SET number = 3 WHERE number = 4"
    problems = _tampered(log, *renumber, "UPDATE entries SET number = 4 WHERE number = 99")
    assert problems[0].startswith("entry 3: it is in the wrong place: it was written after what is now entry 4")


def test_an_entry_that_was_changed_with_its_hash_is_found_by_the_next_one(log: Log):
    _filled(log)
    row = list(_rows(log)[2])
    row[HASHED.index("by")] = "user"
    problems = _tampered(log, f"UPDATE entries SET by = 'user', hash = '{link_hash(row)}' WHERE number = 3")  # noqa: S608
    assert problems == ["entry 4: it is not bound to entry 3: one of the two was replaced"]


def test_verify_misses_a_guard_that_was_taken_away(log: Log):
    _filled(log)
    log.close()
    with closing(sqlite3.connect(log.path)) as db:
        db.execute("DROP TRIGGER entries_no_update")
    assert log.verify() == ["entries can be changed: the trigger entries_no_update is missing"]


@pytest.mark.parametrize("column", [name for name in HASHED if name != "number"])
@pytest.mark.parametrize("value", ["''", "NULL || ''", "5", "x'ff'", "'\udcff'", "zeroblob(40)", "9e999"])
def test_no_column_of_an_entry_can_be_changed_unnoticed(log: Log, column: str, value: str):
    _filled(log)
    value = value.replace("'\udcff'", "CAST(x'ff' AS TEXT)").replace("NULL || ''", f"{column} || ' '")
    problems = _tampered(log, f"UPDATE entries SET {column} = {value} WHERE number = 5")  # noqa: S608
    if column == "todo_hash" and value == "''":
        assert problems == [], "it was empty before"
    elif column == "at" and value.startswith("at"):
        assert problems == [], "SQLite takes a number with a space for the number"
    else:
        assert problems[0].startswith("entry 5:")
        assert problems[0].isprintable()


def test_a_byte_that_was_changed_in_the_file_is_detected_or_changes_nothing(log: Log, count):
    appended = _filled(log)
    log.close()
    path, chance = Path(log.path), random.Random(5)
    whole = path.read_bytes()
    detected = 0
    tries = count(300, 5_000)
    for _ in range(tries):
        at = chance.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :])
        try:
            problems, entries = log.verify(), None
            if not problems:
                entries = log.entries()
        except GovernanceError as error:
            problems, entries = [str(error)], None
        log.close()
        assert all(line.isprintable() for line in problems), problems
        assert problems or entries == appended[::-1]
        detected += bool(problems)
    assert detected > tries // 15


@settings(max_examples=examples(25, 300))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["marked", "held"]),
            st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), max_size=4),
            st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=10)), max_size=3),
            st.floats(0, 1e10),
            st.one_of(st.none(), st.dictionaries(st.text(max_size=5), st.integers(), max_size=2)),
        ),
        max_size=8,
    )
)
def test_whatever_is_logged_comes_back_and_verifies(tmp_path_factory, appended: list[tuple]):
    log = Log(str(tmp_path_factory.mktemp("log") / "log.sqlite"))
    entries = [log.append(action, "rag", ids, details, "tool", at, todo) for action, ids, details, at, todo in appended]
    assert [(entry.action, entry.ids, entry.details, entry.at, entry.todo) for entry in entries] == [tuple(entry) for entry in appended]
    assert log.entries() == entries[::-1]
    assert log.unfinished() == [entry for entry in entries if entry.todo is not None]
    assert log.verify() == []
    log.close()


def test_secrets_in_what_a_person_wrote_are_masked_wherever_they_are(log: Log):
    hold = {"id": "h1", "target": "read-1", "who": "me", "why": f"the key is {SECRET}"}
    entry = log.append("held", "rag", ["h1"], {**hold, "note": f"password={SECRET}"}, "user", 1, {"do": "hold", "hold": hold})
    assert entry == log.unfinished()[0]
    assert SECRET not in repr(entry)
    assert (entry.details["why"], entry.todo["hold"]["why"]) == ("the key is ****", "the key is ****")
    assert (entry.details["who"], entry.details["target"]) == ("me", "read-1")
    log.close()
    assert SECRET.encode() not in Path(log.path).read_bytes()


def test_ids_of_sessions_are_not_taken_for_secrets(log: Log):
    kept = ["0f8fad5b-d9cb-469f-a165-70867728950e"]
    assert log.append("configured", "rag", [], {"changed": {"keep_session_ids": [[], kept]}}, "user", 1).details["changed"] == {
        "keep_session_ids": [[], kept]
    }


_NO_ENTRY = [
    {"at": float("nan")},
    {"at": float("inf")},
    {"details": {"x": float("nan")}},
    {"details": {"x": object()}},
    {"todo": {"x": {1, 2}}},
    {"ids": ["\ud800"]},
    {"ids": [5]},
    {"by": "\ud800"},
]


@pytest.mark.parametrize("wrong", _NO_ENTRY, ids=[f"{number}-{next(iter(wrong))}" for number, wrong in enumerate(_NO_ENTRY)])
def test_what_a_log_cannot_hold_is_refused_and_nothing_is_logged(log: Log, wrong: dict):
    _filled(log, 1)
    given = {"action": "marked", "domain": "rag", "ids": ["a"], "details": {}, "by": "user", "at": 1.0, **wrong}
    with pytest.raises(BadRequest):
        log.append(**given)
    assert (log.count(), log.verify()) == (1, [])


def test_an_id_that_no_entry_can_have_is_in_none(log: Log):
    _filled(log, 2)
    assert log.entries(id="\ud800") == []
    assert log.entries(id="' OR 1 = 1 --") == []


def _work(log: Log, **which: str) -> int:
    """How much work SQLite has with a question, in hundreds of its instructions."""
    worked = []
    with log._used() as db:
        db.set_progress_handler(lambda: worked.append(1), 100)
        log.entries(**which)
        db.set_progress_handler(None, 0)
    return len(worked)


def test_an_id_is_found_without_reading_the_whole_log(log: Log):
    _filled(log, 20)
    few = _work(log, id="id-7")
    for number in range(20, 200):
        log.append("marked", "rag", [f"id-{number}"], {}, "job", number)
    assert _work(log, id="id-7") <= few + 1
    assert _work(log) > 20, "reading all of it is more work"


def test_processes_that_log_at_once_lose_no_entry(forks: Forks, log: Log, count):
    each = count(25, 200)
    all_do(forks, [Function("tests.governance.operations:append", [log.path, str(n), each]) for n in range(4)], {})
    assert log.verify() == []
    assert sorted(id for entry in log.entries() for id in entry.ids) == sorted(f"{n}-{number}" for n in range(4) for number in range(each))


def _check_noted(folder: Folder, done: Done) -> None:
    log = Log(folder.log_path)
    assert log.verify() == []
    assert log.count() <= 1
    assert (done.code == 0) <= (log.count() == 1 and log.unfinished() == [])
    log.append("restored", "rag", ["next"], {}, "user", 2)
    assert log.verify() == []
    log.close()


def _world_of(folder: Folder):
    def world() -> dict[str, str]:
        shutil.rmtree(folder.state, ignore_errors=True)
        return {}

    return world


def test_an_operation_killed_at_any_call_is_logged_or_not_and_the_next_one_works(forks: Forks, folder: Folder, home: Path, count):
    work = Function("tests.governance.operations:note", [str(home), ["a", "b"]])
    kills = kill_at_each_call(forks, work, _world_of(folder), lambda done: _check_noted(folder, done), step=count(2, 1))
    assert kills > 15
    print(f"log.append and done: {kills} kills")


def test_a_log_of_a_later_popkit_is_left_alone(log: Log):
    _filled(log, 1)
    log.close()
    with closing(sqlite3.connect(log.path)) as db:
        db.execute(f"PRAGMA user_version = {len(SCHEMA.migrations) + 1}")
    for use in (log.entries, log.verify, lambda: log.append("marked", "rag", [], {}, "user", 1)):
        with pytest.raises(GovernanceTooNew, match="Update PopKit"):
            use()


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"x" * 200])
def test_a_file_that_is_no_log_is_left_as_it_is_and_the_message_says_what_to_do(log: Log, content: bytes):
    Path(log.path).write_bytes(content)
    with pytest.raises(GovernanceDamaged, match="Move it away"):
        log.append("marked", "rag", [], {}, "user", 1)
    assert "Move it away" in log.verify()[0]
    assert Path(log.path).read_bytes() == content


def test_another_programs_database_is_left_alone(log: Log):
    with closing(sqlite3.connect(log.path)) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(GovernanceDamaged, match="another program"):
        log.entries()


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_no_file_is_not_opened(log: Log, tmp_path: Path, kind: str):
    path = Path(log.path)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GovernanceError, match=r"cannot be used.*Nothing was changed"):
        log.append("marked", "rag", [], {}, "user", 1)
    assert not (tmp_path / "elsewhere").exists()


def test_a_connection_is_put_away_when_the_log_is_closed(log: Log):
    _filled(log, 1)
    log.close()
    log.close()
    with closing(open_store(log.path, SCHEMA)) as db:
        db.execute("BEGIN EXCLUSIVE")
