"""What hooks keep is for its owner alone."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.hooks import payloads, processes
from tests.patience import HANG_S


@pytest.mark.parametrize("umask", ["022", "000", "077"])
def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path, umask: str):
    home = processes.Home(tmp_path / "config" / "deep")
    for payload in [*payloads.one_of_each_event(), b"broken"]:
        event = payload["hook_event_name"] if isinstance(payload, dict) else "PostToolUse"
        argv = ["sh", "-c", f'umask {umask} && exec sh -c "$0"', processes.command_of(event)]
        env = home.env(CLAUDE_PLUGIN_ROOT=str(processes.ROOT))
        done = subprocess.run(argv, input=processes.data_of(payload), capture_output=True, env=env, timeout=HANG_S, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    modes = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in [home.path, *home.path.rglob("*")]}
    assert {name: oct(mode) for name, mode in modes.items() if mode != (0o700 if (tmp_path / name).is_dir() else 0o600)} == {}
    kept = "hooks.log interpreter main.state.json main.journal.jsonl session.json sessions"
    assert {Path(name).name for name in modes} >= {*kept.split()}
    assert stat.S_IMODE((tmp_path / "config").stat().st_mode) == 0o700, "parents that we make are private too"


def test_what_the_user_made_wider_stays_as_the_user_made_it(home: processes.Home):
    home.path.mkdir(mode=0o755)
    home.path.chmod(0o755)
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o755
    assert stat.S_IMODE((home.path / "sessions").stat().st_mode) == 0o700
    assert os.access(home.paths(payloads.SESSION).state, os.R_OK)
