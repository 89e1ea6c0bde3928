"""What our folder lets go: originals whose undo nobody can ask for, folders of sessions that are over; a little at a time, and nothing that
lives."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from popkit_retention.core import efficiency_tracker
from popkit_retention.core.io import volatile
from popkit_retention.core.state import past, session, sockets, store, sweeping
from popkit_retention.core.state.site import Site
from popkit_retention.core.state.sweeping import BYTES, FILES, FOLDERS
from tests.patience import HANG_S, until

ROOT = Path(__file__).resolve().parents[2]
DAY = 86_400.0
PROJECT = "/home/dev/shop"


class Folder:
    """Our folder, with sessions of some age in it. `keep` is what the user has configured."""

    def __init__(self, folder: Path):
        self.folder, self.home = folder, folder / "popkit"
        self.transcripts = folder / "claude" / "projects" / "-shop"
        self.transcripts.mkdir(parents=True)
        self.now = time.time()

    def session(self, name: str, days: float, original: int = 0, transcript: bool = True) -> Path:
        """A session that was last at work so many days ago."""
        path = self.transcripts / f"{name}.jsonl"
        session.update(str(self.home), name, project=PROJECT, transcript=str(path))
        paths = store.ContextFiles(str(self.home), name)
        with paths.locked():
            context = store.StoredState(store.ContextState(name))
            context.state.counts.superseded = 3
            store.save(paths, context)
        folder = Path(paths.folder)
        (folder / "warming.lock").touch()  # of a helper that has looked at the cache
        if original:
            (folder / "original.jsonl").write_bytes(b"x" * original)
        if transcript:
            path.write_text("{}\n")
        for each in (*folder.iterdir(), *([path] if transcript else [])):
            os.utime(each, (self.now - days * DAY,) * 2)
        return folder

    def keep(self, **days: int) -> None:
        (self.home / "retention-config.json").write_text(json.dumps({"keep_days": days}))

    def sweep(self, session_id: str = "current", after_days: float = 0.0) -> None:
        site = Site({"POPKIT_HOME": str(self.home), "HOME": str(self.folder)}, session_id, PROJECT)
        sweeping.sweep(site, self.now + after_days * DAY)

    def sessions(self) -> set[str]:
        return {path.name for path in (self.home / "sessions").iterdir()}


@pytest.fixture
def ours(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def has_original(folder: Path) -> bool:
    return (folder / "original.jsonl").exists()


def test_an_original_goes_when_its_transcript_is_gone(ours: Folder) -> None:
    kept = ours.session("kept", days=3, original=10)
    gone = ours.session("gone", days=3, original=10, transcript=False)
    ours.sweep()
    assert (has_original(kept), has_original(gone)) == (True, False)
    assert ours.sessions() == {"kept", "gone"}, "a state waits for a transcript that may come back"


def test_an_original_goes_after_the_days_that_the_user_says(ours: Folder) -> None:
    """Counted from the change, not from the last line of what is kept."""
    folder = ours.session("old", days=60, original=10)
    ours.sweep()
    assert has_original(folder), "it was put there just now"
    ours.now = (folder / "original.jsonl").stat().st_ctime
    ours.sweep(after_days=13.99)
    assert has_original(folder)
    ours.sweep(after_days=14)
    assert not has_original(folder)
    folder = ours.session("other", days=60, original=10)
    ours.keep(originals=3)
    ours.sweep(after_days=4)
    assert not has_original(folder)
    assert ours.sessions() == {"old", "other"}


def test_a_folder_goes_a_week_after_its_transcript_or_after_months_without_change(ours: Folder) -> None:
    for name, days, transcript in (
        ("recent", 5, False), ("gone", 8, False), ("still there", 80, True), ("ancient", 95, True), ("resumed", 95, True),
    ):  # fmt: skip
        ours.session(name.replace(" ", "-"), days=days, transcript=transcript)
    (ours.transcripts / "resumed.jsonl").write_text("{}\n")
    ours.sweep()
    assert ours.sessions() == {"recent", "still-there", "resumed"}
    ours.keep(sessions=30)
    ours.sweep()
    assert ours.sessions() == {"recent", "resumed"}
    assert all(path.exists() for path in ours.transcripts.iterdir()), "the host's files are the host's"


def test_where_all_projects_of_the_host_are_missing_no_transcript_counts_as_gone(ours: Folder) -> None:
    folder = ours.session("away", days=30, original=10, transcript=False)
    ours.transcripts.parent.rename(ours.folder / "unmounted")
    ours.transcripts.rmdir() if ours.transcripts.exists() else None
    ours.sweep()
    assert has_original(folder)


def test_every_file_of_a_session_belongs_to_one_store_and_goes(ours: Folder) -> None:
    folder = ours.session("old", days=400, original=10)
    names = (
        "agent-1.state.json",
        "main.journal.jsonl",
        "shown-1",
        "noted.json",
        "noted.json.lock",
        "data-rules",
        "clear.lock",
        "original.jsonl.1",
    )
    for name in names:
        (folder / name).touch()
        os.utime(folder / name, (ours.now - 400 * DAY,) * 2)
    for path in folder.iterdir():
        owners = [stored.title for stored in sweeping.STORAGE if stored.owns("", f"sessions/old/{path.name}")]
        assert owners == ["kept originals" if path.name.startswith("original") else "states of sessions"], path
    ours.sweep()
    assert ours.sessions() == set()
    assert [stored.title for stored in sweeping.STORAGE if stored.owns("", "swept")] == ["logs and the like"]
    assert not any(stored.owns("", path) for path in ("sessions/main.state.json", "sessions/old/mine.txt") for stored in sweeping.STORAGE)


@pytest.mark.parametrize("why", ["it is the caller", "it was at work yesterday", "somebody holds its lock"])
def test_nothing_of_a_session_that_lives_goes(ours: Folder, why: str) -> None:
    folder = ours.session("alive", days=1 if "yesterday" in why else 400, original=10, transcript=False)
    with (folder / "main.lock").open("r+") as lock:
        if "holds" in why:
            child = os.fork()
            if not child:
                fcntl.lockf(lock, fcntl.LOCK_EX)
                (ours.folder / "held").touch()
                time.sleep(HANG_S)
            until((ours.folder / "held").exists, "the lock is held")
        before = sorted(path.name for path in folder.iterdir())
        os.utime(folder / "main.lock", (ours.now - 400 * DAY,) * 2) if "yesterday" not in why else None
        ours.sweep("alive" if "caller" in why else "current")
        if "holds" in why:
            os.kill(child, 9)
            os.waitpid(child, 0)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_every_call_looks_at_a_few_sessions_and_together_they_look_at_all(ours: Folder) -> None:
    for number in range(2 * FOLDERS + 3):
        ours.session(f"session-{number:03}", days=3, original=10, transcript=False)
    left = []
    for _ in range(3):
        ours.sweep()
        left.append(sum(has_original(ours.home / "sessions" / name) for name in ours.sessions()))
    assert left == [FOLDERS + 3, 3, 0]


def test_every_call_removes_no_more_than_its_budget(ours: Folder) -> None:
    folder = ours.session("many", days=400)
    for number in range(FILES + 50):
        (folder / f"agent-{number}.state.json").write_text("{}")
        os.utime(folder / f"agent-{number}.state.json", (ours.now - 400 * DAY,) * 2)
    large = ours.session("zlarge", days=400)
    with (large / "original.jsonl").open("wb") as file:
        file.truncate(BYTES + 1)
    os.utime(large / "original.jsonl", (ours.now - 400 * DAY,) * 2)
    ours.sweep()
    assert ours.sessions() == {".swept-many", "zlarge"}, "it stands aside as a whole, half emptied"
    assert 50 <= len(list((ours.home / "sessions" / ".swept-many").iterdir())) < 60
    for _ in range(3):
        ours.sweep()
    assert ours.sessions() == set()


def test_the_files_and_bytes_of_a_call_are_counted_to_the_last(ours: Folder) -> None:
    """What is over them is the next call's, beginning with the next session."""
    for size, left in ((BYTES - 1, 0), (BYTES, 1)):
        for name in ("a", "b"):
            folder = ours.session(f"{name}{size}", days=3, original=1, transcript=False)
            with (folder / "original.jsonl").open("wb") as file:
                file.truncate(size if name == "a" else 1)
            os.utime(folder / "original.jsonl", (ours.now - 3 * DAY,) * 2)
        (ours.home / "swept").write_text("zzz")
        ours.sweep()
        assert sum(has_original(ours.home / "sessions" / name) for name in ours.sessions()) == left
        ours.sweep()
    folder = ours.session("many", days=400)
    for number in range(FILES):
        (folder / f"agent-{number:03}.state.json").write_text("{}")
        os.utime(folder / f"agent-{number:03}.state.json", (ours.now - 400 * DAY,) * 2)
    before = len(list(folder.iterdir()))
    (ours.home / "swept").write_text("zzz")
    ours.sweep()
    assert len(list((ours.home / "sessions" / ".swept-many").iterdir())) == before - FILES


@pytest.mark.parametrize(
    ("seconds", "transcript", "left"),
    [
        (2 * DAY - 1, False, {"original", "folder"}), (2 * DAY, False, {"folder"}), (7 * DAY - 1, False, {"folder"}),
        (7 * DAY, False, set()), (7 * DAY, True, {"original", "folder"}), (90 * DAY - 1, True, {"original", "folder"}),
        (90 * DAY, True, set()),
    ],
)  # fmt: skip
def test_a_session_rests_for_days_to_the_second(ours: Folder, seconds: float, transcript: bool, left: set[str]) -> None:
    ours.now = float(int(ours.now))
    folder = ours.session("old", days=seconds / DAY, original=10, transcript=transcript)
    ours.keep(originals=1_000)
    ours.sweep()
    found = {"original"} if has_original(folder) else set()
    assert found | ({"folder"} if folder.exists() else set()) == left


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list what is open")
def test_a_sweep_leaves_nothing_open(ours: Folder) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for name in ("one", "two"):
        ours.session(name, days=400)
    ours.sweep()
    assert (ours.sessions(), len(list(Path("/proc/self/fd").iterdir()))) == (set(), before)


@pytest.mark.parametrize(("name", "left"), [("main.lock", {"old"}), ("main.state.json", set())])
def test_nothing_is_locked_through_a_link_and_nothing_but_locks(ours: Folder, name: str, left: set[str]) -> None:
    folder = ours.session("old", days=400)
    (ours.folder / "other").write_text("x")
    (folder / name).unlink()
    (folder / name).symlink_to(ours.folder / "other")
    os.utime(folder / name, (ours.now - 400 * DAY,) * 2, follow_symlinks=False)
    os.utime(folder, (ours.now - 400 * DAY,) * 2)
    ours.sweep()
    assert ours.sessions() == left
    assert (ours.folder / "other").read_text() == "x"


@pytest.mark.parametrize("transcript", ["", "/x/y/z.jsonl", "no/such/file"])
def test_a_transcript_that_no_project_of_the_host_holds_is_not_gone(ours: Folder, transcript: str) -> None:
    folder = ours.session("old", days=30, original=10)
    session.update(str(ours.home), "old", transcript=transcript)
    os.utime(folder / "session.json", (ours.now - 30 * DAY,) * 2)
    ours.sweep()
    assert has_original(folder)


@pytest.mark.skipif(not volatile.is_possible(), reason="this system has no place in memory")
def test_sessions_in_memory_go_whose_client_is_gone_and_that_nobody_serves(ours: Folder) -> None:
    home = str(ours.home)
    names = ("its own", "goes on", "is served", "was killed")
    ids = {name: f"{number}{number}{number}11111-{name.replace(' ', '-')}" for number, name in enumerate(names)}
    site = Site({"POPKIT_HOME": home, "HOME": str(ours.folder)}, ids["its own"], PROJECT)
    sweeping.sweep_memory(site)
    assert volatile.folders(home) == []
    folders = {name: Path(volatile.make(home, id)) for name, id in ids.items()}
    try:
        for name in ("its own", "is served", "was killed"):
            (folders[name] / "client").write_text("0 0")
        left = folders["goes on"].with_name(".gone-" + folders["was killed"].name + ".1")
        left.mkdir(mode=0o700)
        (ours.home / "run").mkdir(parents=True)
        (ours.home / "run" / f"{sockets.stem(ids['is served'])}-{os.getpid()}.sock").touch()
        assert len(volatile.folders(home)) == 5
        sweeping.sweep_memory(site)
        assert {name for name, folder in folders.items() if folder.exists()} == {"its own", "goes on", "is served"}
        assert not left.exists()
    finally:
        for folder, _ in volatile.folders(home):
            volatile.remove(folder)


def test_the_statistics_go_on_from_what_a_session_that_was_swept_had_counted(ours: Folder) -> None:
    ours.session("one", days=400)
    ours.session("two", days=1)
    before = efficiency_tracker.all_metrics(str(ours.home)).to_json()
    assert (before["sessions"], before["supersession_events"]) == (2, 6)
    ours.sweep()
    assert ours.sessions() == {"two"}
    assert efficiency_tracker.all_metrics(str(ours.home)).to_json() == before
    assert efficiency_tracker.project_metrics(str(ours.home), PROJECT).to_json() == before
    assert efficiency_tracker.project_metrics(str(ours.home), "/other").sessions == 0
    assert PROJECT not in (ours.home / past.PAST).read_text()
    ours.session("one", days=0)
    assert efficiency_tracker.all_metrics(str(ours.home)).to_json() == before, "one that came back counts once"


def test_what_a_killed_sweep_has_left_goes_with_the_next(ours: Folder) -> None:
    folder = ours.session("old", days=400)
    past.note_past(str(ours.home), "old")
    ours.sweep()
    assert ours.sessions() == set()
    assert efficiency_tracker.all_metrics(str(ours.home)).supersession_events == 3, "noted twice, it counts once"
    folder = ours.session("older", days=400)
    folder.rename(folder.with_name(".swept-older"))
    ours.sweep()
    assert ours.sessions() == set()


@pytest.mark.parametrize("corrupt_file", ["session.json", "main.state.json"])
def test_a_folder_that_cannot_be_read_stops_no_other(ours: Folder, corrupt_file: str) -> None:
    folder = ours.session("a-spoilt", days=400)
    (folder / corrupt_file).write_text("{nonsense")
    os.utime(folder / corrupt_file, (ours.now - 400 * DAY,) * 2)
    session.update(str(ours.home), "b-hostile", transcript="/x\0y")
    (folder / "deep").mkdir()
    os.utime(folder / "deep", (ours.now - 400 * DAY,) * 2)
    ours.session("old", days=400)
    (ours.home / "sessions" / "file").write_text("x")
    elsewhere = ours.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    (ours.home / "sessions" / "link").symlink_to(elsewhere)
    for each in (elsewhere / "precious", ours.home / "sessions" / "file"):
        os.utime(each, (ours.now - 400 * DAY,) * 2)
    (ours.home / "sessions" / "new").mkdir()
    ours.sweep()
    assert {"file", "link", "new"} <= ours.sessions()
    assert "old" not in ours.sessions()
    assert (elsewhere / "precious").exists()


def test_what_others_keep_in_a_folder_of_that_name_stays(ours: Folder) -> None:
    """POPKIT_HOME may be the host's own folder, or the user's."""
    mixed = ours.session("mixed", days=400)
    foreign, elsewhere = ours.home / "sessions" / "foreign", ours.folder / "elsewhere"
    for folder, name in ((foreign, "session.data"), (mixed, "mine.txt"), (elsewhere, "main.state.json")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("precious")
        os.utime(folder / name, (ours.now - 400 * DAY,) * 2)
    (ours.home / "sessions" / ".swept-away").symlink_to(elsewhere)
    ours.session("old", days=400)
    ours.sweep()
    assert ours.sessions() == {"mixed", "foreign", ".swept-away"}
    assert all(path.exists() for path in (mixed / "mine.txt", foreign / "session.data", elsewhere / "main.state.json"))


@pytest.mark.parametrize("event", ["session-start", "session-end"])
def test_the_hooks_of_a_sessions_start_and_end_sweep(ours: Folder, event: str) -> None:
    ours.session("old", days=400)
    ours.session("this", days=400)
    payload = {"session_id": "this", "cwd": PROJECT, "source": "resume", "reason": "other"}
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(ROOT / "hooks" / f"{event}.py")],
        input=json.dumps(payload),
        env={"POPKIT_HOME": str(ours.home), "HOME": str(ours.folder), "CLAUDE_CODE_SESSION_ATTENDED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert ours.sessions() == {"this"}
    assert not (ours.home / "hooks.log").exists()


def test_with_a_session_of_another_host_goes_the_transcript_that_was_kept_of_it(ours: Folder) -> None:
    ours.transcripts = ours.home / "transcripts" / "-shop"
    (ours.transcripts / "ses_old" / "subagents").mkdir(parents=True)
    (ours.transcripts / "ses_old" / "subagents" / "agent-1.jsonl").write_text("{}\n")
    ours.session("ses_old", days=91)
    ours.session("ses_new", days=89)
    in_the_way = ours.home / "sessions" / ".swept-ses_old"
    in_the_way.write_text("x")
    ours.sweep()
    assert {path.name for path in ours.transcripts.iterdir()} == {"ses_old", "ses_old.jsonl", "ses_new.jsonl"}
    in_the_way.unlink()
    ours.sweep()
    assert ours.sessions() == {"ses_new"}
    assert [path.name for path in ours.transcripts.iterdir()] == ["ses_new.jsonl"]


def test_a_transcript_of_the_host_s_own_stays(ours: Folder) -> None:
    ours.session("old", days=91)
    ours.sweep()
    assert ours.sessions() == set()
    assert (ours.transcripts / "old.jsonl").exists()
