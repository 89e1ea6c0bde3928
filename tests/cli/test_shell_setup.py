"""`popkit setup shell`: a shell finds `popkit`, also after an upgrade, until it is taken back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.played import ROOT, Played
from tests.patience import HANG_S


@pytest.fixture
def played(tmp_path: Path) -> Played:
    """A person whose own programs are on the PATH, and whose shell finds no popkit yet."""
    played = Played(tmp_path)
    (played.bin / "popkit").unlink()
    (played.user / ".local/bin").mkdir(parents=True)
    played.env["PATH"] = f"{played.user}/.local/bin:{played.env['PATH']}"
    return played


def in_shell(played: Played, line: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line], env={**played.env, **env}, cwd=played.project, capture_output=True, text=True, check=False, timeout=HANG_S
    )


def test_a_shell_finds_popkit_once_the_person_has_said_yes(played: Played) -> None:
    assert in_shell(played, "popkit --version").returncode == 127
    link = played.user / ".local/bin/popkit"
    assert played.run("setup", "shell").returncode == 1
    assert not os.path.lexists(link)
    assert "shell       not set up " in played.printed("setup")
    assert "keep this folder" in " ".join(played.printed("setup", "shell", "--yes").split())
    assert in_shell(played, "popkit --version").stdout.startswith("popkit ")
    assert "shell       ready " in played.printed("setup")
    played.printed("setup", "shell")  # nothing to ask
    played.printed("setup", "shell", "--undo")
    assert not os.path.lexists(link)
    assert not (played.home / "popkit.sh").exists()


def test_where_no_folder_of_the_persons_is_on_the_path_the_line_for_it_is_printed(played: Played) -> None:
    played.env["PATH"] = f"{played.bin}:/usr/bin:/bin"
    said = played.printed("setup", "shell", "--yes")
    line = next(line for line in said.splitlines() if "export" in line)
    assert in_shell(played, f"{line}; popkit --version").stdout.startswith("popkit ")


def test_it_runs_the_copy_that_the_client_uses_whatever_upgrades_have_left_behind(played: Played) -> None:
    copies = {name: a_copy(played, name) for name in ("0123456789ab", "fedcba987654", "a00000000000")}
    first = copies["fedcba987654"]
    assert subprocess.run(
        [first / "bin/popkit", "setup", "shell", "--yes"], env=played.env, check=True, capture_output=True, timeout=HANG_S
    )
    for used, copy in copies.items():
        for each in copies.values():
            (each / ".orphaned_at").touch()
        (copy / ".orphaned_at").unlink()
        assert used in in_shell(played, "popkit --version").stdout
    shutil.rmtree(played.claude / "plugins")
    gone = in_shell(played, "popkit --version")
    assert (gone.returncode, gone.stdout) == (127, "")
    assert "claude plugin install popkit@popkit" in gone.stderr


def a_copy(played: Played, name: str) -> Path:
    """PopKit as the client has installed a commit of it."""
    copy = played.claude / "plugins/cache/popkit/popkit" / name
    shutil.copytree(ROOT / ".claude-plugin/popkit", copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_a_popkit_that_is_not_ours_stays(played: Played) -> None:
    other = played.user / ".local/bin/popkit"
    other.write_text("#!/bin/sh\n")
    assert "is there and not from popkit setup shell" in played.mistaken("setup", "shell", "--yes")
    played.printed("setup", "shell", "--undo")
    assert other.read_text() == "#!/bin/sh\n"


def test_what_is_printed_names_a_command_that_works_where_it_is_read(played: Played) -> None:
    program = str(ROOT / "bin/popkit")
    assert f"{program} setup NAME" in " ".join(played.popkit("setup").stdout.split())
    assert f"{program} help COMMAND" in played.popkit("help").stdout
    assert f"{program} context" in played.popkit("contxt").stderr + played.popkit("context", "--help").stdout
    played.popkit("setup", "shell", "--yes")
    assert program not in played.popkit("setup").stdout + played.popkit("help").stdout


def test_an_uninstall_takes_the_link_along(played: Played) -> None:
    played.printed("setup", "shell", "--yes")
    played.printed("uninstall", "--yes")
    assert not os.path.lexists(played.user / ".local/bin/popkit")
