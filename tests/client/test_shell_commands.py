"""popkit's shell commands beside the real client: `doctor` reads what the client writes, the status line is on its screen."""

from __future__ import annotations

import json
import re
import subprocess

from tests.patience import HANG_S

from .client import ClientHome
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal
from .test_install import claude, marketplace  # noqa: F401  a fixture
from .test_plugin import ROOT

SCRIPTS = {
    "work": [
        call(("Read", {"file_path": "{work}/src/app.js"})),
        call(("Bash", {"command": "mkdir -p docs"})),
        call(("Bash", {"command": "npm test"})),
        say("that is how it is"),
    ],
    "full": [say("quite full", cache_read_input_tokens=93_000, cache_creation_input_tokens=0, input_tokens=10)],
}


def popkit(home: ClientHome, *words: str) -> str:
    """The command from where the client has put it, with that client on PATH."""
    (program,) = (home.config / "plugins" / "cache").glob("popkit/popkit/*/bin/popkit")
    env = {**home.env(), "PATH": f"{home.installed.executable.parent}:{home.env()['PATH']}"}
    return subprocess.run([program, *words], env=env, cwd=home.work, capture_output=True, text=True, check=False, timeout=HANG_S).stdout


def test_doctor_understands_the_settings_of_the_client(home: ClientHome, api: ScriptedApi, marketplace: str) -> None:  # noqa: F811
    """Installed it is found well; disabled it says how to enable it."""
    claude(home, "plugin", "marketplace", "add", marketplace)
    claude(home, "plugin", "install", "popkit@popkit")
    api.scripts.update(SCRIPTS)
    run = home.run_headless("go [[SCRIPT:work]]")
    checks = {check["check"]: check for check in json.loads(popkit(home, "doctor", "--json"))["checks"]}
    # Of the interpreter's start it may warn where the machine is busy.
    assert {check["level"] for name, check in checks.items() if name != "interpreter"} == {"ok"}
    assert checks["interpreter"]["level"] != "problem"
    assert checks["client"]["version"] == home.installed.version
    assert checks["hooks"]["plugin"] == "popkit@popkit"
    assert checks["state"]["text"] == f"{run.session_id[:8]} equals its transcript and journal (3 calls)"
    claude(home, "plugin", "disable", "popkit@popkit")
    assert "claude plugin enable popkit@popkit" in popkit(home, "doctor")


def test_the_status_line_is_on_the_screen(home: ClientHome, api: ScriptedApi) -> None:
    """Installed by its own command, the client runs it and shows what it prints."""
    api.scripts.update(SCRIPTS)
    install = [ROOT / "bin" / "popkit", "statusline", "install", "--yes"]
    subprocess.run(install, env=home.env(), cwd=home.work, capture_output=True, check=True)
    with ClientTerminal(home, plugin_dir=ROOT) as terminal:
        terminal.wait_ready()
        terminal.send("go [[SCRIPT:work]]")
        terminal.wait("that is how it is")
        terminal.wait(re.compile(r"expired.* · cache warm"))
        terminal.send("and on [[SCRIPT:full]]")
        terminal.wait("quite full")
        terminal.wait(re.compile(r"context (47|9)% · "))  # of 200,000 or of a million tokens
