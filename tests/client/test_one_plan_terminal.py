"""What would leave a cold cache, as a person sees it at 80x24: one amount on the pane, in the status of a shell, and in what Clear does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patience import HANG_S

from .client import ClientHome
from .installs import Installed
from .plugin_copy import linked
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal
from .test_mod import ROOT, Session

COLUMNS, ROWS = 80, 24
FILES = 12
LEAVES = re.compile(r"Clear now: the cache is cold, so (~\d+k) tokens leave")


def part(number: int) -> dict[str, str]:
    return {"file_path": f"{{work}}/part{number}.py"}


SCRIPTS = {
    "work": [
        *(call(("Read", part(number))) for number in range(FILES)),
        *(call(("Edit", {**part(number), "old_string": f"first_{number}", "new_string": f"changed_{number}"})) for number in range(3)),
        say("all the work is done"),
    ],
}


def asked(home: ClientHome, *words: str) -> dict:
    """What `popkit context WORDS` says of the session in a shell."""
    [transcript] = home.config.glob("projects/*/*.jsonl")
    command = [sys.executable, str(ROOT / "hooks" / "popkit.py"), "context", *words, "--json", "--session", transcript.stem]
    done = subprocess.run(command, env=home.env(), cwd=home.work, capture_output=True, timeout=HANG_S, check=False)
    return json.loads(done.stdout)


def says(home: ClientHome) -> set[int]:
    """The tokens that would leave now, as the shell's answers have them."""
    report = asked(home, "retention")
    return {report["reclaimable"]["now"]["tokens"], asked(home, "clear", "--dry-run")["tokens"], asked(home, "auto", "show")["tokens"]}


@pytest.fixture
def home(clients: dict[str, Installed], tmp_path: Path, api: ScriptedApi) -> ClientHome:
    home = Session(ClientHome(tmp_path, clients["newest"], api.url), api).home
    for number in range(FILES):
        lines = "".join(f"value_{number}_{line} = compute_the_thing({line * 7919 + number})\n" for line in range(220))
        (home.work / f"part{number}.py").write_text(f"first_{number} = 1\n{lines}")
    home.extra_env.update(POPKIT_DOOR_MS="60000", POPKIT_CLOCK=str(time.time() + 3_000))
    api.scripts.update(SCRIPTS)
    return home


def test_one_amount_stands_on_the_pane_and_clear_takes_it_out_to_the_end(home: ClientHome):
    with ClientTerminal(home, plugin_dir=linked(), columns=COLUMNS, rows=ROWS) as terminal:
        terminal.wait_ready()
        terminal.turn("go [[SCRIPT:work]]", "all the work is done")
        terminal.send("/popkit")
        before = "\n".join(terminal.wait("y: Yes"))
        print("\nbefore\n" + before)
        found = LEAVES.search(" ".join(before.split()))
        assert found is not None
        assert set(re.findall(r"~\d+k tokens", before)) == {found[1] + " tokens"}, "one amount"
        (tokens,) = says(home)
        assert f"~{round(tokens / 1000)}k" == found[1]
        terminal.press_until("c", lambda shown: "Compacted without a model" in shown or "Nothing to do" in shown)
        after = "\n".join(terminal.wait("Nothing to do"))
        print("\nafter\n" + after)
        assert "Clear now" not in after
        assert says(home) == {0}
