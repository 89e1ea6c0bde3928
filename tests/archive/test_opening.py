"""The archive's file: private, made once, brought up to date, refused where it is not understood; what is left beside it is in it for
everybody who opens it."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.archive import SCHEMA, ArchiveDamaged, ArchiveTooNew, open_archive
from popkit_retention.core.archive.beside import leave_beside
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.io import files, home
from tests.archive.written import CHAIN, add_cleared, fill, new
from tests.kit.crowds import all_do
from tests.kit.forks import Done, Forks, Function
from tests.kit.kills import kill_at_each_call, kill_at_random_moments
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_file_and_its_new_folders_are_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "popkit" / "deep" / "archive.sqlite"
    kept = os.umask(0)
    try:
        with closing(open_archive(str(path))) as db:
            fill(db, 1)
            db.execute("BEGIN IMMEDIATE")
            fill(db, 3)
            assert {_mode(each) for each in path.parent.iterdir()} == {0o600}, "the journal too"
            db.execute("COMMIT")
    finally:
        os.umask(kept)
    assert (_mode(path.parent), _mode(path.parent.parent)) == (0o700, 0o700)


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    open_archive(str(path)).close()
    path.chmod(0o644)
    open_archive(str(path), create=False).close()
    assert _mode(path) == 0o600


def test_none_is_made_where_none_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_archive(str(tmp_path / "none" / "archive.sqlite"), create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_what_is_no_regular_file_is_refused_untouched(tmp_path: Path, kind: str) -> None:
    path, target = tmp_path / "archive.sqlite", tmp_path / "target"
    if kind == "link":
        target.write_bytes(b"precious")
    if kind in ("link", "dangling"):
        path.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    for create in (True, False):
        with pytest.raises(OSError, match="regular file"):
            open_archive(str(path), create=create)
    assert target.read_bytes() == b"precious" if kind == "link" else not target.exists()


@pytest.mark.parametrize("name", ["archive ?mode=memory#%41.sqlite", "a%b.sqlite", "é🙂.sqlite"])
def test_any_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    with closing(open_archive(str(tmp_path / name))) as db:
        fill(db, 1)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_connection_waits_checks_and_writes_through(opened: sqlite3.Connection) -> None:
    asked = {
        name: opened.execute(f"PRAGMA {name}").fetchone()[0] for name in ("busy_timeout", "synchronous", "foreign_keys", "journal_mode")
    }
    assert asked == {"busy_timeout": 5000, "synchronous": 2, "foreign_keys": 1, "journal_mode": "delete"}
    assert opened.isolation_level is None


def test_an_archive_of_version_1_is_brought_up_to_date_with_its_records(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")
    _older(path, 1)
    with closing(open_archive(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(SCHEMA.migrations)
        assert db.execute("SELECT id, label FROM thought_records").fetchall() == [("abcdefgh", "Read src/0.py")]
        assert archive.find_records(db, named=["0.py"])[0].id == "abcdefgh", "what is older is found by its name too"
        number, ids = add_cleared(db, CHAIN, [new(3), new(4), new(5)], 1.0)
        assert sorted(record.id for record in archive.records_of_clear(db, number)) == sorted(ids)


def _older(path: str, version: int) -> None:
    """An archive as an earlier PopKit wrote it, with one record and no memory of its migrations."""
    with closing(sqlite3.connect(path)) as db:
        for _, steps in SCHEMA.migrations[:version]:
            for step in steps:
                db.execute(step)
        db.execute(f"PRAGMA application_id = {SCHEMA.application_id}")
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("INSERT INTO chains VALUES ('session-1', 'session-1', '', '/p', '/t', 1, 'h')")
        values = ("abcdefgh", "read", "session-1", "", "t", "p", "h", "c", 1, "toolu", "Read src/0.py", '["/p/src/0.py"]', 1, 1, "hash")
        columns = "id, type, task_id, agent_id, timestamp, prev_hash, hash, created_at, place, tool_use_id, label, subjects, tokens, size"
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO thought_records ({columns}, content_hash) VALUES ({marks})", values)  # noqa: S608
        db.commit()


def test_an_archive_of_a_later_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    with closing(open_archive(str(path))) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(ArchiveTooNew, match=r"version 99; this one knows 4\). Update PopKit"):
        open_archive(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["text", "cut", "other"])
def test_a_file_that_is_no_archive_is_refused_untouched(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "archive.sqlite"
    if kind == "text":
        path.write_bytes(b"this is no database at all " * 100)
    elif kind == "cut":
        with closing(open_archive(str(path))) as db:
            fill(db, 50)
        path.write_bytes(path.read_bytes()[:5_000])
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE other (a)")
    before = path.read_bytes()
    with pytest.raises(ArchiveDamaged, match="Move it away"), closing(open_archive(str(path))) as db:
        archive.stats(db)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    path.touch(0o600)
    with closing(open_archive(str(path))) as db:
        assert fill(db, 1)


def test_processes_that_open_a_new_archive_at_once_all_succeed_and_lose_nothing(forks: Forks, tmp_path: Path, count) -> None:
    path, each = tmp_path / "new" / "archive.sqlite", count(5, 50)
    all_do(forks, [Function("tests.archive.working:add", [str(path), name, each]) for name in "abcd"], {})
    with closing(open_archive(str(path), create=False)) as db:
        report = verify(db)
        assert (report.records, report.chains, report.broken) == (4 * each, 1, [])


def test_a_process_that_is_killed_while_it_adds_leaves_whole_records(forks: Forks, tmp_path: Path, count) -> None:
    path = tmp_path / "archive.sqlite"

    def world() -> dict[str, str]:
        for left in tmp_path.iterdir():
            left.unlink()
        return {}

    def check(done: Done) -> None:
        with closing(open_archive(str(path))) as db:
            report = verify(db)
            assert report.broken == []
            assert report.records - done.out.count("\n") in (0, 1), "what was told to be there is there"
            fill(db, 1)
            assert verify(db).broken == []

    work = Function("tests.archive.working:add", [str(path), "k", 2])
    assert kill_at_each_call(forks, work, world, check, count(3, 1)) > 20
    kill_at_random_moments(forks, Function(work.function, [str(path), "k", 40]), world, check, count(5, 100))


def test_a_full_or_read_only_file_is_an_error_that_changes_nothing(opened: sqlite3.Connection) -> None:
    ids = fill(opened, 3)
    opened.execute(f"PRAGMA max_page_count = {opened.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        archive.add_records(opened, CHAIN, [new(number) for number in range(400, 500)], now=1.0)
    assert not opened.in_transaction
    opened.execute("PRAGMA query_only = ON")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        archive.archive_record(opened, ids[0], hot_max=1, warm_max=1)
    assert not opened.in_transaction
    assert verify(opened).records == 3


def test_importing_it_loads_nothing_slow_and_only_what_lies_below_it() -> None:
    asked = "import sys; import popkit_retention.core.archive; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", asked], cwd=ROOT / "power-mode", capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    slow = {"argparse", "asyncio", "dataclasses", "datetime", "hashlib", "json", "pathlib", "re", "sqlite3", "subprocess", "typing"}
    assert slow.isdisjoint(loaded)
    ours = {name for name in loaded if name.startswith("popkit_retention.core.")}
    assert all(
        name.startswith(
            (
                "popkit_retention.core.archive",
                "popkit_retention.core.errors",
                "popkit_retention.core.io",
                "popkit_retention.core.retention_kit",
                "popkit_retention.core.rows",
            )
        )
        for name in ours
    )


@pytest.mark.bench
def test_one_record_of_100_000_is_there_in_a_few_milliseconds(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.sqlite")
    with closing(open_archive(path)) as db:
        ids = [fill(db, 1_000, archive.Chain(f"session-{number}", f"session-{number}"))[number] for number in range(100)]
        for number in range(100):
            archive.archive_chain(db, f"session-{number}")
    taken = []
    for number in range(20):
        began = time.perf_counter()
        with closing(open_archive(path, create=False)) as db:
            assert archive.retrieve_record(db, ids[number])["content_available"]
            assert archive.get_record_position(db, ids[number]) == 1_000 - number
        taken.append(time.perf_counter() - began)
    print(f"median {sorted(taken)[10] * 1000:.2f} ms, of {Path(path).stat().st_size / 1e6:.0f} MB")
    assert sorted(taken)[10] < 0.005


# --- what waits beside it ----------------------------------------------------------------------------------------------------------------

WAITING = archive.Chain("s", "s", "", "/shop", "/shop.jsonl")


def record(id: str = "t1", text: str = "what was left out") -> archive.NewRecord:
    return archive.NewRecord(id, "read", "Read a.py", json.dumps(text, ensure_ascii=False), "2026-01-05T10:00:00Z", ["/shop/a.py"], 9)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """An archive that is there."""
    path = home.archive_path(str(tmp_path))
    archive.open_archive(path).close()
    return path


def contents(path: str) -> dict[str, str]:
    """tool_use id -> content of all records."""
    db = archive.open_archive(path)
    found = {one.tool_use_id: archive.retrieve_record(db, one.id)["content"] for one in archive.find_records(db)}
    db.close()
    return found


def test_whoever_opens_the_archive_finds_it_under_its_handle(path: str):
    leave_beside(path, WAITING, record())
    [waiting] = files.spilled(path)
    assert stat.S_IMODE(Path(waiting).stat().st_mode) == 0o600
    db = archive.open_archive(path)
    archived = archive.record(db, archive.handle_of(WAITING, "t1", record().content))
    assert (archived.label, archived.subjects, archived.tokens, archived.timestamp) == (
        "Read a.py",
        ["/shop/a.py"],
        9,
        "2026-01-05T10:00:00Z",
    )
    assert verify(db).broken == []
    db.close()
    assert files.spilled(path) == []


def test_what_is_left_at_once_waits_in_one_file_and_is_taken_in_whole(path: str):
    left = {f"t{number}": f"line {number}\n\u2028and more" for number in range(5)}
    leave_beside(path, WAITING, *(record(id, text) for id, text in left.items()))
    assert len(files.spilled(path)) == 1
    assert {id: json.loads(content) for id, content in contents(path).items()} == left


def test_popkit_restore_finds_what_only_waits(path: str, tmp_path: Path):
    leave_beside(path, WAITING, record(text="line one\n\ud800 two"))
    handle = archive.handle_of(WAITING, "t1", record(text="line one\n\ud800 two").content)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "POPKIT_HOME": str(tmp_path)}
    command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "restore", handle]
    done = subprocess.run(command, env=env, capture_output=True, timeout=HANG_S, check=True)
    assert done.stdout.decode("utf-8", "surrogatepass").rstrip("\n") == "line one\n\ud800 two"


def test_a_file_that_a_kill_left_after_it_was_taken_in_is_taken_in_once(path: str):
    leave_beside(path, WAITING, record())
    [waiting] = map(Path, files.spilled(path))
    left = waiting.read_bytes()
    assert len(contents(path)) == 1
    waiting.write_bytes(left)
    assert contents(path) == {"t1": record().content}
    assert files.spilled(path) == []


def test_what_cannot_be_taken_in_now_waits(path: str):
    leave_beside(path, WAITING, record())
    busy = sqlite3.connect(path, isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    archive.open_archive(path, busy_s=0.01).close()
    assert len(files.spilled(path)) == 1
    busy.execute("ROLLBACK")
    busy.close()
    assert contents(path) == {"t1": record().content}


@pytest.mark.parametrize("text", ["", "{", "[]\n", "[[1], 2]\nx", '[["s","s","","",""],["t",1]]\n"x"', "null\n\n"])
def test_what_is_none_of_ours_is_left_out(path: str, text: str):
    files.spill(path, text)
    leave_beside(path, WAITING, record("t2"))
    assert list(contents(path)) == ["t2"]
    assert files.spilled(path) == []


def test_what_is_searched_by_has_an_index(opened: sqlite3.Connection) -> None:
    rows = opened.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
    assert [name for (name,) in rows] == ["chains_of_session", "clears_of_chain", "clears_of_record", "records_of_tool_use"]
