"""What is left beside the archive is in it for everybody who opens it, once."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.utils import archive
from hooks.utils.archive import spill
from hooks.utils.io import files, home
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
CHAIN = archive.Chain("s", "s", "", "/shop", "/shop.jsonl")


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
    archive.leave(path, CHAIN, record())
    [waiting] = files.spilled(path)
    assert stat.S_IMODE(Path(waiting).stat().st_mode) == 0o600
    db = archive.open_archive(path)
    found = archive.record(db, archive.handle_of(CHAIN, "t1", record().content))
    assert (found.label, found.subjects, found.tokens, found.timestamp) == ("Read a.py", ["/shop/a.py"], 9, "2026-01-05T10:00:00Z")
    assert archive.verify(db).broken == []
    db.close()
    assert files.spilled(path) == []


def test_what_is_left_at_once_waits_in_one_file_and_is_taken_in_whole(path: str):
    left = {f"t{number}": f"line {number}\n\u2028and more" for number in range(5)}
    archive.leave(path, CHAIN, *(record(id, text) for id, text in left.items()))
    assert len(files.spilled(path)) == 1
    assert {id: json.loads(content) for id, content in contents(path).items()} == left


def test_popkit_restore_finds_what_only_waits(path: str, tmp_path: Path):
    archive.leave(path, CHAIN, record(text="line one\n\ud800 two"))
    handle = archive.handle_of(CHAIN, "t1", record(text="line one\n\ud800 two").content)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "POPKIT_HOME": str(tmp_path)}
    command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "restore", handle]
    done = subprocess.run(command, env=env, capture_output=True, timeout=HANG_S, check=True)
    assert done.stdout.decode("utf-8", "surrogatepass").rstrip("\n") == "line one\n\ud800 two"


def test_a_kill_before_it_is_removed_takes_it_in_once(path: str, monkeypatch: pytest.MonkeyPatch):
    archive.leave(path, CHAIN, record())
    with monkeypatch.context() as patched:
        patched.setattr(spill, "_remove", lambda _path: None)
        assert len(contents(path)) == 1
    assert len(files.spilled(path)) == 1
    assert contents(path) == {"t1": record().content}
    assert files.spilled(path) == []


def test_what_cannot_be_taken_in_now_waits(path: str):
    archive.leave(path, CHAIN, record())
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
    archive.leave(path, CHAIN, record("t2"))
    assert list(contents(path)) == ["t2"]
    assert files.spilled(path) == []
