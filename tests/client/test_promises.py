"""What PopKit promises without a condition: it never writes into a file of the client's, it never sends a request, and it loses nothing
that was in the context.

The first two hold over everything that PopKit runs in any test of this folder: each ends with a look at what was noted (conftest.py). Here
is shown that nothing of that kind goes unnoted, and that the code inside the client cannot send anything either. The third is the law of
tests/reclaim/test_nothing_lost.py, and in the real client test_carried.py.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.patience import HANG_S

from .client import ClientHome
from .installs import Installed
from .plugin_copy import ROOT, linked
from .scripted_api import ScriptedApi, call, say
from .watching import Watch

BREAKS = """
import os, socket, sqlite3, subprocess, sys
client = os.environ["CLAUDE_CONFIG_DIR"]
open(client + "/projects/one.jsonl", "a").close()
os.open(client + "/settings.json", os.O_WRONLY)
os.rename(client + "/projects/one.jsonl", client + "/popkit/one.jsonl")
sqlite3.connect(client + "/history.db").close()
with socket.socket() as away:
    away.connect_ex(("127.0.0.1", 9))
if len(sys.argv) > 1:
    os.remove(client + "/settings.json")
else:
    subprocess.run([sys.executable, "-X", "utf8", "-S", "-E", __file__, "again"], check=True)
open(client + "/popkit/state.json", "w").close()
open(client + "/projects/two.jsonl").close()
"""
# What the mod asks of the client. None of these makes it send a request of its own: `http.fetch` goes to the helper's socket.
ASKED = {
    "clock", "clock.after", "clock.every", "clock.now", "clock.sleep", "command.register", "command.run", "env.get", "fs.exists",
    "fs.list", "http.fetch",
    "plugin.root", "process.spawn", "session.id", "session.info", "session.messages", "session.model", "session.redact",
    "session.root", "session.surfaces", "session.usage", "ui.invalidate", "ui.log", "ui.open", "ui.panes", "ui.resolve", "ui.toast",
}  # fmt: skip


def test_what_a_process_of_ours_writes_of_the_clients_and_sends_is_noted(tmp_path: Path):
    client, program = tmp_path / "claude", tmp_path / "plugin" / "hooks" / "breaks.py"
    (client / "projects").mkdir(parents=True)
    (client / "popkit").mkdir()
    (client / "settings.json").write_text("{}")
    (client / "projects" / "two.jsonl").write_text("")
    program.parent.mkdir(parents=True)
    program.write_text(BREAKS)
    watched = Watch(tmp_path / "watch")
    command = [str(watched.interpreter), "-X", "utf8", "-S", "-E", str(program)]
    subprocess.run(command, env={"CLAUDE_CONFIG_DIR": str(client), "HOME": str(tmp_path)}, check=True, timeout=HANG_S)
    noted = Counter((note.split(" ")[0], note.split(" in ")[0].rpartition("/")[2]) for note in watched.seen())
    assert noted == {
        ("open", "one.jsonl"): 2,
        ("open", "settings.json"): 2,
        ("os.rename", "one.jsonl"): 2,
        ("os.remove", "settings.json"): 1,
        ("sqlite3.connect", "history.db"): 2,
        ("socket.connect", "socket.connect ('127.0.0.1', 9)"): 2,
    }
    assert watched.seen() == []


def test_the_code_inside_the_client_asks_for_nothing_that_sends_a_request():
    sources = [path.read_text() for path in (*(ROOT / "hooks" / "mod").glob("*.ts*"), ROOT / "hooks" / "register.ts")]
    assert {name for source in sources for name in re.findall(r"\$\.([a-zA-Z]+(?:\.[a-zA-Z]+)*)", source)} <= ASKED
    fetched = [line for source in sources for line in source.splitlines() if "fetch(" in line]
    assert fetched
    assert all("socketPath" in line for line in fetched)


@pytest.mark.parametrize("off", ["", pytest.param("1", marks=pytest.mark.slow)], ids=["with", "without"])
def test_a_session_sends_the_same_requests_with_popkit_and_without(
    clients: dict[str, Installed], tmp_path: Path, api: ScriptedApi, off: str
):
    home = ClientHome(tmp_path, clients["newest"], api.url, {"POPKIT_OFF": off} if off else {})
    api.places["work"] = str(home.work)
    api.scripts["day"] = [
        call(("Read", {"file_path": "{work}/src/app.js"})),
        call(("Bash", {"command": "npm test"})),
        call(("Agent", {"description": "look", "prompt": "Look [[SCRIPT:look]]", "subagent_type": "general-purpose"})),
        call(("Edit", {"file_path": "{work}/src/app.js", "old_string": "a - b", "new_string": "a + b"})),
        call(("Read", {"file_path": "{work}/src/app.js"})),
        say("done"),
    ]
    api.scripts["look"] = [call(("Read", {"file_path": "{work}/README.md"})), say("seen")]
    api.scripts["more"] = [call(("Bash", {"command": "npm test"})), say("green")]
    home.run_headless(["go [[SCRIPT:day]]", "more [[SCRIPT:more]]"], plugin_dir=linked())
    assert Counter(request.kind for request in api.requests) == {"turn": 10}
