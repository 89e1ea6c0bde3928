"""A session of the real client under a data rule: whatever it reads, runs and says, nothing of it is below our folder, and it goes on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.utils.state import sockets
from tests.patience import until

from . import installs
from .client import ClientHome
from .plugin_copy import ROOT, copied
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


@pytest.mark.parametrize(("ruled", "name"), [(by_configuration, "HIPAA"), (by_the_client, "zero data retention")])
def test_nothing_of_a_session_under_a_rule_is_kept(
    clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi, ruled: Callable[[ClientHome, Path], Path], name: str
):
    home = ClientHome(tmp_path / "home", clients["newest"], api.url, {"POPKIT_DOOR_MS": "60000"})
    api.places["work"], api.scripts["day"] = str(home.work), SCRIPT
    (home.work / "big.py").write_text(LINES)
    plugin = ruled(home, tmp_path / "plugin")
    popkit = home.config / "popkit"

    run = home.run_headless(
        [f"go {MARK} [[SCRIPT:day]]", "/compact", "/popkit:context clear now", "/popkit:context why"],
        plugin_dir=plugin,
        extra=["--tools", "Read,Bash,Grep,Write"],
    )
    until(lambda: not sockets.running(str(popkit)), "the helper to end")

    results = list(api.turns()[len(SCRIPT) - 1].tool_results().values())
    assert len(results) == len(SCRIPT) - 1
    assert [result[:80] for result in results if MARK not in result] == [], "each entered as it came"
    assert " as in your " not in json.dumps(results)
    assert "PopKit left out" not in json.dumps(api.turns()[-1].body), "the compaction is the client's own"
    assert [path for path in popkit.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()] == []
    assert not any((popkit / "sessions").rglob("*.jsonl")), "no journal, no log"
    assert not (popkit / "archive.sqlite").exists()
    assert not (popkit / "hooks.log").exists()
    assert "data rule" in run.stdout

    env = {**home.env(), "CLAUDE_CODE_SESSION_ID": run.session_id}
    said = {
        words: subprocess.run(
            [plugin / "bin" / "popkit", *words.split()], env=env, cwd=home.work, capture_output=True, text=True, check=False
        )
        for words in ("doctor", "context", "context clear --now", f"memory learn {run.session_id}")
    }
    assert "data rule" in said["doctor"].stdout
    assert (name if ruled is by_the_client else "hipaa") in " ".join(said["doctor"].stdout.split())
    assert "reconciled" not in said["doctor"].stdout
    learnt = said[f"memory learn {run.session_id}"]
    assert "data rule" in learnt.stdout + learnt.stderr
    assert [path for path in popkit.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()] == []
    assert not (popkit / "archive.sqlite").exists()
