"""Installed as the README says, from a git marketplace, in both ends of the supported range; and the status line on the screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from . import installs
from .client import ClientHome
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://git.invalid/popkit.git"
SCRIPTS = {
    "work": [
        call(("Read", {"file_path": "{work}/src/app.js"})),
        call(("Bash", {"command": "mkdir -p docs"})),
        call(("Bash", {"command": "npm test"})),
        say("that is how it is"),
    ],
    "full": [say("quite full", cache_read_input_tokens=93_000, cache_creation_input_tokens=0, input_tokens=10)],
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as a bare git repository."""
    folder = tmp_path_factory.mktemp("repository")
    work = folder / "work"
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, work / name)
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *identity, *command], cwd=work, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", work, folder / "popkit.git"], check=True)
    return folder


def claude(home: ClientHome, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess:
    command = [home.installed.executable, *words]
    return subprocess.run(command, env=home.env(), cwd=cwd or home.work, capture_output=True, text=True, check=False, timeout=120)


def popkit(home: ClientHome, *words: str) -> subprocess.CompletedProcess:
    """The command from where the client has put it."""
    (program,) = (home.config / "plugins" / "cache").glob("popkit/popkit/*/bin/popkit")
    path = f"{home.installed.executable.parent}:{home.env()['PATH']}"
    env = {**home.env(), "PATH": path}
    return subprocess.run([program, *words], env=env, cwd=home.work, capture_output=True, text=True, check=False, timeout=60)


def test_the_manifests_are_valid(home: ClientHome) -> None:
    strict = [] if home.installed.version == installs.OLDEST_SUPPORTED else ["--strict"]  # which the oldest client does not have
    for what in (".", ".claude-plugin/plugin.json"):
        answer = claude(home, "plugin", "validate", *strict, what, cwd=ROOT)
        assert (answer.returncode, "Validation passed" in answer.stdout) == (0, True), answer.stdout


def test_the_two_lines_of_the_readme_install_it_and_it_works(home: ClientHome, api: ScriptedApi, repository: Path) -> None:
    """From a git address: the marketplace is cloned, the plugin copied, and every hook of the copy runs."""
    (home.home / ".gitconfig").write_text(f'[url "file://{repository}/"]\n\tinsteadOf = https://git.invalid/\n')
    for line in (["marketplace", "add", ADDRESS], ["install", "popkit@popkit"]):
        answer = claude(home, "plugin", *line)
        assert answer.returncode == 0, answer.stdout + answer.stderr
    api.scripts.update(SCRIPTS)
    run = home.run_headless("go [[SCRIPT:work]]")
    state = json.loads((home.config / "popkit" / "sessions" / run.session_id / "main.state.json").read_text())
    assert state["index"] == 3
    report = json.loads(popkit(home, "doctor", "--json").stdout)
    checks = {check["check"]: check for check in report["checks"]}
    assert {name: check["level"] for name, check in checks.items()} == dict.fromkeys(checks, "ok")
    assert checks["client"]["version"] == home.installed.version
    assert checks["hooks"]["plugin"] == "popkit@popkit"
    assert f"{run.session_id[:8]} equals its transcript and journal (3 calls)" in checks["state"]["text"]
    assert claude(home, "plugin", "disable", "popkit@popkit").returncode == 0
    assert "claude plugin enable popkit@popkit" in popkit(home, "doctor").stdout


def test_the_status_line_is_on_the_screen(home: ClientHome, api: ScriptedApi) -> None:
    """Installed by its own command, the client runs it and shows what it prints."""
    api.scripts.update(SCRIPTS)
    installed = subprocess.run(
        [ROOT / "bin" / "popkit", "statusline", "install", "--yes"],
        env=home.env(),
        cwd=home.work,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Installed in" in installed.stdout
    with ClientTerminal(home, plugin_dir=ROOT) as terminal:
        terminal.wait_ready()
        terminal.send("go [[SCRIPT:work]]")
        terminal.wait("that is how it is")
        terminal.wait("reclaimable · cache warm")
        terminal.send("and on [[SCRIPT:full]]")
        terminal.wait("quite full")
        terminal.wait(re.compile(r"context (47|9)% · "))  # of 200,000 or of a million tokens
