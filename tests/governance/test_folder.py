"""Where governance keeps its files, and the lock that keeps its processes apart."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hooks.utils.edges import files
from popkit_retention.governance.errors import Busy, GovernanceError
from popkit_retention.governance.folder import Folder
from tests.governance.killing import Function
from tests.paths import PYTHONPATH, ROOT

COUNTS = """
import sys
from popkit_retention.governance.folder import Folder
for _ in range(int(sys.argv[3])):
    with Folder(sys.argv[1]).lock():
        number = int(open(sys.argv[2]).read())
        open(sys.argv[2], "w").write(str(number + 1))
"""
HOLDS = """
import sys, time
from popkit_retention.governance.folder import Folder
with Folder(sys.argv[1]).lock():
    print(flush=True)
    sys.stdin.read()
"""


def _start(code: str, *words: str) -> subprocess.Popen:
    argv = [sys.executable, "-c", code, *words]
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    return subprocess.Popen(argv, env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_its_files_stand_where_the_specification_says(home: Path, folder: Folder):
    assert folder.policies == str(home / "data/state/retention-policies.json")
    assert folder.log_path == str(home / "data/state/retention-log.sqlite")
    assert folder.archives == str(home / "data/archive")
    assert not home.exists(), "nothing is made that nobody needs"


def test_the_lock_makes_its_folder_and_all_of_it_is_private(home: Path, folder: Folder):
    with folder.lock():
        pass
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (home / "data", *(home / "data").rglob("*"))}
    assert set(modes.values()) == {0o700, 0o600}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items())


def test_who_waits_too_long_is_told_what_to_do_and_has_the_lock_when_it_is_free(home: Path, folder: Folder):
    holder = _start(HOLDS, str(home))
    assert holder.stdout is not None
    assert holder.stdout.readline()
    with pytest.raises(Busy, match="Try again"), folder.lock(wait_s=0.05):
        pytest.fail("two had the lock")
    holder.communicate("")
    with folder.lock(wait_s=0.05):
        pass


@pytest.mark.parametrize("spoilt", ["data", "data/state", "data/state/retention.lock"])
def test_where_there_can_be_no_lock_the_message_says_why(home: Path, folder: Folder, spoilt: str):
    (home / spoilt).parent.mkdir(parents=True)
    (home / spoilt).mkdir() if spoilt.endswith("lock") else (home / spoilt).write_text("in the way")
    with pytest.raises(GovernanceError, match=r"cannot be used .*Nothing was changed"), folder.lock():
        pytest.fail("there was a lock")


def test_a_link_in_place_of_the_lock_is_not_followed(home: Path, folder: Folder, tmp_path: Path):
    Path(folder.state).mkdir(parents=True)
    (Path(folder.state) / "retention.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GovernanceError, match="cannot be used"), folder.lock():
        pytest.fail("there was a lock")
    assert not (tmp_path / "elsewhere").exists()


def test_who_has_the_lock_may_take_it_again_and_keeps_it_until_the_end(home: Path, folder: Folder):
    with folder.lock():
        with folder.lock(), Folder(str(home)).lock():
            pass
        process = _start("import sys\n" + HOLDS.replace(".lock()", ".lock(0.05)"), str(home))
        _, _ = process.communicate("")
        assert process.returncode == 1, "it could not have it"


def test_threads_are_kept_apart_too(folder: Folder):
    seen = []

    def work() -> None:
        for _ in range(20):
            with folder.lock():
                before = len(seen)
                seen.append(None)
                assert len(seen) == before + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    with folder.lock():
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80


def test_a_killed_process_gives_the_lock_up(errands, home: Path, folder: Folder):
    dead = Function("tests.governance.deeds:die_in_the_lock", [str(home)])
    assert errands.call(dead.name, dead.given, {}).code == -9
    with folder.lock(wait_s=0.05):
        pass


def test_many_processes_have_it_one_after_another(home: Path, tmp_path: Path, count):
    number = tmp_path / "number"
    number.write_text("0")
    processes, often = count(4, 16), count(20, 100)
    started = [_start(COUNTS, str(home), str(number), str(often)) for _ in range(processes)]
    for process in started:
        process.communicate()
    assert [process.returncode for process in started] == [0] * processes
    assert int(number.read_text()) == processes * often


def test_a_lock_waits_as_long_as_it_was_told(tmp_path: Path):
    holder = _start(HOLDS, str(tmp_path))
    assert holder.stdout is not None
    assert holder.stdout.readline()
    with pytest.raises(files.LockTimeout, match=r"0\.02 s"), files.Lock(str(tmp_path / "data/state/retention.lock"), 0.02):
        pytest.fail("two had the lock")
    holder.communicate("")
