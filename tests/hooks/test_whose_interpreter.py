"""The launcher starts no interpreter of a project's, and no folder that a repository chooses is ours."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hooks import payloads, processes
from tests.hooks.machines import REAL, Machine, program


def _venv(folder: Path, base: Path, python: str = f'exec "{REAL}" "$@"\n') -> Path:
    """A virtual environment as far as anybody looks; gives its folder of programs."""
    for name in ("python", "python3"):
        program(folder / "bin" / name, f'echo {folder.name} >> "$CALLS"\n{python}')
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
    program(bare.bin / "python3", f'[ "$3" = -c ] && {{ echo "{venv}/python"; exit; }}\nexec "{REAL}" "$@"\n')
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
    program(project / "bin" / "python3", f'echo shop >> "{machine.calls}"\nexec "{REAL}" "$@"\n')
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


@pytest.fixture
def shop(machine: Machine) -> Path:
    """A repository with a folder of "ours", which names a program of its own and switches things on; and a PATH that begins with it."""
    folder = machine.folder / "shop"
    for ours in (folder / ".pk", folder / ".cc" / "popkit", folder / ".claude" / "popkit"):
        ours.mkdir(parents=True)
        (ours / "interpreter").write_text(f"{program(folder / 'evil' / 'run', f'echo evil >> {machine.calls}; exit 0')}\n")
    for name in ("python3", "git", "id", "grep", "cat"):
        program(folder / "evil" / name, f"echo evil >> {machine.calls}; exit 0")
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
    evil = program(machine.folder / "evil", f"echo evil >> {machine.calls}")
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
