"""The status line that `popkit statusline install` has the real client show. What `doctor` reads of the client: test_install.py."""

from __future__ import annotations

import re
import subprocess

from .client import ClientHome
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal
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


def test_the_status_line_is_on_the_screen(home: ClientHome, api: ScriptedApi) -> None:
    """Installed by its own command, the client runs it and shows what it prints."""
    api.scripts.update(SCRIPTS)
    install = [ROOT / "bin" / "popkit", "statusline", "install", "--yes"]
    subprocess.run(install, env=home.env(), cwd=home.work, capture_output=True, check=True)
    with ClientTerminal(home, plugin_dir=ROOT) as terminal:
        terminal.wait_ready()
        terminal.send("go [[SCRIPT:work]]")
        terminal.wait("that is how it is")
        terminal.wait(re.compile(r"(expired|reclaimable).* · cache warm"))
        terminal.send("and on [[SCRIPT:full]]")
        terminal.wait("quite full")
        terminal.wait(re.compile(r"context (47|9)% · "))  # of 200,000 or of a million tokens
