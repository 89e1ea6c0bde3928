"""Memory in the real client, oldest supported and newest: what one session taught, the next one begins with, and uses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.state import memory, store
from tests.patience import HANG_S, until

from .client import ClientHome, Run
from .ends import OLDEST_IF_SLOW
from .installs import OLDEST_SUPPORTED, Installed
from .kept import Kept, kept
from .scripted_api import Recorded, ScriptedApi, call, say

ROOT = Path(__file__).resolve().parents[2]
COUNTED = "tools/count_the_lines.sh"
COMMAND = f"sh {COUNTED} --all"
SAID = "# Project memory\n\n- tools/: count_the_lines.sh\n- `sh tools/count_the_lines.sh --all`"
SCRIPTS = {
    "first": [
        call(("Bash", {"command": "ls"})),
        call(("Write", {"file_path": f"{{work}}/{COUNTED}", "content": "wc -l src/app.js\n"})),
        call(("Read", {"file_path": "{work}/README.md"})),
        call(("Bash", {"command": COMMAND})),
        say("the lines are counted"),
    ],
    "second": [call(("Bash", {"command": COMMAND})), call(("Read", {"file_path": "{work}/README.md"})), say("counted again")],
    "more": [say("went on")],
}


class Shop:
    """A client home with the plugin in it, and what memory keeps of its project."""

    def __init__(self, home: ClientHome, api: ScriptedApi):
        self.home = home
        self.api = api
        api.scripts.update(SCRIPTS)
        self.popkit_home = home.config / "popkit"
        self.project = memory.project_of(str(self.popkit_home), str(home.work))

    def run(self, script: str, resume: str | None = None) -> Run:
        """Runs a scripted session to its end; the requests of its turns are those that are recorded afterwards."""
        return self.say([f"go [[SCRIPT:{script}]]"], resume)

    def say(self, prompts: Iterable[str], resume: str | None = None) -> Run:
        """The same for prompts of any kind, in one process."""
        self.api.clear()
        return self.home.run_headless(prompts, plugin_dir=ROOT, resume=resume)

    def learnt(self) -> str:
        """MEMORY.md once the children of the hooks have ended, which write it after the last session is learnt."""
        until(lambda: not self.project.to_learn(), "the session is learnt")
        until(lambda: not self.learning(), "the children have ended")
        return self.project.document()

    def learning(self) -> list[str]:
        """The children that learn from sessions of this home."""
        ran = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True, timeout=HANG_S).stdout
        return [line for line in ran.splitlines() if " memory learn " in line and str(self.home.config) in line]

    def first(self) -> Recorded:
        """The first request of the last run."""
        return self.api.turns()[0]

    def popkit(self, *words: str) -> Any:
        done = subprocess.run(
            [ROOT / "bin" / "popkit", *words, "--json"], env=self.home.env(), cwd=self.home.work, capture_output=True, text=True,
            check=False, timeout=HANG_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def asked_for(self) -> dict[str, int]:
        """What is remembered: text -> how often it was asked for."""
        return {item["text"]: item["access_count"] for item in self.popkit("memory", "list")["items"]}

    def given(self, session_id: str) -> list[dict[str, Any]]:
        """What the hooks have booked as given to a session."""
        journal = store.ContextFiles(str(self.popkit_home), session_id).journal
        return [entry for entry in store.read_lines(journal) if entry["event"] == "memory"]

    def log(self) -> str:
        log = self.popkit_home / "hooks.log"
        return log.read_text() if log.exists() else ""


def times(said: str, request: Recorded) -> int:
    """How often a request holds a text."""
    return request.text.count(json.dumps(said, ensure_ascii=False)[1:-1])


@pytest.fixture
def shop(home: ClientHome, api: ScriptedApi) -> Shop:
    return Shop(home, api)


@dataclass
class Taught:
    """A session while memory was off, the word that switches it on, and a session that taught what it says now."""

    shop: Shop
    learnt_while_off: bool
    requests_for_the_word: int
    is_on: bool
    session_id: str
    told_at_first: int
    said: str


def taught(home: ClientHome, api: ScriptedApi) -> Taught:
    """Plays these."""
    shop = Shop(home, api)
    shop.run("first")
    learnt_while_off = (shop.popkit_home / memory.FOLDER).exists()
    (home.work / COUNTED).unlink()
    found = []

    def prompts() -> Iterator[str]:
        yield "/popkit:context memory on"
        found.append((len(api.requests), shop.project.is_on()))
        yield "go [[SCRIPT:first]]"

    session_id = shop.say(prompts()).session_id
    return Taught(shop, learnt_while_off, *found[0], session_id, times("tools/", shop.first()), shop.learnt())


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def played(request: pytest.FixtureRequest, clients: dict[str, Installed]) -> Iterator[Kept]:
    """Once for each client."""
    with kept(clients[request.param], taught) as session:
        yield session


@pytest.fixture
def teaching(played: Kept) -> Taught:
    """As it was when it had been learnt."""
    played.as_it_was()
    return played.played


def test_a_second_session_begins_with_what_the_first_one_taught_and_uses_it(teaching: Taught):
    shop, said = teaching.shop, teaching.said
    assert teaching.told_at_first == 0
    assert COMMAND in said
    assert Path(COUNTED).name in said
    before = shop.asked_for()

    used = shop.run("second")
    assert used.session_id != teaching.session_id
    assert times(said, shop.first()) == 1
    assert times(said, shop.api.turns()[-1]) == 1
    assert COMMAND in shop.api.turns()[-1].text
    shop.learnt()
    assert (before[COMMAND], shop.asked_for()[COMMAND]) == (0, 1)
    status = shop.popkit("memory", "status")
    assert status["asked"] >= 1
    assert (status["on"], status["used"]) == (True, 1)

    ledger = shop.popkit("context", "stats", "--session", used.session_id)["session"]["figures"]
    assert ledger["memory_tokens"] > 0
    assert ledger["cost_by_usd"]["memory"] > 0
    assert (ledger["spared"], ledger["saved_by_usd"]["memory"]) == (0, 0.0)  # the first answer that names a file counts for nothing

    assert shop.log() == ""


def test_what_memory_holds_is_given_to_each_context_once(shop: Shop):
    shop.project.turn_on(1.0)
    shop.project.write_document(SAID)
    begun = shop.run("second").session_id
    assert [times(SAID, request) for request in shop.api.turns()] == [1] * len(SCRIPTS["second"])
    # In one process: the oldest client writes down nothing that a hook says of a compaction in a run of its own.
    shop.say(["go [[SCRIPT:more]]", "/compact", "go [[SCRIPT:more]]"], resume=begun)
    assert times(SAID, shop.first()) == 1, "the conversation has it"
    first, again = (entry["said"] for entry in shop.given(begun))
    assert first == SAID
    assert times(again, shop.api.turns()[-1]) == 1, "it is given again, as the summary is all that is left"
    shop.project.turn_off(2.0)
    begun = shop.run("more").session_id
    assert times(again, shop.first()) == 0
    assert shop.given(begun) == []
    assert shop.log() == ""


def test_the_words_are_answered_by_the_command_without_a_request_and_after_off_nothing_is_learnt_or_given(teaching: Taught):
    assert teaching.requests_for_the_word == 0
    assert teaching.is_on
    assert not teaching.learnt_while_off
    shop = teaching.shop
    told = shop.say(["/popkit:context memory status", "/popkit:context memory off"])
    assert shop.api.requests == []
    if shop.home.installed.version != OLDEST_SUPPORTED:  # which shows no reason of a blocked prompt where it prints
        assert "Memory of shop" in told.stdout
    session = shop.run("second").session_id
    assert times(teaching.said, shop.first()) == 0
    assert shop.project.to_learn() == []
    assert shop.given(session) == []
