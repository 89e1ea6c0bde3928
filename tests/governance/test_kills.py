"""Files that survive: whole after a kill at any moment, private, without leftovers. Collections, archives, restores and changes of
policies, killed at any call that changes something, and at random moments: the next run puts right what is left."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from popkit_retention.core.io import durable
from popkit_retention.governance import archives
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.domains import TOOL
from tests.governance.case import KINDS, Case
from tests.governance.collectors import at_work
from tests.governance.stored import DAY, NOW
from tests.kit.forks import Command, Done, Forks, Function, Work
from tests.kit.kills import Check, calls_of, kill_at_each_call, kill_at_random_moments, lay_down

OLD, NEW = "old " * 5000, "new " * 5000


def _gone_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_file_and_the_folders_that_are_made_for_it_are_private(tmp_path: Path):
    before = os.umask(0)
    try:
        durable.write_durably(str(tmp_path / "a" / "b" / "file.json"), b"{}")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b" / "file.json").stat().st_mode) == 0o600
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        durable.write_durably(str(tmp_path / "file"), b"x")
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
        durable.sweep_temporary(str(path.parent))
        assert list(path.parent.iterdir()) == [path], "what killed writers leave is swept"

    kills = kill_at_each_call(forks, Function("tests.governance.operations:write", [str(path), NEW]), world, check)
    assert seen == [False] * kills + [True], "it is the old one until it is the new one"
    assert kills == 3, "opened, written, renamed"
    print(f"durable.write_durably: {kills} kills")


def test_a_write_is_synced_before_it_is_renamed_and_its_folder_after(tmp_path: Path):
    script = f"from popkit_retention.core.io import storage; durable.write_durably({str(tmp_path / 'file')!r}, b'x')"
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
    assert durable.sweep_temporary(str(tmp_path)) == 2
    assert {path.name for path in tmp_path.iterdir()} == {name for name, stays in leftovers.items() if stays}


def test_sweeping_a_folder_that_is_not_there_does_nothing(tmp_path: Path):
    assert durable.sweep_temporary(str(tmp_path / "none")) == 0


def test_a_link_at_the_temporary_file_is_not_followed_and_one_at_the_file_goes(tmp_path: Path):
    """The link in place of the file is replaced."""
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "file").symlink_to(tmp_path / "elsewhere")
    durable.write_durably(str(tmp_path / "file"), b"x")
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert not (tmp_path / "file").is_symlink()


# --- operations ---------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["at each call", "at random moments"])
def case(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Case:
    """Few resources where it is every call, many where it is any moment; two batches either way."""
    return Case(tmp_path, kind, 3 if request.param == "at each call" else 100)


@pytest.fixture
def kill(forks: Forks, case: Case, count: Callable[[int, int], int]) -> Callable[[Function, Check], None]:
    """Kills work at its calls (each of them with --slow, else every seventeenth), or at random moments."""

    def kill(work: Function, check: Check) -> None:
        if len(case.ids) < 10:
            kills = kill_at_each_call(forks, work, case.world, check, step=count(17, 1))
            assert kills > count(2, 30), "there were moments to be killed at"
        else:
            kills = kill_at_random_moments(forks, work, case.world, check, count(3, 500))
        print(f"{case.kind}, {work.function.rpartition(':')[2]} of {len(case.ids)}: {kills} kills")

    return kill


def test_a_collection_that_is_killed_is_ended_by_the_next_one(case: Case, kill: Callable[[Function, Check], None]):
    def check(done: Done) -> None:
        with case.workspace() as workspace:
            left = set(case.data(workspace))
            assert left >= case.ready | case.young, "only what was marked a day ago may be gone"
            with workspace.changing():
                pass
            case.check_log(workspace)
            assert set(case.data(workspace)) == left, "finishing what was left undone deletes nothing more"
            workspace.gc(NOW)
            case.check_log(workspace)
            assert set(case.data(workspace)) == case.ready | case.young
            assert {id: mark.at for id, mark in workspace.domain.marked().items()} == dict.fromkeys(case.ready, NOW)
            marked = Counter(id for ids in workspace.logged("marked") for id in ids)
            assert marked == Counter(case.due | case.ready), "nothing is marked twice"
        case.check_folder()

    kill(case.work("gc", NOW), check)


def test_an_archive_that_is_killed_is_whole_or_not_there(case: Case, kill: Callable[[Function, Check], None]):
    seen = set()

    def check(done: Done) -> None:
        with case.workspace() as workspace:
            with workspace.changing():
                pass
            summaries = archives.summaries(workspace.folder)
            assert len(summaries) == len(workspace.logged("archived")) == (not done.killed or bool(summaries))
            assert all(summary["resource_count"] == len(case.ids) for summary in summaries)
            seen.add(len(summaries))
            case.check_log(workspace)
            assert case.data(workspace) == case.before
            workspace.archive(*case.ids[:2], now=NOW)
            case.check_log(workspace)
        case.check_folder()

    kill(case.work("archive", case.ids, NOW), check)
    assert seen == {0, 1} or len(case.ids) > 10


def test_a_restore_that_is_killed_is_ended_by_the_next_one(case: Case, kill: Callable[[Function, Check], None]):
    with at_work(case.template, case.kind, NOW) as workspace:
        archive_id = workspace.archive(*case.ids, now=NOW - DAY / 2).archive_id
        assert {verdict.id for verdict in workspace.gc(NOW).deletes} == case.due

    def check(done: Done) -> None:
        with case.workspace() as workspace:
            with workspace.changing():
                pass
            back = Counter(id for id in case.data(workspace) if id in case.due)
            assert Counter(id for ids in workspace.logged("restored") for id in ids) == back, "what is back was logged, once"
            workspace.restore(archive_id, NOW)
            assert case.data(workspace) == case.before
            assert Counter(id for ids in workspace.logged("restored") for id in ids) == Counter(case.due)
            assert workspace.log.verify() == []
            assert workspace.verify(read_data=True) == []
        case.check_folder()

    kill(case.work("restore", archive_id, NOW), check)


def test_an_archive_is_on_disk_before_it_is_logged_and_its_name_before_it_is_done(kind: str, tmp_path: Path):
    case = Case(tmp_path, kind, 3)
    script = "import json, sys; from tests.governance.collectors import archive; archive(*json.loads(sys.argv[1]))"
    given = json.dumps(case.work("archive", case.ids, NOW).given)
    lines = calls_of(script, [given], "fsync,fdatasync,?rename,?renameat,renameat2", case.world(), tmp_path / "trace")
    data_calls = [line for line in lines if "/data/" in line]
    steps = [
        what
        for line in data_calls
        for what, tells in (
            ("contents", line.startswith("fsync") and "/contents>" in line),
            ("manifest", line.startswith("fsync") and "/manifest.json" in line),
            ("its folder", line.startswith("fsync") and re.search(r"/\.new-[^/]*>", line)),
            ("logged", "retention-log.sqlite" in line),
            ("renamed", line.startswith("rename") and "manifest" not in line),
            ("archives", line.startswith("fsync") and "/data/archive>" in line),
        )
        if tells
    ]
    order = [what for what, before in zip(steps, ["", *steps]) if what != before]
    assert order == ["archives", "contents", "manifest", "its folder", "logged", "renamed", "archives", "logged"]


# --- changes of a policy: made or not made, and logged exactly if made --------------------------------------------------------------------

BEFORE = (("rag", {"limit": 7}), ("memory", {"older_than_days": 90}), ("rag", {"keep_session_ids": ["s1", "s2"]}))
CONFIGURE = Function("tests.governance.operations:configure", ["rag", {"limit": 11, "vacuum": True}])
COMMAND = Command(["retention", "set", "rag.limit=11", "rag.vacuum=true"])
ACCEPT = Function("tests.governance.operations:accept", [])
ROLL_BACK = Function("tests.governance.operations:roll_back", [1])
LOOK = Function("tests.governance.operations:look", [])
LOG_ONLY = Function("tests.governance.operations:log_a_configure", ["rag", {"limit": 11, "vacuum": True}])


class Revision:
    """Work that makes one revision, in a home as it was before it."""

    def __init__(self, folder: Path, forks: Forks, work: Work, configured: bool = True, begun: bool = False, asked: bool = False):
        self.forks, self.work = forks, work
        self.home, self.template = folder / "home", folder / "template"
        self.template.mkdir(parents=True)
        self.environ = {"POPKIT_HOME": str(self.template)}
        with Controller(self.environ) as controller:
            for domain, config in BEFORE if configured else ():
                controller.configure(domain, config)
        if asked:
            with Controller(self.environ, TOOL, "shop-0123456789ab") as agent:
                assert not agent.configure("rag", {"limit": 9_000})["success"]
        if begun:  # and nobody has finished it yet
            assert forks.run(LOG_ONLY, self.environ).killed
        self.old = self._stored(self.template)
        environ = self.world()
        done = forks.run(work, environ)
        assert done.code == 0, done
        self.new = self._stored(self.home)
        assert self.new != self.old
        self.made: list[bool] = []

    def world(self) -> dict[str, str]:
        lay_down(self.template, self.home)
        return {"POPKIT_HOME": str(self.home)}

    def _stored(self, home: Path) -> dict:
        path = home / "data/state/retention-policies.json"
        return {**json.loads(path.read_text(encoding="utf-8")), "updated_at": ""} if path.exists() else {}

    def check(self, done: Done) -> None:
        stored = self._stored(self.home)
        assert stored in (self.old, self.new), "whoever only reads the file sees the old one or the new one"
        with Controller({"POPKIT_HOME": str(self.home)}) as controller:
            verified = controller.verify() if not controller.opened().unfinished() else None
            policies = {**controller.policies(), "updated_at": ""}
            assert controller.opened().unfinished() == [], "what was begun is finished"
            assert controller.verify()["ok"], controller.verify()
            assert verified is None or verified["ok"]
            is_new = policies == self.new
            assert is_new or policies == {**controller.policies(), "updated_at": "", **self.old}
            logged = controller.log(action="configured")["entries"]
            assert [entry["details"]["revision"] for entry in logged] == list(range(policies["revision"], 0, -1))
            assert stored == self.old or is_new, "what was made is not taken back"
            self.made.append(is_new)
            assert not (is_new and controller.requests()["requests"]), "what is made waits no longer"
            assert controller.configure("memory", {"limit": 3})["revision"] == policies["revision"] + 1
            assert controller.get("rag") == policies["rag"]
            assert controller.verify()["ok"]
        names = sorted(path.name for path in (self.home / "data/state").iterdir())
        assert names == ["retention-log.sqlite", "retention-policies.json", "retention.lock"], "nothing is left behind"


CASES = {
    "configure": {"work": CONFIGURE},
    "the first configure": {"work": CONFIGURE, "configured": False},
    "the command": {"work": COMMAND},
    "rollback": {"work": ROLL_BACK},
    "accepting what an agent asked for": {"work": ACCEPT, "asked": True},
    "finishing what another began": {"work": LOOK, "begun": True},
}


@pytest.mark.parametrize("what", CASES)
def test_killed_at_any_call_that_changes_something_it_is_made_or_not(forks: Forks, tmp_path: Path, what: str, count):
    """At every third of them, at each with --slow."""
    case = Revision(tmp_path, forks, **CASES[what])
    step = count(3, 1)
    kills = kill_at_each_call(forks, case.work, case.world, case.check, step)
    print(f"{what}: {kills} kills")
    assert kills * step > 12, "there were moments to be killed at"
    assert case.made == sorted(case.made), "before it is logged it is not made, and from then on it is"
    assert all(case.made) if what == "finishing what another began" else 1 < case.made.count(True) < len(case.made)
