"""What the model may run unasked in the real client: our own popkit, for what its session has cleared; never a project's, nor what the user
has forbidden."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from popkit_retention.core import archive
from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.state.site import Site
from tests.reclaim import earlier

from .client import ClientHome
from .ends import OLDEST_IF_SLOW
from .installs import Installed
from .kept import Kept, kept
from .plugin_copy import linked
from .reclaimed import READ, Reclaimed, placeholders, result
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal

MODES = ["default", pytest.param("dontAsk", marks=pytest.mark.slow)]
NOTHING = ["Bash(popkit:*)", "Bash(popkit restore:*)"]


@dataclass
class Cleared:
    """A session of which something was cleared, and its handle, in a project that puts programs of its own first on the PATH: each leaves a
    mark that it ran."""

    world: Reclaimed
    session_id: str
    handle: str
    original: str  # what it stands for


def cleared(home: ClientHome, api: ScriptedApi) -> Cleared:
    """Plays the session and clears it."""
    world = Reclaimed(home, api)
    for folder in (".venv/bin", "node_modules/.bin"):
        for name in ("popkit", "dirname", "readlink"):
            program = home.work / folder / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f"#!/bin/sh\necho {name} >> '{home.work}/foreign'\n")
            program.chmod(0o755)
    home.extra_env["PATH"] = f"{home.work}/.venv/bin:{home.work}/node_modules/.bin:{home.env()['PATH']}"
    session_id = home.run_headless("go [[SCRIPT:work]]", plugin_dir=linked()).session_id
    original = result(world.api.turns()[-1], READ)
    site = Site(home.env(), session_id, str(home.work))
    earlier.clear(site, str(home.transcript_path(session_id)), time.time(), Selection(now=True))
    return Cleared(world, session_id, placeholders(world.contents(session_id))[READ], original)


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def played(request: pytest.FixtureRequest, clients: dict[str, Installed]) -> Iterator[Kept]:
    """Once for each client."""
    with kept(clients[request.param], cleared) as session:
        yield session


@pytest.fixture
def session(played: Kept) -> Cleared:
    """As it was when it had been cleared."""
    played.as_it_was()
    return played.played


def of_another_session(world: Reclaimed) -> str:
    """The handle of what another project's session has cleared."""
    db = archive.open_archive(str(world.popkit_home / "archive.sqlite"))
    chain = archive.Chain("another", "another", "", "/elsewhere", "/elsewhere/t.jsonl")
    record = archive.NewRecord("key", "read", "Read credentials", '"the key of another project"', subjects=["/elsewhere/credentials"])
    (handle,) = archive.add_records(db, chain, [record], now=1.0)
    db.close()
    return handle


def bash(world: Reclaimed, *commands: str) -> None:
    """What the model will do."""
    world.api.scripts["back"] = [*(call(("Bash", {"command": command, "description": "d"})) for command in commands), say("it is over")]


def run(session: Cleared, *extra: str) -> list[str]:
    """What the model was answered to each command."""
    world = session.world
    done = world.home.run_headless("go [[SCRIPT:back]]", plugin_dir=linked(), resume=session.session_id, extra=extra)
    assert done.returncode == 0, done.stderr
    last = world.api.turns()[-1]
    return [result(last, f"toolu_back_{number}_0") for number in range(len(world.api.scripts["back"]) - 1)]


@pytest.mark.parametrize("mode", MODES)
def test_only_what_this_session_has_cleared_comes_back_unasked_and_only_from_us(session: Cleared, mode: str) -> None:
    world, handle = session.world, session.handle
    other = of_another_session(world)
    ours = f"popkit restore {handle}"
    behind = (" --in-place", "; echo x", " $(touch made)")
    bash(world, ours, "popkit restore credentials", f"popkit restore {other}", *(ours + more for more in behind))
    got, *refused = run(session, "--permission-mode", mode)
    original = session.original
    assert "exports.item0400" in original
    assert got.strip() == original.strip()
    for text in refused:
        assert "item0400" not in text
        assert "key of another" not in text
        assert re.search("permission|requested|denied|approval|can't be checked|command_substitution", text), text
    assert not (world.home.work / "foreign").exists()
    assert not (world.home.work / "made").exists()
    figures = world.asked("stats", "--session", session.session_id)["session"]["figures"]
    assert (figures["confirmed"], figures["restored"]) == (1, 1)
    assert figures["cost_by_usd"]["restores"] > 0
    assert world.stored(session.session_id) == world.rebuilt(session.session_id)
    assert world.errors() == ""


@pytest.mark.parametrize("rules", [{"deny": NOTHING[1:]}, pytest.param({"ask": NOTHING[:1]}, marks=pytest.mark.slow)], ids=str)
def test_what_the_user_has_forbidden_stays_forbidden(session: Cleared, rules: dict) -> None:
    world, handle = session.world, session.handle
    bash(world, f"popkit restore {handle}")
    (text,) = run(session, "--permission-mode", "default", "--settings", json.dumps({"permissions": rules}))
    assert "item0400" not in text
    assert not (world.home.work / "foreign").exists()


def test_a_fork_restores_unasked_what_it_has_from_its_parent(session: Cleared) -> None:
    world, handle = session.world, session.handle
    bash(world, f"popkit restore {handle}")
    assert "exports.item0400" in run(session, "--permission-mode", "default", "--fork-session")[0], world.errors()
    assert not (world.home.work / "foreign").exists()


def test_in_plan_mode_nothing_of_the_project_runs_unasked(session: Cleared) -> None:
    """The client may ask there: its newest version has its provider judge a call first, and asks where that says nothing."""
    world, handle = session.world, session.handle
    world.api.is_judging = False
    bash(world, f"popkit restore {handle}", "popkit restore credentials")
    extra = ["--permission-mode", "plan"]
    with ClientTerminal(world.home, plugin_dir=linked(), resume=session.session_id, extra=extra) as terminal:
        terminal.wait("plan mode on")
        terminal.ask("go [[SCRIPT:back]]", lambda shown: "Do you want to proceed?" in shown)
        shown = terminal.text()
        terminal.interrupt()
    assert "popkit restore" in shown
    assert not (world.home.work / "foreign").exists()
    if "restore credentials" in shown:
        assert "exports.item0400" in result(world.api.turns()[-1], "toolu_back_0_0")
