"""The plugin in auto mode, the permission mode that the newest client starts in: calls are judged by the provider in its answer, or in
requests of their own, which are no part of the conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.state.site import Site
from tests.cli import inside
from tests.reclaim import earlier

from .client import ClientHome
from .compacted import READ, RUN, Compacted, boundaries, good
from .installs import Installed
from .plugin_copy import linked
from .reclaimed import Reclaimed, placeholders, result
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal

# How auto mode has its calls judged: in the answer itself, or in requests of its own.
JUDGES = {"answer": "1", "requests": "0"}
# Beside these the terminal's session is judged in the answer, and compacted.
BY = pytest.mark.parametrize("judge", [pytest.param("answer", marks=pytest.mark.slow), "requests"])


@pytest.fixture
def auto(clients: dict[str, Installed], tmp_path: Path, api: ScriptedApi) -> Callable[[str], ClientHome]:
    """Makes the home of a client in auto mode, with one of its judges."""

    def made(judge: str) -> ClientHome:
        home = ClientHome(tmp_path, clients["newest"], api.url, {"CLAUDE_CODE_AUTO_MODE_SERVER": JUDGES[judge]})
        home.permission_mode = "auto"
        api.places["work"] = str(home.work)
        return home

    return made


@BY
def test_a_session_works_and_is_compacted_as_in_any_other_mode(auto: Callable[[str], ClientHome], api: ScriptedApi, judge: str):
    """No check stands in what is tracked, and a compaction leaves what it would leave."""
    world = Compacted(auto(judge), api)
    done = world.play(["go [[SCRIPT:work]]", "and [[SCRIPT:rest]]", "/compact", "now [[SCRIPT:talk]]"])
    last = api.turns()[-1]
    checks = api.of_kind("check")
    print(f"{len(api.turns())} requests of the conversation, {len(checks)} checks of calls")
    assert done.init["permissionMode"] == "auto"
    assert bool(checks) == (judge == "requests")
    assert api.of_kind("summary") == []
    assert len(boundaries(done)) == 1
    assert {READ, RUN} <= set(placeholders(last.tool_results()))
    assert good(last) == []
    assert world.agrees(done.session_id)
    assert world.errors() == ""


@BY
def test_checks_are_in_no_bill_of_the_conversation(auto: Callable[[str], ClientHome], api: ScriptedApi, judge: str):
    world = Reclaimed(auto(judge), api)
    done = world.run(["go [[SCRIPT:work]]"])
    bill = inside.run(
        ["bill", str(world.home.transcript_path(done.session_id)), "--json"], {"POPKIT_HOME": str(world.popkit_home)}, world.home.work
    )
    assert json.loads(bill.stdout)["whole"]["requests"] == len(api.turns())
    assert [request.kind for request in api.requests if request.kind not in ("turn", "check")] == []


def test_what_was_cleared_comes_back_where_no_call_can_be_judged(auto: Callable[[str], ClientHome], api: ScriptedApi):
    """Our own command needs no verdict; another one is refused."""
    world = Reclaimed(auto("answer"), api)
    session_id = world.run(["go [[SCRIPT:work]]"]).session_id
    original = result(api.turns()[-1], READ)
    site = Site(world.home.env(), session_id, str(world.home.work))
    earlier.clear(site, str(world.home.transcript_path(session_id)), time.time(), Selection(now=True))
    handle = placeholders(world.contents(session_id))[READ]
    commands = (f"popkit restore {handle}", "npm test; touch made")
    api.scripts["back"] = [*(call(("Bash", {"command": command, "description": "d"})) for command in commands), say("it is over")]
    api.is_judging = False
    world.run(["go [[SCRIPT:back]]"], resume=session_id)
    assert result(api.turns()[-1], "toolu_back_0_0").strip() == original.strip()
    assert "safety check" in result(api.turns()[-1], "toolu_back_1_0")
    assert not (world.home.work / "made").exists()


def test_the_terminal_clears_at_a_word(auto: Callable[[str], ClientHome], api: ScriptedApi):
    world = Compacted(auto("answer"), api)
    with ClientTerminal(world.home, plugin_dir=linked()) as terminal:
        terminal.wait("auto mode on")
        terminal.turn("go [[SCRIPT:work]]", "the work is done")
        terminal.turn("and [[SCRIPT:rest]]", "rested")
        terminal.send("/popkit clear --now")
        terminal.wait("Compacted without a model: ")
        terminal.turn("now [[SCRIPT:talk]]", "just talking")
    assert {READ, RUN} <= set(placeholders(api.turns()[-1].tool_results()))
    assert good(api.turns()[-1]) == []
