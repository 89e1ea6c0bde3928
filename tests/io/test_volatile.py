"""Folders in memory: found by every process of a session, safe from everybody else, gone with the session."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.io import volatile

pytestmark = pytest.mark.skipif(not volatile.is_possible(), reason="this system has no place in memory")
SHARED = Path("/dev/shm")  # noqa: S108  nothing is written there but what is made privately
ID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[str]:
    """A home, of which nothing stays in memory."""
    yield str(tmp_path)
    for folder, _ in volatile.folders(str(tmp_path)):
        volatile.remove(folder)


def test_a_folder_is_found_once_it_is_made_and_is_ours_alone(ours: str):
    assert volatile.find(ours, ID) == ""
    folder = volatile.make(ours, ID)
    assert folder == volatile.find(ours, ID) == volatile.make(ours, ID)
    assert volatile.find(ours, "another") == volatile.find(ours + "/other", ID) == ""
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert volatile.folders(ours) == [(folder, ID)]
    assert volatile.folders(ours + "/other") == []
    assert volatile.is_below(folder + "/archive.sqlite")
    assert not volatile.is_below(ours + "/archive.sqlite")


def test_it_lies_where_no_environment_says(ours: str, monkeypatch: pytest.MonkeyPatch):
    folder = volatile.make(ours, ID)
    monkeypatch.setenv("XDG_RUNTIME_DIR", ours)
    monkeypatch.setenv("TMPDIR", ours)
    assert volatile.find(ours, ID) == folder


@pytest.mark.parametrize("session_id", ["../../x", "a/b", "", "x" * 300, "\0", "ü"])
def test_no_id_leads_out_of_its_place(ours: str, session_id: str):
    folder = volatile.make(ours, session_id)
    assert Path(folder).resolve().parent.name == f"popkit-{os.geteuid()}"


@pytest.mark.parametrize("kind", ["link", "file", "open", "pipe"])
def test_what_anybody_else_could_have_put_in_its_place_is_not_used(ours: str, tmp_path: Path, kind: str):
    folder = Path(volatile.make(ours, ID))
    volatile.remove(str(folder))
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    if kind == "link":
        folder.symlink_to(tmp_path)
    elif kind == "file":
        folder.write_text("")
    elif kind == "pipe":
        os.mkfifo(folder)
    else:
        folder.mkdir()
        folder.chmod(0o755)
    try:
        assert volatile.find(ours, ID) == volatile.make(ours, ID) == ""
        assert volatile.folders(ours) == []
        assert not list(tmp_path.iterdir())
    finally:
        folder.rmdir() if kind == "open" else folder.unlink()


def test_only_what_is_kept_in_memory_is_a_place(tmp_path: Path):
    assert volatile.device_of(str(SHARED)) == SHARED.stat().st_dev
    assert volatile.device_of("/proc") is None
    assert volatile.device_of(str(tmp_path / "none")) is None
    link = tmp_path / "link"
    link.symlink_to(SHARED)
    assert volatile.device_of(str(link)) is None
    on_disk = tmp_path if tmp_path.stat().st_dev != SHARED.stat().st_dev else Path(sys.prefix)
    assert volatile.device_of(str(on_disk)) is None


def test_a_place_in_which_others_can_replace_folders_is_none(ours: str):
    inside = Path(volatile.make(ours, ID)) / "place"
    inside.mkdir()
    for mode, is_place in ((0o700, True), (0o755, True), (0o777, False), (0o775, False), (0o1777, True)):
        inside.chmod(mode)
        assert (volatile.device_of(str(inside)) is not None) is is_place, oct(mode)


def test_a_client_is_gone_when_its_process_is(ours: str):
    folder = volatile.make(ours, ID)
    assert not volatile.is_client_gone(folder)
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    for said in (f"{done.pid} 1", f"{os.getpid()} 1", "", "x y", "² 1"):
        Path(folder, "client").write_text(said)
        assert volatile.is_client_gone(folder), "a number that another process has got is not its process"


def test_what_is_removed_is_gone_with_all_that_is_in_it_and_may_be_gone_before(ours: str):
    folder = volatile.make(ours, ID)
    inside = Path(folder, "sessions", ID)
    inside.mkdir(parents=True)
    (inside / "main.state.json").write_text("{}")
    volatile.remove(folder)
    volatile.remove(folder)
    assert not Path(folder).exists()
    assert volatile.folders(ours) == []
