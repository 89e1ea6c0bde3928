"""What a repository could have chosen is told from what the user has, whatever links lie between."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from popkit_retention import extras
from popkit_retention.core.io import foreign, git, home
from popkit_retention.usage.configured_database import server_in
from popkit_retention.usage.usage_store import DatabaseUnavailable

OWN = pwd.getpwuid(os.getuid()).pw_dir


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in a folder of which we work."""
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder / "src")
    return folder


def test_a_folder_outside_of_the_project_is_the_users(shop: Path, tmp_path: Path):
    for folder in (tmp_path / "popkit", tmp_path / "shop2", tmp_path, Path(OWN) / ".claude" / "popkit"):
        assert foreign.fault_of(str(folder), {}) == ""
        assert home.popkit_home({"POPKIT_HOME": str(folder)}) == str(folder)


def test_whatever_leads_into_the_project_is_not(shop: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(shop)
    (shop / "there").mkdir()
    (tmp_path / "links").symlink_to(tmp_path / "link")
    for folder in ("shop", "shop/there", "shop/not/there/yet", "link", "link/there", "links/there", "links/../shop/src"):
        with pytest.raises(home.HomeRefused, match="lies in the project at hand"):
            home.popkit_home({"POPKIT_HOME": f"{tmp_path}/{folder}"})
    for folder in ("/proc/self/cwd/.pk", "//proc/self/cwd", "/proc", "/dev/fd/3", "/sys/x", "/opt/../proc/1/cwd"):
        with pytest.raises(home.HomeRefused, match="lies below /proc, /dev/fd or /sys"):
            home.popkit_home({"POPKIT_HOME": folder})


@pytest.mark.parametrize("sign", ["settings.json", "settings.local.json", ""])
def test_a_project_is_what_git_or_the_host_say_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: str):
    (tmp_path / "shop" / ".claude").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    if sign:
        (tmp_path / "shop" / ".claude" / sign).write_text("{}")
    monkeypatch.chdir(tmp_path / "shop" / "src")
    folder = str(tmp_path / "shop" / ".pk")
    assert foreign.is_in_project(folder, {}) is bool(sign)
    assert foreign.is_in_project(folder, {"CLAUDE_PROJECT_DIR": str(tmp_path / "shop")})


def test_a_project_that_contains_the_home_folder_is_none_whatever_home_is_called(shop: Path):
    for project in (OWN, "/", str(Path(OWN).parent)):
        assert not foreign.is_in_project(f"{OWN}/.claude/popkit", {"CLAUDE_PROJECT_DIR": project})
    assert foreign.fault_of(f"{OWN}/.claude/popkit", {"CLAUDE_PROJECT_DIR": f"{OWN}/.claude"}) == "", "who works on their own settings"
    assert foreign.fault_of(str(shop / ".claude" / "popkit"), {"HOME": str(shop)})


def test_no_program_of_the_project_is_found(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for folder in (shop / "bin", tmp_path / "bin"):
        folder.mkdir()
        (folder / "git").write_text("#!/bin/sh\necho evil\n")
        (folder / "git").chmod(0o755)
    path = f"bin:.:{shop}/bin:/proc/self/cwd/../bin::"
    assert foreign.program("git", {"PATH": f"{path}:{tmp_path}/bin"}) == f"{tmp_path}/bin/git"
    assert foreign.program("git", {"PATH": path}) == ""
    monkeypatch.setenv("PATH", path)
    assert git.ask_git(str(shop), "rev-parse", "--show-toplevel") is None


def test_an_environment_of_the_project_is_not_entered_in_a_session(shop: Path, tmp_path: Path):
    for name in ("shop/.venv", "venv"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").symlink_to("/bin/sh")
    environ = {"POPKIT_HOME": str(tmp_path / "popkit"), "VIRTUAL_ENV": str(shop / ".venv"), "CONDA_PREFIX": str(tmp_path / "venv")}
    both = [str(shop / ".venv" / "bin" / "python"), str(tmp_path / "venv" / "bin" / "python")]
    assert extras.interpreters(environ)[:-1] == both
    assert extras.interpreters({**environ, "CLAUDECODE": "1"})[:-1] == both[1:]
    assert extras.interpreters({**environ, "VIRTUAL_ENV": "/proc/self/cwd/../.venv"})[:-1] == both[1:]


def test_no_server_that_the_settings_of_a_project_name_gets_anything(shop: Path, tmp_path: Path):
    address = "postgresql://me@db.example/popkit"
    environ = {"POPKIT_HOME": str(tmp_path / "popkit"), "POPKIT_DATABASE_URL": address}
    (shop / ".claude").mkdir()
    (shop / ".claude" / "settings.json").write_text(json.dumps({"env": {"OTHER": "1"}}))
    assert server_in(environ) is not None
    for broken in ("[]", "{", '{"env": []}'):
        (shop / ".claude" / "settings.local.json").write_text(broken)
        assert server_in(environ) is not None
    (shop / ".claude" / "settings.json").write_text(json.dumps({"env": {"POPKIT_DATABASE_URL": address}}))
    with pytest.raises(DatabaseUnavailable, match="set by this project's settings"):
        server_in(environ)


def test_the_home_that_a_container_names_is_no_project_though_settings_are_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    named = tmp_path / "dev"
    (named / "shop" / ".claude").mkdir(parents=True)
    (named / ".claude").mkdir()
    (named / ".claude" / "settings.json").write_text("{}")
    monkeypatch.chdir(named / "shop")
    environ = {"HOME": str(named), "CLAUDE_PROJECT_DIR": str(named / "shop")}
    assert home.popkit_home(environ) == str(named / ".claude" / "popkit")
    (named / "shop" / ".claude" / "settings.json").write_text(json.dumps({"env": {"HOME": str(named)}}))
    with pytest.raises(home.HomeRefused, match="lies in the project at hand"):
        home.popkit_home(environ)
