"""Beside the headless client: when a clear that is asked for pays, and what its own compactions are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache

import pytest

from .client import ClientHome
from .installs import OLDEST_SUPPORTED, Installed
from .kept import Kept, kept
from .plugin_copy import linked
from .reclaimed import COUNT, LIST, Reclaimed
from .scripted_api import ScriptedApi, call, say

ADVICE, INDEX = "PopKit tracked the tool results", "Tool results from before the summary are archived"


@pytest.fixture
def world(home: ClientHome, api: ScriptedApi) -> Reclaimed:
    return Reclaimed(home, api)


@dataclass
class Ran:
    """A session in which the tests were run twice."""

    world: Reclaimed
    session_id: str


def run_twice(home: ClientHome, api: ScriptedApi) -> Ran:
    """Play it. What stands behind the first run is long, so that clearing it while the cache is warm does not pay."""
    world = Reclaimed(home, api)
    api.scripts["twice"] = [
        call(("Bash", {"command": "npm test"})),
        call(("Write", {"file_path": COUNT, "content": "2"}), ("Read", {"file_path": LIST})),
        call(("Bash", {"command": "npm test"})),
        say("ran twice"),
    ]
    return Ran(world, run(world, "go [[SCRIPT:twice]]").session_id)


@pytest.fixture(scope="module")
def session_of(clients: dict[str, Installed]) -> Iterator[Callable[[str], Kept]]:
    """Such a session of either client, played when it is first asked for."""
    with ExitStack() as stack:
        yield cache(lambda end: stack.enter_context(kept(clients[end], run_twice)))


@pytest.fixture
def ran(session_of: Callable[[str], Kept], client_version: str) -> Ran:
    """As it was when it had been played."""
    return session_of(client_version).as_it_was()


def run(world: Reclaimed, prompt: str | list, resume: str | None = None, **more):
    """One headless run with the plugin that goes well."""
    done = world.home.run_headless(prompt, plugin_dir=linked(), resume=resume, **more)
    assert done.returncode == 0, done.stderr
    return done


def test_whether_the_cache_is_warm_decides_what_an_unforced_clear_does(ran: Ran):
    world, session_id = ran.world, ran.session_id
    transcript = world.home.transcript_path(session_id)
    original = transcript.read_bytes()
    warm = world.asked("clear", "--session", session_id)
    assert (warm["cleared"], warm["items"], warm["pays"], warm["sum"]["warm"]) == (False, 1, False, True)
    assert transcript.read_bytes() == original
    world.home.extra_env["POPKIT_CLOCK"] = str(transcript.stat().st_mtime + 3_000)
    cold = world.asked("clear", "--session", session_id)
    assert (cold["cleared"], cold["later"], cold["items"], cold["pays"], cold["sum"]["warm"]) == (True, True, 1, True, False)
    assert transcript.read_bytes() == original


def test_a_compaction_is_told_and_given_nothing_that_the_configuration_switches_off(ran: Ran):
    world = ran.world
    world.configure(compaction={"advise": False, "index": False})
    done = run(world, ["/compact keep the plan", "go [[SCRIPT:talk]]"], ran.session_id)
    (summary,) = world.api.of_kind("summary")
    assert "keep the plan" in summary.text
    assert ADVICE not in summary.text
    assert INDEX not in world.api.turns()[-1].text
    assert not world.asked("stats", "--session", done.session_id)["session"]["figures"].get("advice_tokens", 0)
    assert world.errors() == ""


def test_a_compaction_in_a_run_of_its_own_is_told_what_is_dead(ran: Ran):
    world, session_id = ran.world, ran.session_id
    run(world, "/compact keep the plan", session_id)
    (summary,) = world.api.of_kind("summary")
    assert "keep the plan" in summary.text
    assert ADVICE in summary.text
    run(world, "go [[SCRIPT:talk]]", session_id)
    # The oldest client writes down nothing that a hook of such a run says.
    assert (INDEX in world.api.turns()[-1].text) == (world.home.installed.version != OLDEST_SUPPORTED)
    assert world.asked("stats", "--session", session_id)["session"]["figures"]["advice_tokens"] > 0
    assert world.errors() == ""


def test_a_compaction_in_mid_turn_is_told_too(world: Reclaimed):
    world.api.scripts["fill"] = [
        *world.api.scripts["runs"][:-1],
        call(("Bash", {"command": "echo full"}), cache_read_input_tokens=190_000),
        say("not reached"),
    ]
    world.api.summary = "It was a long turn. [[SCRIPT:talk]]"
    world.home.extra_env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    done = run(world, "fill it [[SCRIPT:fill]]")
    assert done.results[-1]["result"] == "just talking"
    assert ADVICE in world.api.of_kind("summary")[0].text
    assert INDEX in world.api.turns()[-1].text
    assert world.errors() == ""
