"""Files that survive: whole after a kill at any moment, private, without leftovers."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from hooks.utils.io import storage
from tests.kit.forks import Done, Forks, Function
from tests.kit.kills import calls_of, kill_at_each_call

OLD, NEW = "old " * 5000, "new " * 5000


def _gone_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_file_and_the_folders_that_are_made_for_it_are_private(tmp_path: Path):
    before = os.umask(0)
    try:
        storage.write_durably(str(tmp_path / "a" / "b" / "file.json"), b"{}")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b" / "file.json").stat().st_mode) == 0o600
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        storage.write_durably(str(tmp_path / "file"), b"x")
    assert list(tmp_path.rglob("*")) == [tmp_path / "file"]


def test_a_write_that_is_killed_at_any_call_leaves_the_old_file_or_the_new_one(forks: Forks, tmp_path: Path):
    path = tmp_path / "state" / "file"
    seen = []

    def world() -> dict[str, str]:
        path.parent.mkdir(exist_ok=True)
        path.write_text(OLD)
        return {}

    def check(done: Done) -> None:
        assert path.read_text() in (OLD, NEW)
        seen.append(path.read_text() == NEW)
        storage.sweep_temporary(str(path.parent))
        assert list(path.parent.iterdir()) == [path], "what killed writers leave is swept"

    kills = kill_at_each_call(forks, Function("tests.governance.operations:write", [str(path), NEW]), world, check)
    assert seen == [False] * kills + [True], "it is the old one until it is the new one"
    assert kills == 3, "opened, written, renamed"
    print(f"durable.write: {kills} kills")


def test_a_write_is_synced_before_it_is_renamed_and_its_folder_after(tmp_path: Path):
    script = f"from hooks.utils.io import durable; durable.write({str(tmp_path / 'file')!r}, b'x')"
    asked = calls_of(script, [], "fsync,?rename,?renameat,renameat2", {}, tmp_path / "trace")
    lines = [line for line in asked if str(tmp_path) in line]
    assert [line.partition("(")[0] for line in lines] == ["fsync", "rename", "fsync"]
    assert ".tmp-" in lines[0]
    assert f"<{tmp_path}>" in lines[2]


def test_leftovers_go_when_their_process_is_gone_or_they_are_older_than_a_day(tmp_path: Path):
    now, running = time.time_ns(), os.getppid()
    gone = _gone_pid()
    leftovers = {
        f"f.tmp-{gone}-{now}": False,
        f"f.tmp-{running}-{now}": True,
        f"f.tmp-{running}-{now - 90_000 * 10**9}": False,
        "f.tmp-x-1": True,
        f"f.tmp-{gone}": True,
        f"f.tmp-{10**30}-{now}": True,
        "f": True,
        "retention-policies.json": True,
    }
    for name in leftovers:
        (tmp_path / name).write_text("")
    assert storage.sweep_temporary(str(tmp_path)) == 2
    assert {path.name for path in tmp_path.iterdir()} == {name for name, stays in leftovers.items() if stays}


def test_sweeping_a_folder_that_is_not_there_does_nothing(tmp_path: Path):
    assert storage.sweep_temporary(str(tmp_path / "none")) == 0


def test_a_link_in_place_of_a_temporary_file_is_not_followed_and_one_in_place_of_the_file_is_replaced(tmp_path: Path):
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "file").symlink_to(tmp_path / "elsewhere")
    storage.write_durably(str(tmp_path / "file"), b"x")
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert not (tmp_path / "file").is_symlink()
