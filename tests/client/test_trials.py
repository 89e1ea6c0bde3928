"""Trials in the real client: one session begins with the hint and one without, as the coin says; and a trial of 40 sessions to its end."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hooks.utils.handlers.session_events import HINT
from hooks.utils.policy.trials import PER_ARM
from hooks.utils.state import trials
from tests.patience import HANG_S
from tests.state.coins import configure, fix

from .append_only import change
from .client import ClientHome, Run
from .scripted_api import Recorded, ScriptedApi, call, say

ROOT = Path(__file__).resolve().parents[2]
README, APP, PACKAGE = (("Read", {"file_path": f"{{work}}/{name}"}) for name in ("README.md", "src/app.js", "package.json"))
# What a model asks for that has read the hint, and one that has not.
TOGETHER = [call(README, APP, PACKAGE), say("all read")]
SINGLY = [call(README), call(APP), call(PACKAGE), say("all read")]
MORE = [call(("Bash", {"command": "git status"})), say("clean")]


def play(home: ClientHome, *prompts: str, resume: str | None = None) -> Run:
    return home.run_headless(list(prompts), plugin_dir=ROOT, resume=resume)


def times(request: Recorded) -> int:
    """How often a request holds the hint."""
    return request.text.count(HINT)


def popkit(home: ClientHome, *words: str) -> str:
    done = subprocess.run(
        [ROOT / "bin" / "popkit", *words], env=home.env(), cwd=home.work, capture_output=True, text=True, check=False, timeout=HANG_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def tried(home: ClientHome, api: ScriptedApi) -> ClientHome:
    """A home in which hints are on trial."""
    api.scripts.update(together=TOGETHER, singly=SINGLY, more=MORE)
    configure(home.config / "popkit", hints="try")
    return home


def test_one_session_has_the_hint_from_its_first_request_on_and_the_other_never(tried: ClientHome, api: ScriptedApi):
    popkit_home = tried.config / "popkit"
    fix(popkit_home, "hints", [True, False])
    with_it = play(tried, "go [[SCRIPT:together]]", "go on [[SCRIPT:more]]")
    sent = api.turns()
    assert [times(request) for request in sent] == [1] * 4
    assert [change(before.body, after.body) for before, after in zip(sent, sent[1:])] == [""] * 3
    api.clear()
    play(tried, "once more [[SCRIPT:more]]", "/compact", "again [[SCRIPT:more]]", resume=with_it.session_id)
    assert {times(request) for request in api.turns()} == {1}, "a compaction takes it out, and it is given again"
    api.clear()

    without = play(tried, "go [[SCRIPT:singly]]")
    assert [times(request) for request in api.turns()] == [0] * 4
    rows = [(row.session, row.treated) for row in trials.load(str(popkit_home)).runs[0].rows]
    assert rows == [(with_it.session_id, True), (without.session_id, False)]
    arms = json.loads(popkit(tried, "try-out", "--json"))["trials"][0]["arms"]
    assert {arm["setting"]: arm["sessions"] for arm in arms.values()} == {"on": 1, "off": 1}
    stats = json.loads(popkit(tried, "context", "stats", "--session", with_it.session_id, "--json"))
    assert stats["session"]["figures"]["cost_by_usd"]["advice"] > 0
    log = popkit_home / "hooks.log"
    assert not log.exists(), log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("client_version", ["newest"])
def test_after_twenty_sessions_of_each_it_says_what_the_hint_did_and_says_it_again(tried: ClientHome, api: ScriptedApi):
    """The model is scripted to do as the hint says where it is given it, and to do some more in some sessions."""
    popkit_home = tried.config / "popkit"
    for number in range(2 * PER_ARM):
        treated = is_next_treated(popkit_home)
        prompts = [f"go [[SCRIPT:{'together' if treated else 'singly'}]]", *["go on [[SCRIPT:more]]"] * (number // 2 % 3)]
        api.clear()
        play(tried, *prompts)
        assert {times(request) for request in api.turns()} == {int(treated)}
        if number == 2 * PER_ARM - 2:
            assert "%" not in popkit(tried, "try-out")
    first = popkit(tried, "try-out")
    print(first)
    assert "fewer" in first
    play(tried, "go [[SCRIPT:singly]]")
    assert popkit(tried, "try-out") == first


def is_next_treated(popkit_home: Path) -> bool:
    """What the coin will say for the next session."""
    with trials.Changing(str(popkit_home)) as known:
        run = known.current("hints") or known.begin("hints", 0.0)
        return known.is_treated(run, len(run.rows))
