"""The lock on what several write, between processes and between the threads of one; and names that no file can have."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from popkit_retention.core.io import files, home
from popkit_retention.core.state import session
from tests.patience import HANG_S


def test_threads_of_one_process_that_set_facts_at_once_lose_none(tmp_path: Path):
    starts = threading.Barrier(4)

    def tell(name: str) -> None:
        starts.wait(HANG_S)
        for number in range(30):
            session.update(str(tmp_path), "s", **{name: f"{name} {number}"})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(tell, ("index", "model", "profile", "told")))
    assert vars(session.read(str(tmp_path), "s")) == {name: f"{name} 29" for name in ("index", "model", "profile", "told")}
    assert not list(tmp_path.rglob("*.tmp"))


def test_another_thread_waits_only_so_long_and_then_holds_nothing(tmp_path: Path):
    path = str(tmp_path / "lock")

    def wait() -> None:
        with files.Lock(path, 0.02):
            pytest.fail("two held it")

    with files.Lock(path), ThreadPoolExecutor(1) as thread, pytest.raises(files.LockTimeout, match=r"held for more than 0\.02 s"):
        thread.submit(wait).result(HANG_S)
    with ThreadPoolExecutor(1) as thread, files.Lock(path, HANG_S):
        assert not thread.submit(lambda: files.Lock(path).thread.acquire(False)).result(HANG_S)


def test_a_file_may_be_in_the_root_folder():
    with pytest.raises(OSError, match="must be a regular file"):  # of a folder there: the one above it is found
        files.make_private_file("/usr")


def test_an_error_of_a_full_disk_names_the_file_that_did_not_change(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text("before")

    def write(_: int) -> None:
        Path("/dev/full").write_text("after")

    with pytest.raises(OSError, match=r"No space left on device: '.*settings\.json'"):
        files.replace(str(path), write)
    assert (path.read_text(), list(tmp_path.iterdir())) == ("before", [path])


def test_a_lock_that_cannot_be_made_is_let_go(tmp_path: Path):
    path = str(tmp_path / "gone" / "lock")
    with pytest.raises(FileNotFoundError), files.Lock(path):
        pytest.fail("there is no such folder")
    (tmp_path / "gone").mkdir()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: files.Lock(path, 0.0).__enter__().__exit__(None)).result(HANG_S)


@pytest.mark.parametrize("id", ["/", "..", "../../etc", "/a/../..", "a" * 5_000, "/caf\u00e9", "/\udcff", "/a\nb", ""])
def test_a_sessions_folder_is_below_ours_whatever_its_id(id: str) -> None:
    folder, _, name = home.session_folder("/ours", id).rpartition("/")
    assert folder == "/ours/sessions"
    assert name not in ("", ".", "..")
    assert name.isascii()


@pytest.mark.parametrize("name", ["", "gone", "\ud800", "a\0b", "x" * 5_000])
def test_nothing_is_there_under_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    path = f"{tmp_path}/file/{name}"
    (tmp_path / "file").write_text("")
    assert not files.is_there(path)
    assert not files.is_folder(path)
    assert files.names(path) == []
