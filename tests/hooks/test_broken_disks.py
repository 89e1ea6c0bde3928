"""A disk that is full, read-only or missing costs the record and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from popkit_retention.core.io import hook_log
from popkit_retention.core.policy.context import shared_facts
from tests.hooks import payloads, processes
from tests.kit.disks import IS_ROOT, fill, read_only, small_disk
from tests.kit.forks import Forks, Hook
from tests.patience import HANG_S

SESSION = payloads.SESSION


@pytest.fixture
def disk(tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def test_a_full_disk_costs_the_record_and_nothing_else(disk: Path):
    home = processes.Home(disk)
    for number in range(3):
        assert processes.run("post-tool-use", payloads.read(f"/home/dev/{number}.py", f"{number}\n"), home.env()).silent
    before = home.state(SESSION)
    filler = fill(disk)
    for payload in (payloads.read("/home/dev/more.py", "x\n"), payloads.bash("git commit -m x"), payloads.prompt("go"), payloads.stop()):
        assert processes.run_event(payload, home.env()).silent
    assert shared_facts(home.state(SESSION)) == shared_facts(before), "the old state stands"
    assert home.leftovers() == []
    filler.unlink()
    assert processes.run("post-tool-use", payloads.read("/home/dev/more.py", "x\n"), home.env()).silent
    assert home.state(SESSION).index == 4


def test_a_disk_with_room_for_the_log_alone_gets_the_failure_counted(disk: Path):
    home = processes.Home(disk)
    given = [payloads.read(f"/home/dev/a/long/way/down/to/file-{number:04}.py", f"{number}\n") for number in range(60)]
    for call in given:
        assert processes.run("post-tool-use", call, home.env()).silent
    size = Path(home.paths(SESSION).state).stat().st_size
    assert size > 8_000
    Path(hook_log.log_path(str(home.path))).write_text("")
    fill(disk, but=4096)
    assert processes.run("post-tool-use", payloads.read("/home/dev/one/more.py", "x\n"), home.env()).silent
    assert [line.split()[2] for line in home.failures()] == ["OSError"]
    assert "No space left" in home.failures()[0]
    assert home.state(SESSION).index == 60


def test_a_limit_on_the_size_of_files_costs_the_record_and_nothing_else(forks: Forks, home: processes.Home):
    for number in range(30):
        assert processes.run("post-tool-use", payloads.read(f"/home/dev/file{number}.py", f"{number}\n"), home.env()).silent
    assert Path(home.paths(SESSION).state).stat().st_size > 4096
    assert forks.run(Hook("post-tool-use", payloads.read("/home/dev/more.py", "x\n")), home.env(), file_bytes=4096).silent
    assert [line.split()[2] for line in home.failures()] == ["OSError"]
    assert home.state(SESSION).index == 30
    assert home.leftovers() == []


def test_a_file_where_our_folder_should_be_is_left_alone(home: processes.Home):
    home.path.write_text("a file\n")
    for payload in payloads.one_of_each_event():
        assert processes.run_event(payload, home.env()).silent
    assert home.path.read_text() == "a file\n"
    assert [path.name for path in home.parent.iterdir()] == ["popkit"]


def test_files_where_folders_should_be_are_counted_as_failures(home: processes.Home):
    home.path.mkdir()
    (home.path / "sessions").write_text("a file\n")
    for payload in (payloads.bash("mkdir a"), payloads.prompt("go"), payloads.session_start(), payloads.session_end()):
        assert processes.run_event(payload, home.env()).silent
    assert len(home.failures()) >= 3
    assert (home.path / "sessions").read_text() == "a file\n"


def test_folders_where_files_should_be_are_counted_as_failures(home: processes.Home):
    paths = home.paths(SESSION)
    for path in (paths.state, paths.journal, paths.expired):
        Path(path).mkdir(parents=True)
    for payload in (payloads.bash("mkdir a"), payloads.prompt("go"), payloads.stop()):
        assert processes.run_event(payload, home.env()).silent
    assert len(home.failures()) >= 2


def test_a_read_only_folder_costs_the_record_and_nothing_else(home: processes.Home):
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    with read_only(home.path):
        before = processes.listing(home.parent)
        for payload in payloads.one_of_each_event():
            assert processes.run_event(payload, home.env()).silent
        assert processes.listing(home.parent) == before
        assert home.state(SESSION).index == 1


def test_a_folder_that_cannot_be_made_costs_the_record_and_nothing_else(tmp_path: Path):
    (tmp_path / "file").write_text("")
    env = {"PATH": os.defpath, "POPKIT_HOME": str(tmp_path / "file" / "popkit")}
    for payload in payloads.one_of_each_event():
        assert processes.run_event(payload, env).silent


# --- no home -------------------------------------------------------------------------------------------------------------------


def _without_users(argv: list[str], folder: Path, passwd: str) -> list[str]:
    """The command where the system knows other users, or skips."""
    (folder / "passwd").write_text(passwd)
    (folder / "nsswitch").write_text("passwd: files\n")
    mounts = f'mount --bind "{folder}/passwd" /etc/passwd'
    if Path("/etc/nsswitch.conf").exists():
        mounts += f' && mount --bind "{folder}/nsswitch" /etc/nsswitch.conf'
    unshare = ["unshare", "-m" if IS_ROOT else "-rm"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "sh", "-c", mounts], capture_output=True, check=False).returncode:
        pytest.skip("other users need a mount namespace")
    return [*unshare, "sh", "-c", mounts + ' && exec "$@"', "sh", *argv]


NO_HOMES = {"unset": {}, "empty": {"HOME": ""}, "all empty": {"HOME": "", "POPKIT_HOME": "", "CLAUDE_CONFIG_DIR": ""}}


@pytest.mark.parametrize("env", NO_HOMES.values(), ids=NO_HOMES)
@pytest.mark.parametrize("through", ["script", "launcher"])
def test_without_any_home_nothing_is_written_anywhere(tmp_path: Path, env: dict, through: str):
    argv = processes.argv("post-tool-use")
    if through == "launcher":
        argv = ["sh", "-c", processes.command_of("PostToolUse")]
    argv = _without_users(argv, tmp_path, "")
    roots = {path: path.exists() for path in (Path("/.claude"), Path("/popkit"), Path.home() / ".claude" / "popkit")}
    environ = {"PATH": os.environ["PATH"], "CLAUDE_PLUGIN_ROOT": str(processes.ROOT), **env}
    call = processes.data_of(payloads.bash("mkdir a"))
    done = subprocess.run(argv, input=call, capture_output=True, env=environ, cwd=tmp_path, timeout=HANG_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert {path: path.exists() for path in roots} == roots
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nsswitch", "passwd"]


def test_without_home_in_the_environment_the_systems_own_record_is_asked(tmp_path: Path):
    (tmp_path / "dev").mkdir()
    # Whoever runs the tests is root there.
    argv = _without_users(processes.argv("post-tool-use"), tmp_path, f"dev:x:0:0::{tmp_path}/dev:/bin/sh\n")
    environ = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        argv, input=processes.data_of(payloads.bash("mkdir a")), capture_output=True, env=environ, timeout=HANG_S, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "dev" / ".claude" / "popkit" / "sessions" / SESSION / "main.state.json").exists()


def test_the_hosts_configuration_folder_is_ours_where_nothing_else_is_configured(tmp_path: Path):
    environ = {"PATH": os.environ["PATH"], "CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path / "home")}
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), environ).silent
    assert (tmp_path / "config" / "popkit" / "sessions" / SESSION).is_dir()
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full"])
def test_streams_that_are_closed_or_full_harm_nothing(home: processes.Home, closed: str):
    if "full" in closed and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    help_ = payloads.prompt("/popkit:context help")
    for script, payload in (("post-tool-use", payloads.read("/a.py", "x\n")), ("context-monitor", help_)):
        argv = ["sh", "-c", f'exec "$@" {closed}', "sh", *processes.argv(script)]
        done = subprocess.run(argv, input=processes.data_of(payload), capture_output=True, env=home.env(), timeout=HANG_S, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    assert all(json.loads(path.read_text()) for path in home.files() if path.suffix == ".json"), "no answer went into a file"
