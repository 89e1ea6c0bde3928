"""A session of the real client under a data rule: whatever it reads, runs and says, nothing of it is below our folder. PopKit works in
memory where the system has a place there, until the session ends."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from popkit_retention.core.io import volatile
from popkit_retention.core.state import sockets
from tests.patience import until

from . import installs
from .client import ClientHome
from .plugin_copy import ROOT, copied
from .reclaimed import PLACEHOLDER, placeholders
from .scripted_api import ScriptedApi, call, say

# In every result and prompt, and nowhere else.
MARK = "zebrafinch"
LINES = "\n".join(f"{MARK}_{number} = {number}" for number in range(300)) + "\n"
SCRIPT = [
    call(("Read", {"file_path": "{work}/big.py"})),
    call(("Read", {"file_path": "{work}/big.py", "offset": 10})),
    call(("Bash", {"command": "cat big.py"})),
    call(("Bash", {"command": "cat big.py; echo 'ValueError: " + MARK + " is missing' >&2; exit 3"})),
    call(("Grep", {"pattern": MARK, "path": "{work}", "output_mode": "content"})),
    call(("Write", {"file_path": "{work}/" + MARK + ".txt", "content": LINES})),
    say(f"{MARK} is done"),
]
# What the mod hears from the client. The scripted API has no account under a rule, and no plugin may answer for the client.
HEARD = "(await $.session.info()).dataRules }"


def by_configuration(home: ClientHome, _folder: Path) -> Path:
    popkit = home.config / "popkit"
    popkit.mkdir(mode=0o700)
    (popkit / "retention-config.json").write_text(json.dumps({"data_rules": ["hipaa"]}))
    return ROOT


def by_the_client(_home: ClientHome, folder: Path) -> Path:
    module = copied(folder) / "hooks" / "mod" / "helper.ts"
    assert HEARD in module.read_text()
    module.write_text(module.read_text().replace(HEARD, "['zdr'] }"))
    return folder


def ways(slow: Callable[[ClientHome, Path], Path]) -> pytest.MarkDecorator:
    """Both ways that a rule comes from. From there on they are one, so in the ordinary run each test has one of them."""
    both = {by_configuration: "HIPAA", by_the_client: "zero data retention"}
    return pytest.mark.parametrize(
        ("ruled", "name"), [pytest.param(way, name, marks=[pytest.mark.slow] if way is slow else []) for way, name in both.items()]
    )


TOOLS = ["--tools", "Read,Bash,Grep,Write,Edit"]


def started(clients: dict[str, installs.Installed], folder: Path, api: ScriptedApi) -> ClientHome:
    """A home of the newest client, with a file of 300 lines to work on."""
    home = ClientHome(folder / "home", clients["newest"], api.url, {"POPKIT_DOOR_MS": "60000"})
    api.places["work"], api.scripts["day"], api.scripts["talk"] = str(home.work), SCRIPT, [say("just talking")]
    (home.work / "big.py").write_text(LINES)
    return home


def marked(*folders: Path) -> list[Path]:
    """The files below folders that hold the mark."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path for path in files if MARK.encode() in path.read_bytes()]


def popkit(home: ClientHome, plugin: Path, session_id: str, words: str) -> subprocess.CompletedProcess[str]:
    """`popkit WORDS`, as a session runs it."""
    env = {**home.env(), "CLAUDE_CODE_SESSION_ID": session_id}
    return subprocess.run([plugin / "bin" / "popkit", *words.split()], env=env, cwd=home.work, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not volatile.is_possible(), reason="this system has no place in memory")
@ways(slow=by_configuration)
def test_a_session_under_a_rule_works_in_memory_and_leaves_nothing(
    clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi, ruled: Callable[[ClientHome, Path], Path], name: str
):
    home = started(clients, tmp_path, api)
    edit = {"file_path": "{work}/big.py", "old_string": f"{MARK}_7 = 7\n", "new_string": f"{MARK}_7 = 8\n"}
    steps = [call(("Edit", edit)), *(call(("Bash", {"command": f"echo {MARK} {number}"})) for number in range(6))]
    api.scripts["day"] = [*SCRIPT[:-1], *steps, SCRIPT[-1]]
    plugin = ruled(home, tmp_path / "plugin")
    ours, session_id = home.config / "popkit", str(uuid.uuid4())
    said: dict[str, str] = {}

    def prompts() -> Iterator[str]:
        yield f"go {MARK} [[SCRIPT:day]]"
        yield "/compact"
        yield "and [[SCRIPT:talk]]"
        said["after"] = json.dumps(api.turns()[-1].body)
        handle = placeholders(api.turns()[-1].tool_results())["toolu_day_4_0"]
        said["printed"] = popkit(home, plugin, session_id, f"restore {handle}").stdout
        said["doctor"] = " ".join(popkit(home, plugin, session_id, "doctor").stdout.split())
        api.scripts["back"] = [call(("Bash", {"command": f"popkit restore {handle}"})), say("back")]
        yield "back [[SCRIPT:back]]"
        said["restored"] = next(text for id, text in api.turns()[-1].tool_results().items() if id.startswith("toolu_back_"))
        said["folder"] = volatile.find(str(ours), session_id)
        assert marked(Path(said["folder"]))
        yield "/popkit:context"

    home.run_headless(prompts(), plugin_dir=plugin, extra=["--session-id", session_id, *TOOLS])
    until(lambda: not sockets.running(str(ours)), "the helper to end")

    results = api.turns()[len(api.scripts["day"]) - 1].tool_results()
    assert " as in your " in json.dumps(results), "the door says nothing twice"
    assert PLACEHOLDER in said["after"], "the compaction is ours"
    assert not api.of_kind("summary")
    assert f"{MARK}_7 = 7" in said["printed"]
    assert f"{MARK}_7 = 7" in said["restored"]
    assert "in memory" in said["doctor"]
    assert (name if ruled is by_the_client else "hipaa") in said["doctor"]
    assert "reconciled" not in said["doctor"]
    assert volatile.folders(str(ours)) == [], "with the session it is gone"
    assert marked(ours, plugin / "hooks", plugin / "power-mode") == []
    assert not any((ours / "sessions").rglob("*.jsonl")), "no journal, no log"
    assert not (ours / "archive.sqlite").exists()
    assert not (ours / "hooks.log").exists()
    learnt = popkit(home, plugin, session_id, f"memory admin learn {session_id}")
    assert "data rule" in learnt.stdout + learnt.stderr
    assert marked(ours) == []


@ways(slow=by_the_client)
def test_where_there_is_no_place_in_memory_nothing_of_a_session_is_kept(
    clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi, ruled: Callable[[ClientHome, Path], Path], name: str
):
    home = started(clients, tmp_path, api)
    plugin = ruled(home, tmp_path / "plugin")
    ours, session_id = home.config / "popkit", str(uuid.uuid4())
    folder = Path(volatile.make(str(ours), session_id) or tmp_path / "nowhere")
    if folder.exists():
        volatile.remove(str(folder))
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.write_text("in its place")
    try:
        run = home.run_headless(
            [f"go {MARK} [[SCRIPT:day]]", "/compact", "/popkit:context clear now", "/popkit:context why"],
            plugin_dir=plugin,
            extra=["--session-id", session_id, *TOOLS],
        )
        until(lambda: not sockets.running(str(ours)), "the helper to end")
        doctor = " ".join(popkit(home, plugin, session_id, "doctor").stdout.split())
    finally:
        folder.unlink()

    results = list(api.turns()[len(SCRIPT) - 1].tool_results().values())
    assert len(results) == len(SCRIPT) - 1
    assert [result[:80] for result in results if MARK not in result] == [], "each entered as it came"
    assert " as in your " not in json.dumps(results)
    assert "PopKit left out" not in json.dumps(api.turns()[-1].body), "the compaction is the client's own"
    assert marked(ours) == []
    assert not any((ours / "sessions").rglob("*.jsonl")), "no journal, no log"
    assert not (ours / "archive.sqlite").exists()
    assert not (ours / "hooks.log").exists()
    assert "data rule" in run.stdout
    assert "data rule" in doctor
    assert (name if ruled is by_the_client else "hipaa") in doctor
