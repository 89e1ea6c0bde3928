"""Where governance keeps its files, and the lock that keeps its processes apart."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from hooks.utils.io import files
from popkit_retention.governance import Busy, GovernanceError
from popkit_retention.governance.data_folder import Folder
from tests.kit.crowds import all_do, held
from tests.kit.forks import Forks, Function


def _lock(folder: Folder) -> Path:
    """The path of its lock, in a folder that is there."""
    path = Path(folder.state) / "retention.lock"
    path.parent.mkdir(parents=True)
    return path


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
    with held(_lock(folder)), pytest.raises(Busy, match="Try again"), folder.lock(wait_s=0.05):
        pytest.fail("two had the lock")
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


def test_who_has_the_lock_may_take_it_again_and_keeps_it_until_the_end(forks: Forks, home: Path, folder: Folder):
    with folder.lock():
        with folder.lock(), Folder(str(home)).lock():
            pass
        done = forks.run(Function("tests.governance.operations:lock", [str(home), 0.05]), {})
        assert "Busy" in done.err, "it could not have it"


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


def test_a_killed_process_gives_the_lock_up(folder: Folder):
    with held(_lock(folder)) as holder:
        holder.kill()
        holder.wait()
        with folder.lock(wait_s=0.05):
            pass


def test_a_process_that_dies_in_the_lock_gives_it_up(forks: Forks, home: Path, folder: Folder):
    assert forks.run(Function("tests.governance.operations:die_in_the_lock", [str(home)]), {}).killed
    with folder.lock(wait_s=0.05):
        pass


def test_many_processes_have_it_one_after_another(forks: Forks, home: Path, tmp_path: Path, count):
    number = tmp_path / "number"
    number.write_text("0")
    processes, often = count(4, 16), count(20, 100)
    all_do(forks, [Function("tests.governance.operations:count", [str(home), str(number), often])] * processes, {})
    assert int(number.read_text()) == processes * often


def test_a_lock_waits_as_long_as_it_was_told(tmp_path: Path):
    path = str(tmp_path / "lock")
    with held(path), pytest.raises(files.LockTimeout, match=r"0\.02 s"), files.Lock(path, 0.02):
        pytest.fail("two had the lock")
