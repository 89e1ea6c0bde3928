"""The launcher finds the real interpreter once, starts hooks with it, and does nothing where there is none."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests import locales
from tests.hooks import payloads, processes
from tests.kit.forks import Forks, Program

SESSION = payloads.SESSION
SHELLS = ["dash", "bash"]
REAL = os.path.realpath(sys.executable)
# What a shell makes something of, several in each name.
ODD_NAMES = ["-with spaces, quo'te and star*", 'double"quote $HOME `true` $(true) 日本 é', "semi;colon amper&sand back\\slash\nnew line"]


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, which) -> str:
    return which(request.param)


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


class Machine:
    """A PATH of our own making: the usual programs without Python, and what a test puts before them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.home = processes.Home(folder)
        self.bin = folder / "bin"
        self.calls = folder / "calls"
        self.bin.mkdir()
        for name in ("sh", "mkdir", "mv", "printf", "cat", "sleep", "env"):
            found = shutil.which(name)
            if found:
                (self.bin / name).symlink_to(found)

    def shim(self, python: str = REAL, before: str = "") -> Path:
        """A slow `python3` that notes each call and runs the real one."""
        return _program(self.bin / "python3", f'echo called >> "{self.calls}"\n{before}\nexec "{python}" "$@"\n')

    def run(self, shell: str, payload: dict | None = None, root: Path = processes.ROOT, **more: str) -> processes.Done:
        env = {**self.home.env(), "PATH": str(self.bin), **more}
        return processes.run_registered(payload or payloads.bash("mkdir a"), env, shell, root)

    def runs(self, *given, **more) -> None:
        """As `run`; the hook says nothing."""
        ran = self.run(*given, **more)
        assert ran.silent, ran

    @property
    def shim_calls(self) -> int:
        return self.calls.read_text().count("called") if self.calls.exists() else 0

    @property
    def remembered(self) -> str:
        return (self.home.path / "interpreter").read_text()

    def index(self) -> int:
        return self.home.state(SESSION).index


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def machine(bare: Machine) -> Machine:
    """With a shim."""
    bare.shim()
    return bare


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
        _program(bare.bin / "python3", python3)
    for payload in payloads.one_of_each()[:3]:
        bare.runs(shell, payload)
    assert not bare.home.path.exists()


def test_what_is_too_old_says_so_itself(bare: Machine, shell: str):
    # The real question of the launcher, put to an interpreter that takes itself for an old one.
    _program(bare.bin / "python3", f'shift 3\nexec "{REAL}" -S -E -c "import sys; sys.version_info = (3, 8); $1"\n')
    bare.runs(shell)
    assert not bare.home.path.exists()


def test_after_a_turn_that_nobody_sees_nothing_is_started(bare: Machine, shell: str):
    noting = _program(bare.folder / "noting" / "python3", f'echo called >> "{bare.calls}"\n')
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
    _program(
        bare.bin / "python3",
        f'echo called >> "{bare.calls}"\n[ "$3" = -c ] && {{ echo "{odd}/python3"; exit; }}\nexec "{REAL}" "$@"\n',
    )
    for _ in range(2):
        bare.runs(shell)
    assert bare.remembered == f"{odd}/python3\n"
    assert bare.shim_calls == 1
    assert bare.index() == 2


# --- whose interpreter it is ------------------------------------------------------------------------------------------------------


def _venv(folder: Path, base: Path, python: str = f'exec "{REAL}" "$@"\n') -> Path:
    """A virtual environment as far as anybody looks; gives its folder of programs."""
    for name in ("python", "python3"):
        _program(folder / "bin" / name, f'echo {folder.name} >> "$CALLS"\n{python}')
    (folder / "pyvenv.cfg").write_text(f"home = {base}\ninclude-system-site-packages = false\n")
    return folder / "bin"


def test_of_a_virtual_environment_what_it_was_made_from_is_remembered(machine: Machine, shell: str):
    project = machine.folder / "shop"
    venv = _venv(project / ".venv", machine.bin)
    for path in (f"{venv}:{machine.bin}", f"{venv}:/nonexistent"):
        shutil.rmtree(machine.home.path, ignore_errors=True)
        machine.runs(shell, PATH=path, CALLS=str(machine.calls), CLAUDE_PROJECT_DIR=str(project))
        assert machine.remembered.strip() == REAL
    assert ".venv" not in machine.calls.read_text(), "nothing of the project is started"


def test_a_virtual_environment_behind_a_shim_is_gone_past_too(bare: Machine, shell: str):
    venv = _venv(bare.folder / "versions" / "shop", bare.bin)
    _program(bare.bin / "python3", f'[ "$3" = -c ] && {{ echo "{venv}/python"; exit; }}\nexec "{REAL}" "$@"\n')
    (bare.bin / "python").symlink_to(REAL)
    bare.runs(shell, CALLS=str(bare.calls))
    assert bare.remembered == f"{bare.bin}/python\n"


def test_a_virtual_environment_that_was_remembered_is_used_no_longer(machine: Machine, shell: str):
    venv = _venv(machine.folder / "shop" / ".venv", machine.bin)
    machine.home.path.mkdir()
    (machine.home.path / "interpreter").write_text(f"{venv}/python3\n")
    machine.runs(shell, CALLS=str(machine.calls))
    assert machine.remembered.strip() == REAL
    assert ".venv" not in machine.calls.read_text()


def test_an_interpreter_that_lies_in_the_project_is_neither_started_nor_remembered(machine: Machine, shell: str):
    project = machine.folder / "shop"
    _program(project / "bin" / "python3", f'echo shop >> "{machine.calls}"\nexec "{REAL}" "$@"\n')
    machine.runs(shell, PATH=f"{project}/bin:{machine.bin}", CLAUDE_PROJECT_DIR=str(project))
    assert machine.remembered.strip() == REAL
    assert machine.calls.read_text() == "called\n"
    shutil.rmtree(machine.home.path)
    (machine.bin / "python3").unlink()
    machine.runs(shell, PATH=f"{project}/bin:bin:{machine.bin}", CLAUDE_PROJECT_DIR=str(project))
    assert not machine.home.path.exists()


def test_a_project_that_contains_the_whole_home_folder_does_not_stop_the_search(machine: Machine, shell: str):
    for project in (pwd.getpwuid(os.getuid()).pw_dir, "/"):
        shutil.rmtree(machine.home.path, ignore_errors=True)
        machine.runs(shell, CLAUDE_PROJECT_DIR=project)
        assert machine.remembered.strip() == REAL


# --- what a repository chooses ----------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(machine: Machine) -> Path:
    """A repository with a folder of "ours", which names a program of its own and switches things on; and a PATH that begins with it."""
    folder = machine.folder / "shop"
    for ours in (folder / ".pk", folder / ".cc" / "popkit", folder / ".claude" / "popkit"):
        ours.mkdir(parents=True)
        (ours / "interpreter").write_text(f"{_program(folder / 'evil' / 'run', f'echo evil >> {machine.calls}; exit 0')}\n")
    for name in ("python3", "git", "id", "grep", "cat"):
        _program(folder / "evil" / name, f"echo evil >> {machine.calls}; exit 0")
    (folder / ".git").mkdir()
    (folder / "src").mkdir()
    (machine.folder / "link").symlink_to(folder / ".pk")
    return folder


CHOSEN = {
    "through /proc": {"POPKIT_HOME": "/proc/self/cwd/.pk"},
    "through /proc by a detour": {"POPKIT_HOME": "//tmp/..//proc/self/cwd/./.pk"},
    "by its path": {"POPKIT_HOME": "{shop}/.pk"},
    "by a link": {"POPKIT_HOME": "{shop}/../link"},
    "as the host's folder": {"POPKIT_HOME": "", "CLAUDE_CONFIG_DIR": "/proc/self/cwd/.cc"},
    "as the host's folder by its path": {"POPKIT_HOME": "", "CLAUDE_CONFIG_DIR": "{shop}/.cc"},
    "as the home folder": {"POPKIT_HOME": "", "HOME": "{shop}"},
    "as a folder of the home folder": {"POPKIT_HOME": "~/.pk", "HOME": "{shop}"},
    "from a folder below": {"POPKIT_HOME": "{shop}/.pk", "cwd": "{shop}/src"},
    "what is not there yet": {"POPKIT_HOME": "{shop}/new/one"},
}


def _chosen(how: str, machine: Machine, shop: Path) -> tuple[str, dict[str, str]]:
    """The folder that a hook or a command starts in, and its environment."""
    chosen = {name: value.replace("{shop}", str(shop)) for name, value in CHOSEN[how].items()}
    cwd = chosen.pop("cwd", str(shop))
    return cwd, {**machine.home.env(), "PATH": f"{shop}/evil:/proc/self/cwd/evil:{machine.bin}", **chosen}


@pytest.mark.parametrize("how", CHOSEN)
def test_a_folder_of_ours_that_a_repository_chooses_decides_nothing(machine: Machine, shop: Path, shell: str, how: str):
    cwd, chosen = _chosen(how, machine, shop)
    before = processes.listing(shop)
    for told in ({"CLAUDE_PROJECT_DIR": cwd}, {}):
        env = {**chosen, **told}
        for payload in (payloads.bash("git commit -m x", stdout="[main 1a2b3c4] x"), payloads.prompt("/popkit:context"), payloads.stop()):
            ran = processes.run_registered(payload, env, shell, cwd=cwd)
            assert ran.silent, ran
        ran = processes.run_registered(payloads.session_start(), env, shell, cwd=cwd)
        assert json.loads(ran.stdout)["systemMessage"].startswith("PopKit is off in this session. PopKit does not use /")
    assert "evil" not in machine.calls.read_text()
    assert processes.listing(shop) == before


@pytest.mark.parametrize("how", CHOSEN)
def test_config_check_refuses_a_folder_of_ours_that_a_repository_chooses(machine: Machine, shop: Path, how: str):
    cwd, chosen = _chosen(how, machine, shop)
    before = processes.listing(shop)
    for told in ({"CLAUDE_PROJECT_DIR": cwd}, {}):
        check = [processes.ROOT / "bin" / "popkit", "config", "check"]
        done = subprocess.run(check, env={**chosen, **told}, cwd=cwd, capture_output=True, text=True, check=False)
        assert "Set POPKIT_HOME to a folder of your own" in done.stderr + done.stdout, done
        assert done.returncode == 1
    assert "evil" not in machine.calls.read_text()
    assert processes.listing(shop) == before


def test_a_folder_that_belongs_to_somebody_else_decides_nothing(machine: Machine, shell: str):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    machine.home.path.mkdir()
    evil = _program(machine.folder / "evil", f"echo evil >> {machine.calls}")
    (machine.home.path / "interpreter").write_text(f"{evil}\n")
    os.chown(machine.home.path, 65534, 65534)
    machine.runs(shell)
    assert machine.calls.read_text() == "called\n"
    assert [path.name for path in machine.home.path.iterdir()] == ["interpreter"]


def test_a_virtual_environment_cannot_lead_back_into_the_project(machine: Machine, shop: Path, shell: str):
    venv = _venv(shop / ".venv", Path("/proc/self/cwd/evil"))
    env = {**machine.home.env(), "PATH": f"{venv}:{machine.bin}", "CALLS": str(machine.calls)}
    assert processes.run_registered(payloads.bash("mkdir a"), env, shell, cwd=shop).silent
    assert machine.remembered.strip() == REAL
    assert "evil" not in machine.calls.read_text()


@pytest.mark.parametrize(
    "fails",
    [
        pytest.param("echo 'error while loading shared libraries: libpython3.so' >&2\nexit 127\n", id="its libraries are gone"),
        pytest.param("echo 'Fatal Python error: init_fs_encoding' >&2\nexit 1\n", id="its standard library is gone"),
        pytest.param("exit 2\n", id="with what the host takes for blocked"),
    ],
)
def test_when_the_start_fails_another_one_is_found(machine: Machine, shell: str, fails: str):
    broken = _program(machine.folder / "old" / "python3", fails)
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


# --- what is gone -----------------------------------------------------------------------------------------------------------------


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
