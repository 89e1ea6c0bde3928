"""The launcher finds the real interpreter once, starts hooks with it, and does nothing where there is none."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from tests import locales
from tests.hooks import payloads, processes
from tests.hooks.machines import REAL, SHELLS, Machine, program
from tests.kit.forks import Forks, Program

SESSION = payloads.SESSION
# What a shell makes something of, several in each name.
ODD_NAMES = ["-with spaces, quo'te and star*", 'double"quote $HOME `true` $(true) 日本 é', "semi;colon amper&sand back\\slash\nnew line"]


def test_a_slow_shim_is_asked_once(bare: Machine, shell: str):
    bare.shim(before="sleep 0.1")
    for _ in range(3):
        bare.runs(shell)
    assert bare.shim_calls == 1
    assert bare.remembered.strip() == REAL
    assert bare.index() == 3


def test_what_is_remembered_is_private(machine: Machine, shell: str):
    machine.runs(shell)
    assert stat.S_IMODE((machine.home.path / "interpreter").stat().st_mode) == 0o600
    assert stat.S_IMODE(machine.home.path.stat().st_mode) == 0o700
    assert not list(machine.home.path.glob("interpreter.*"))


def test_an_interpreter_that_was_removed_is_looked_for_again(machine: Machine, shell: str):
    machine.runs(shell)
    for gone in ("/nonexistent/python3\n", "", "\n", str(machine.folder) + "\n", "relative\n", "python3"):
        before = machine.shim_calls
        (machine.home.path / "interpreter").write_text(gone)
        machine.runs(shell)
        assert machine.shim_calls == before + 1
        assert machine.remembered.strip() == REAL
    assert machine.index() == 7


def test_a_folder_in_place_of_what_is_remembered_harms_nothing(machine: Machine, shell: str):
    (machine.home.path / "interpreter").mkdir(parents=True)
    for _ in range(2):
        machine.runs(shell)
    assert machine.index() == 2


def test_a_memory_that_cannot_be_read_or_written_harms_nothing(machine: Machine, shell: str):
    machine.home.path.write_text("a file where the folder should be\n")
    machine.runs(shell)
    assert machine.home.path.read_text() == "a file where the folder should be\n"


@pytest.mark.parametrize(
    "python3",
    [
        pytest.param(None, id="no python at all"),
        pytest.param('echo ""\n', id="too old"),
        pytest.param("exit 1\n", id="broken"),
        pytest.param("exit 127\n", id="a shim without a version"),
        pytest.param("echo 'pyenv: python3: command not found' >&2\nexit 127\n", id="a shim that complains"),
        pytest.param("echo /nonexistent/python3\n", id="one that names none"),
    ],
)
def test_without_an_interpreter_the_hook_does_nothing(bare: Machine, shell: str, python3: str | None):
    if python3 is not None:
        program(bare.bin / "python3", python3)
    for payload in payloads.one_of_each()[:3]:
        bare.runs(shell, payload)
    assert not bare.home.path.exists()


def test_what_is_too_old_says_so_itself(bare: Machine, shell: str):
    # The real question of the launcher, put to an interpreter that takes itself for an old one.
    program(bare.bin / "python3", f'shift 3\nexec "{REAL}" -S -E -c "import sys; sys.version_info = (3, 8); $1"\n')
    bare.runs(shell)
    assert not bare.home.path.exists()


def test_after_a_turn_that_nobody_sees_nothing_is_started(bare: Machine, shell: str):
    noting = program(bare.folder / "noting" / "python3", f'echo called >> "{bare.calls}"\n')
    bare.home.path.mkdir()
    (bare.home.path / "interpreter").write_text(f"{noting}\n")
    asked = [(payloads.stop(), "0"), (payloads.stop(), "1"), (payloads.stop(), ""), (payloads.prompt("go on"), "0")]
    started = []
    for payload, attended in asked:
        before = bare.shim_calls
        bare.runs(shell, payload, CLAUDE_CODE_SESSION_ATTENDED=attended)
        started.append(bare.shim_calls - before)
    assert started == [0, 1, 1, 1]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_of_our_folder_are_no_problem(machine: Machine, shell: str, name: str):
    for env in ({"POPKIT_HOME": str(machine.folder / name)}, {"POPKIT_HOME": "", "CLAUDE_CONFIG_DIR": str(machine.folder / "cc" / name)},
                {"POPKIT_HOME": "", "HOME": str(machine.folder / "home" / name)}):  # fmt: skip
        for _ in range(2):
            machine.runs(shell, **env)
    homes = [machine.folder / name, machine.folder / "cc" / name / "popkit", machine.folder / "home" / name / ".claude" / "popkit"]
    assert [(home / "sessions" / SESSION / "main.state.json").exists() for home in homes] == [True] * 3
    assert [(home / "interpreter").read_text().strip() for home in homes] == [REAL] * 3
    assert machine.shim_calls == 3
    assert sorted(path.name for path in machine.folder.iterdir()) == sorted(["bin", "calls", "cc", "home", name])


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a hook needs of the plugin."""
    folder = tmp_path_factory.mktemp("plugin") / "original"
    folder.mkdir()
    processes.copy_hooks(folder / "hooks")
    (folder / "power-mode").mkdir()
    for name in ("retention-config.json", "power-mode/config.json"):
        if (processes.ROOT / name).exists():
            shutil.copy(processes.ROOT / name, folder / name)
    return folder


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_of_the_plugin_are_no_problem(machine: Machine, shell: str, name: str, plugin: Path):
    root = machine.folder / name
    root.symlink_to(plugin)
    for _ in range(2):
        machine.runs(shell, root=root)
    assert machine.index() == 2
    assert machine.home.failures() == []


def test_an_interpreter_with_an_odd_name_is_remembered_whole(bare: Machine, shell: str):
    odd = bare.folder / " with  blanks and 日本 "
    odd.mkdir()
    (odd / "python3").symlink_to(REAL)
    program(
        bare.bin / "python3",
        f'echo called >> "{bare.calls}"\n[ "$3" = -c ] && {{ echo "{odd}/python3"; exit; }}\nexec "{REAL}" "$@"\n',
    )
    for _ in range(2):
        bare.runs(shell)
    assert bare.remembered == f"{odd}/python3\n"
    assert bare.shim_calls == 1
    assert bare.index() == 2


@pytest.mark.parametrize(
    "fails",
    [
        pytest.param("echo 'error while loading shared libraries: libpython3.so' >&2\nexit 127\n", id="its libraries are gone"),
        pytest.param("echo 'Fatal Python error: init_fs_encoding' >&2\nexit 1\n", id="its standard library is gone"),
        pytest.param("exit 2\n", id="with what the host takes for blocked"),
    ],
)
def test_when_the_start_fails_another_one_is_found(machine: Machine, shell: str, fails: str):
    broken = program(machine.folder / "old" / "python3", fails)
    machine.home.path.mkdir()
    (machine.home.path / "interpreter").write_text(f"{broken}\n")
    ran = machine.run(shell)
    assert (ran.code, ran.stdout) == (0, b"")
    assert machine.remembered.strip() == REAL
    assert machine.index() == 1, "the call is not lost"
    (machine.home.path / "interpreter").write_text(f"{broken}\n")
    (machine.bin / "python3").unlink()
    for payload in (payloads.prompt("go"), payloads.bash("mkdir a")):
        ran = machine.run(shell, payload)
        assert (ran.code, ran.stdout) == (0, b""), "nothing else is found"


def test_the_folder_of_ours_may_begin_with_a_tilde(machine: Machine, shell: str):
    user = machine.folder / "user"
    work = machine.folder / "work"
    work.mkdir()
    for _ in range(2):
        env = {**machine.home.env(POPKIT_HOME="~/of popkit", HOME=str(user)), "PATH": str(machine.bin)}
        ran = processes.run_registered(payloads.bash("mkdir a"), env, shell, cwd=work)
        assert ran.silent, ran
    assert (user / "of popkit" / "interpreter").read_text().strip() == REAL
    assert (user / "of popkit" / "sessions" / SESSION / "main.state.json").exists()
    assert machine.shim_calls == 1
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("folder", ["popkit", "./x", "../x", "~other/x", "x y"])
def test_a_relative_folder_of_ours_is_refused_and_nothing_written(machine: Machine, shell: str, folder: str, count):
    """By each event; with --slow each of the folders by each kind of payload."""
    work = machine.folder / "a" / "work"
    work.mkdir(parents=True)
    env = {**machine.home.env(POPKIT_HOME=folder), "PATH": str(machine.bin)}
    before = sorted(machine.folder.rglob("*"))
    every = count(payloads.one_of_each_event(), payloads.one_of_each())
    for payload in every if folder == "popkit" else every[: count(3, len(every))]:
        ran = processes.run_registered(payload, env, shell, cwd=work)
        assert ran.silent, ran
    assert [path for path in sorted(machine.folder.rglob("*")) if path != machine.calls] == before


def test_a_path_that_is_not_ascii_is_the_same_under_every_locale(machine: Machine, shell: str, tmp_path_factory: pytest.TempPathFactory):
    home, file = machine.folder / "日本 é", machine.folder / "données" / "日本.py"
    file.parent.mkdir()
    file.write_text("x = 1\n")
    latin_1 = locales.latin_1(tmp_path_factory.mktemp("locales"))
    for calls, locale in enumerate((latin_1, {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}), 1):
        machine.runs(shell, payloads.read(str(file), "x = 1\n"), POPKIT_HOME=str(home), **locale)
        state = json.loads((home / "sessions" / SESSION / "main.state.json").read_text())
        assert (state["index"], list(state["watched"])) == (calls, [str(file)]), "the file was found on the disk"
    assert sorted(path.name for path in machine.folder.iterdir()) == sorted([home.name, "données", "bin", "calls"])
    assert not (home / "hooks.log").exists()


def test_a_plugin_that_was_removed_while_a_session_runs_blocks_nothing(machine: Machine, shell: str, plugin: Path):
    # Python exits with 2 for a missing script, and the host takes 2 for "blocked": the prompt would be lost.
    root = machine.folder / "plugin"
    shutil.copytree(plugin, root)
    machine.runs(shell, root=root)
    (root / "hooks" / "context-monitor.py").unlink()
    (root / "hooks" / "post-tool-use.py").unlink()
    for payload in (payloads.prompt("go"), payloads.bash("mkdir a"), payloads.stop()):
        machine.runs(shell, payload, root=root)


def test_a_launcher_that_was_removed_blocks_nothing(machine: Machine, which):
    for shell in map(which, SHELLS):
        ran = machine.run(shell, payloads.prompt("go"), root=machine.folder / "gone")
        assert ran.code == 127, ran
        ran = machine.run(shell, payloads.bash("mkdir a"), root=machine.folder / "gone")
        assert (ran.code, ran.stdout) == (0, b""), ran


def test_a_plugin_half_of_which_was_removed_blocks_nothing(machine: Machine, shell: str, plugin: Path):
    root = machine.folder / "plugin"
    shutil.copytree(plugin, root)
    (root / "hooks" / "launch.sh").unlink()
    machine.runs(shell, payloads.prompt("go"), root=root)


def test_without_the_library_the_hook_blocks_nothing(machine: Machine, shell: str, plugin: Path):
    root = machine.folder / "plugin"
    shutil.copytree(plugin, root)
    shutil.rmtree(root / "hooks" / "utils")
    ran = machine.run(shell, payloads.prompt("go"), root=root)
    assert ran.code != 2
    assert ran.stdout == b""


def test_popkit_off_asks_for_no_interpreter(machine: Machine, shell: str):
    machine.runs(shell, POPKIT_OFF="1")
    assert machine.shim_calls == 0
    assert not machine.home.path.exists()


def test_hooks_that_start_at_once_for_the_first_time_all_work(forks: Forks, bare: Machine, shell: str):
    bare.shim(before="sleep 0.1")
    env = {**bare.home.env(), "PATH": str(bare.bin), "CLAUDE_PLUGIN_ROOT": str(processes.ROOT)}
    command = processes.command_of("PostToolUse")
    works = [Program([shell, "-c", command], payloads.read(f"/home/dev/{number}.py", f"{number}\n")) for number in range(8)]
    ran = forks.run_together(works, env)
    assert [one for one in ran if not one.silent] == []
    assert bare.home.caught_up(payloads.SESSION).index == 8
    assert bare.remembered.strip() == REAL
    assert not list(bare.home.path.glob("interpreter.*"))
