"""Memory in the real client, oldest supported and newest: what one session taught, the next one begins with, and uses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.state import memory, store
from tests.patience import HANG_S, until

from .client import ClientHome, Run
from .ends import OLDEST_IF_SLOW
from .installs import OLDEST_SUPPORTED, Installed
from .kept import Kept, kept
from .plugin_copy import linked
from .scripted_api import Recorded, ScriptedApi, call, say

ROOT = Path(__file__).resolve().parents[2]
COUNTED = "tools/count_the_lines.sh"
COMMAND = f"sh {COUNTED} --all"
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
        return self.home.run_headless(prompts, plugin_dir=linked(), resume=resume)

    def learnt(self) -> str:
        """MEMORY.md once the children of the hooks have ended, which write it after the last session is learnt."""
        until(lambda: not self.project.to_learn(), "the session is learnt")
        until(lambda: not self.learning(), "the children have ended")
        return self.project.document()

    def learning(self) -> list[str]:
        """The children that learn from sessions of this home."""
        ran = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True, timeout=HANG_S).stdout
        return [line for line in ran.splitlines() if " memory admin learn " in line and str(self.home.config) in line]

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


def times(text: str, request: Recorded) -> int:
    """How often a request holds a text."""
    return request.text.count(json.dumps(text, ensure_ascii=False)[1:-1])


@dataclass
class Taught:
    """A session while memory was off; the words that switch it on, off and on, and a session that taught what it says now; one that used
    it. The requests of the last one are those that are recorded."""

    shop: Shop
    learnt_while_off: bool
    is_on: list[bool]  # after each word
    requests_for_the_words: int
    status: str
    given_at_first: int
    lesson: str
    asked_before: dict[str, int]
    used: str  # the session
    requests: list[Recorded]  # its requests


def taught(home: ClientHome, api: ScriptedApi) -> Taught:
    """Plays these."""
    shop = Shop(home, api)
    shop.run("first")
    learnt_while_off = (shop.popkit_home / memory.FOLDER).exists()
    (home.work / COUNTED).unlink()
    is_on, requests = [], []

    def prompts() -> Iterator[str]:
        for word in ("on", "off", "on"):
            yield f"/popkit:context memory {word}"
            is_on.append(shop.project.is_on())
        yield "/popkit:context memory status"
        requests.extend(api.requests)
        yield "go [[SCRIPT:first]]"

    status = shop.say(prompts()).stdout
    given_at_first, lesson, asked_before = times("tools/", shop.first()), shop.learnt(), shop.asked_for()
    used, requests_of_second = shop.run("second").session_id, api.turns()
    shop.learnt()
    return Taught(shop, learnt_while_off, is_on, len(requests), status, given_at_first, lesson, asked_before, used, requests_of_second)


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def played(request: pytest.FixtureRequest, clients: dict[str, Installed]) -> Iterator[Kept]:
    """Once for each client."""
    with kept(clients[request.param], taught) as session:
        yield session


@pytest.fixture
def teaching(played: Kept) -> Taught:
    """As it was when it had been used."""
    played.as_it_was()
    return played.played


def test_a_second_session_begins_with_what_the_first_one_taught_and_uses_it(teaching: Taught):
    shop, lesson, (first, *_, last) = teaching.shop, teaching.lesson, teaching.requests
    assert teaching.given_at_first == 0
    assert COMMAND in lesson
    assert Path(COUNTED).name in lesson
    assert times(lesson, first) == 1
    assert times(lesson, last) == 1
    assert COMMAND in last.text
    assert (teaching.asked_before[COMMAND], shop.asked_for()[COMMAND]) == (0, 1)
    status = shop.popkit("memory", "status")
    assert status["asked"] >= 1
    assert (status["on"], status["used"]) == (True, 1)

    ledger = shop.popkit("context", "stats", "--session", teaching.used)["session"]["figures"]
    assert ledger["memory_tokens"] > 0
    assert ledger["cost_by_usd"]["memory"] > 0
    assert (ledger["spared"], ledger["saved_by_usd"]["memory"]) == (0, 0.0)  # the first answer that names a file counts for nothing

    assert shop.log() == ""


def test_what_memory_holds_is_given_to_each_context_once(teaching: Taught):
    shop, lesson = teaching.shop, teaching.lesson
    assert [times(lesson, request) for request in teaching.requests] == [1] * len(SCRIPTS["second"])
    # In one process: the oldest client writes down nothing that a hook says of a compaction in a run of its own.
    shop.say(["go [[SCRIPT:more]]", "/compact", "go [[SCRIPT:more]]"], resume=teaching.used)
    assert times(lesson, shop.first()) == 1, "the conversation has it"
    first, again = (entry["said"] for entry in shop.given(teaching.used))
    assert first == lesson
    assert times(again, shop.api.turns()[-1]) == 1, "it is given again, as the summary is all that is left"
    assert shop.log() == ""


def test_the_command_answers_its_words_without_a_request(teaching: Taught):
    """After `off`, nothing is learnt or given."""
    shop = teaching.shop
    assert teaching.is_on == [True, False, True]
    assert teaching.requests_for_the_words == 0
    if shop.home.installed.version != OLDEST_SUPPORTED:  # which shows no reason of a blocked prompt where it prints
        assert "Memory of shop" in teaching.status
    assert not teaching.learnt_while_off
    shop.project.turn_off(2.0)
    session = shop.run("second").session_id
    assert times(teaching.lesson, shop.first()) == 0
    assert shop.project.to_learn() == []
    assert shop.given(session) == []
    assert shop.log() == ""
