"""The plugin as a user gets it: from a git marketplace, installed, and tracking from the copy that the client made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import HANG_S

from . import installs
from .client import ClientHome
from .git_server import GitServer
from .scripted_api import ScriptedApi, call, say
from .test_plugin import ROOT, Tracked


@pytest.fixture
def marketplace(tmp_path: Path):
    """The project's files, as they are now, in a git repository that is served over HTTP; its URL."""
    work, bare = tmp_path / "popkit", tmp_path / "served" / "popkit.git"
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, work / name)
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "popkit"], ["clone", "-q", "--bare", ".", str(bare)]):
        subprocess.run(["git", *identity, *arguments], cwd=work, check=True)
    with GitServer(bare.parent) as server:
        yield server.url("popkit.git")


def claude(home: ClientHome, *arguments: str) -> str:
    """Runs a management command of the client; what it printed."""
    done = subprocess.run(
        [home.installed.executable, *arguments], env=home.env(), cwd=home.work, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_installed_from_a_git_marketplace_the_plugin_tracks(home: ClientHome, api: ScriptedApi, marketplace: str):
    claude(home, "plugin", "marketplace", "add", marketplace)
    claude(home, "plugin", "install", "popkit@popkit")
    assert "popkit@popkit" in claude(home, "plugin", "list")
    tracked = Tracked(home, api)
    api.scripts["look"] = [
        call(("Read", {"file_path": "{work}/src/app.js"})),
        call(("Bash", {"command": "popkit --version"})),
        say("looked"),
    ]
    run = home.run_headless("go [[SCRIPT:look]]")
    assert tracked.errors() == ""
    assert tracked.live_labels(run.session_id) == ["Read src/app.js"]  # the session is over
    assert "popkit" in next(text for text in api.turns()[-1].tool_results().values() if "0." in text)


def test_the_manifests_are_valid(home: ClientHome):
    strict = [] if home.installed.version == installs.OLDEST_SUPPORTED else ["--strict"]  # the oldest has no such flag
    assert "Validation passed" in claude(home, "plugin", "validate", *strict, str(ROOT))
