"""What tests need of Debian is found, or installed where it may be, or said."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.debian import Needed, find
from tests.paths import ROOT
from tests.patience import HANG_S

SERVER = Needed("server", ("server",), "", ("helper",))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with nothing on it but a shell's own programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("env", "cat", "chmod", "true"):
        (folder / name).symlink_to(shutil.which(name) or name)
    put(folder, "sudo", 'shift; exec "$@"')
    return folder


def put(folder: Path, name: str, script: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def ensure(programs: Path, **env: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tests.debian", "chromium"]
    return subprocess.run(
        command, cwd=ROOT, env={"PATH": str(programs), **env}, capture_output=True, text=True, timeout=HANG_S, check=False
    )


def test_a_program_counts_only_with_those_that_belong_to_it(tmp_path: Path) -> None:
    put(tmp_path / "alone", "server")
    both = put(tmp_path / "both", "server")
    put(tmp_path / "both", "helper")
    assert find(SERVER, {"PATH": f"{tmp_path / 'alone'}"}) is None
    assert find(SERVER, {"PATH": f"{tmp_path / 'alone'}:{tmp_path / 'both'}"}) == both


def test_of_several_versions_beside_path_the_newest_is_taken(tmp_path: Path) -> None:
    for version in ("9.6", "15", "16"):
        put(tmp_path / version / "bin", "server")
    needed = Needed("server", ("server",), f"{tmp_path}/*/bin")
    assert find(needed, {"PATH": "/nowhere"}) == tmp_path / "16" / "bin" / "server"


def test_where_a_program_is_missing_it_is_said_what_to_install(programs: Path) -> None:
    put(programs, "apt-get", "echo asked >&2; exit 100")
    done = ensure(programs)
    assert (done.returncode, done.stderr) == (0, "")
    assert "chromium: missing" in done.stdout
    assert "apt-get install chromium-headless-shell" in done.stdout


def test_a_check_installs_what_is_missing(programs: Path) -> None:
    log = programs.parent / "asked"
    put(programs, "apt-cache", "echo chromium-headless-shell - web browser")
    install = (
        f'echo "$DEBIAN_FRONTEND $@" >> {log}; [ "$1" = update ] || {{ cat /bin/sh > {programs}/chromium; chmod 755 {programs}/chromium; }}'
    )
    put(programs, "apt-get", install)
    done = ensure(programs, CI="true")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"   chromium: {programs}/chromium\n"
    update, installed = log.read_text().splitlines()
    assert update.startswith("noninteractive update")
    assert installed.startswith("noninteractive install")
    assert "--no-install-recommends" in installed
    assert installed.endswith(" chromium-headless-shell")


def test_a_check_goes_on_where_the_mirrors_do_not_have_it(programs: Path) -> None:
    put(programs, "apt-cache")
    put(programs, "apt-get", '[ "$1" = update ]')
    done = ensure(programs, CI="true")
    assert (done.returncode, done.stderr) == (0, "")
    assert "chromium: missing" in done.stdout


def test_a_check_fails_where_a_mirror_does_not_answer(programs: Path) -> None:
    put(programs, "apt-get", "echo 'Could not connect to the mirror' >&2; exit 100")
    done = ensure(programs, CI="true")
    assert done.returncode == 1
    for told in ("apt-get update", "Could not connect to the mirror", "try again", "scripts/test --offline"):
        assert told in done.stderr


def test_a_check_goes_on_where_there_is_no_apt_get(programs: Path) -> None:
    done = ensure(programs, CI="true")
    assert (done.returncode, done.stderr) == (0, "")
    assert "chromium: missing" in done.stdout
