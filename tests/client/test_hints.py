"""The hint in the real client: it stands in every request of a session, once, and in those behind a compaction."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from popkit_retention.core.handlers.session_events import HINT
from tests.patience import HANG_S

from .append_only import change
from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import Recorded, ScriptedApi, call, say

pytestmark = pytest.mark.client
ROOT = Path(__file__).resolve().parents[2]
READS = (("Read", {"file_path": f"{{work}}/{name}"}) for name in ("README.md", "src/app.js", "package.json"))


def times(request: Recorded) -> int:
    """How often a request holds the hint."""
    return request.text.count(HINT)


def test_each_request_has_the_hint_once_and_nothing_that_was_sent_changes(home: ClientHome, api: ScriptedApi):
    api.scripts.update(together=[call(*READS), say("all read")], more=[call(("Bash", {"command": "git status"})), say("clean")])
    popkit_home = home.config / "popkit"
    popkit_home.mkdir(parents=True)
    (popkit_home / "retention-config.json").write_text('{"hints": "on"}')
    first = home.run_headless(["go [[SCRIPT:together]]", "go on [[SCRIPT:more]]"], plugin_dir=linked())
    sent = api.turns()
    assert [times(request) for request in sent] == [1] * 4
    assert [change(before.body, after.body) for before, after in zip(sent, sent[1:])] == [""] * 3
    api.clear()
    home.run_headless(["once more [[SCRIPT:more]]", "/compact", "again [[SCRIPT:more]]"], plugin_dir=linked(), resume=first.session_id)
    assert {times(request) for request in api.turns()} == {1}, "a compaction takes it out, and it is given again"
    done = subprocess.run(
        [ROOT / "bin" / "popkit", "context", "stats", "--session", first.session_id, "--json"],
        env=home.env(), cwd=home.work, capture_output=True, text=True, check=True, timeout=HANG_S,
    )  # fmt: skip
    assert json.loads(done.stdout)["session"]["figures"]["cost_by_usd"]["advice"] > 0
    log = popkit_home / "hooks.log"
    assert not log.exists(), log.read_text()
