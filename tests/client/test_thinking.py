"""Clears that take thinking along, in the real client: it resumes, and its next request is one that the provider takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hooks.utils.policy.planning import Selection
from hooks.utils.reclaim import clearing, undoing
from hooks.utils.reclaim.access import Refused
from hooks.utils.state import live

from .client import ClientHome
from .ends import OLDEST_IF_SLOW
from .installs import Installed
from .kept import Kept, kept
from .provider import SEALS, blocks_of, faults, left_out, thoughts
from .reclaimed import EDIT, EXCERPT, LIST, Reclaimed, blocks, changed, placeholders, plain, whole
from .scripted_api import Recorded, ScriptedApi, call, redacted, say, thought
from .terminal import ClientTerminal
from .test_plugin import ROOT
from .test_reclaim import move_in, real_sessions

SHORT = {"file_path": "{work}/README.md"}
SCRIPTS = {
    # Thinking before the first result that goes (the long run), and in all shapes behind it.
    "deep": [
        call(("Read", EXCERPT), thinking=(thought("what is noted?"),)),
        call(("Bash", {"command": "npm test"}), thinking=(thought("does it work?"),)),
        call(("Read", {"file_path": LIST}), ("Read", SHORT), text="Two files.", thinking=(thought("why?"), redacted())),
        call(("Edit", EDIT), thinking=(redacted(),)),
        call(("Write", {"file_path": "{work}/count", "content": "2"})),
        call(("Bash", {"command": "npm test"}), thinking=(thought("and now?"),)),
        say("deeply done", thinking=(thought("that is it"),)),
    ],
    "muse": [say("just musing", thinking=(thought("hm"),))],
}
RUN, READ = "toolu_deep_1_0", "toolu_deep_2_0"


@pytest.fixture
def world(home: ClientHome, api: ScriptedApi) -> Reclaimed:
    reclaimed = Reclaimed(home, api)
    api.scripts.update(SCRIPTS)
    return reclaimed


@dataclass
class Thinker:
    """A session that has thought, its transcript then, and what it would have sent next."""

    world: Reclaimed
    session_id: str
    original: bytes
    before: Recorded
    gone_on: bytes  # its transcript then

    @property
    def path(self) -> Path:
        return self.world.home.transcript_path(self.session_id)


def deep(home: ClientHome, api: ScriptedApi) -> Thinker:
    """Plays these."""
    world = Reclaimed(home, api)
    api.scripts.update(SCRIPTS)
    session_id = run(world, "deep")
    path = home.transcript_path(session_id)
    original = path.read_bytes()
    run(world, "muse", resume=session_id)
    (before,) = api.turns()
    gone_on = path.read_bytes()
    path.write_bytes(original)
    return Thinker(world, session_id, original, before, gone_on)


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def played(request: pytest.FixtureRequest, clients: dict[str, Installed]) -> Iterator[Kept]:
    """Once for each client."""
    with kept(clients[request.param], deep) as session:
        yield session


@pytest.fixture
def thinker(played: Kept) -> Thinker:
    """As it was before it went on."""
    played.as_it_was()
    return played.played


def run(world: Reclaimed, *scripts: str, resume: str | None = None) -> str:
    """One headless run with the plugin, a prompt for each script; the id of its session."""
    world.api.clear()
    done = world.home.run_headless([f"go [[SCRIPT:{script}]]" for script in scripts], plugin_dir=ROOT, resume=resume)
    assert done.returncode == 0, done.stderr
    return done.session_id


def site(world: Reclaimed, session_id: str) -> tuple:
    """Where a change of this session is made: site, transcript, and the time, when its cache is cold."""
    path = world.home.transcript_path(session_id)
    return live.Site(world.home.env(), session_id, str(world.home.work)), str(path), path.stat().st_mtime + 10_000


def clear(world: Reclaimed, session_id: str, with_thinking: bool = True) -> clearing.Cleared:
    where, path, now = site(world, session_id)
    done = clearing.clear(where, path, now, Selection(now=True), with_thinking=with_thinking)[1]
    assert done is not None
    assert {plain(use_id) for use_id in done.handles} == {RUN, READ}
    return done


def undo(world: Reclaimed, session_id: str) -> undoing.PutBack:
    return undoing.undo(*site(world, session_id))


def speech(request: Recorded) -> list:
    """(role, block) of everything but thinking."""
    return [(role, block) for role, block in blocks(request) if block["type"] not in SEALS]


def thought_of(request: Recorded) -> list:
    return [block for _, block in thoughts(request.body["messages"])]


def assert_taken(before: Recorded, after: Recorded) -> None:
    """The request is a good one, without what was thought behind the first change, and nothing else is different."""
    messages = after.body["messages"]
    assert faults(messages) == []
    assert left_out(before.body["messages"], messages) == "back"
    there = next(
        number for number, message in enumerate(messages) if any(plain(block.get("tool_use_id", "")) == RUN for block in blocks_of(message))
    )
    assert {number < there for number, block in thoughts(messages) if block in thought_of(before)} == {True}
    differing = changed(speech(before), speech(after)[: len(speech(before))])
    assert differing is not None
    assert set(map(plain, differing)) == set(placeholders(differing)) == {RUN, READ}


def test_a_session_cleared_with_its_thinking_resumes_with_a_request_that_the_provider_takes(thinker: Thinker):
    world, session_id, before = thinker.world, thinker.session_id, thinker.before
    assert (faults(before.body["messages"]), len(thought_of(before))) == ([], 7)

    done = clear(world, session_id)
    assert done.thinking > 0
    run(world, "muse", "muse", resume=session_id)
    after, next_one = world.api.turns()
    assert_taken(before, after)
    assert len(thought_of(after)) == 2
    assert faults(next_one.body["messages"]) == []
    assert len(thought_of(next_one)) == 3, "what is thought from now on stays"
    assert whole(world.home.transcript(session_id))

    back = undo(world, session_id)
    assert back.left > 0, "what was thought over the placeholders"
    assert thinker.path.read_bytes().startswith(thinker.original)
    run(world, "muse", resume=session_id)
    (again,) = world.api.turns()
    assert faults(again.body["messages"]) == []
    assert left_out(before.body["messages"], again.body["messages"]) == ""
    assert blocks(again)[: len(blocks(before)) - 1] == blocks(before)[:-1]
    assert whole(world.home.transcript(session_id))
    assert world.errors() == ""


def test_without_its_thinking_the_same_clear_is_one_that_the_provider_refuses(thinker: Thinker):
    """So the check sees what it is there for."""
    world = thinker.world
    clear(world, thinker.session_id, with_thinking=False)
    run(world, "muse", resume=thinker.session_id)
    (after,) = world.api.turns()
    assert set(faults(after.body["messages"])) == {
        f"message {number}: thinking that is bound to a different conversation"
        for number, block in list(thoughts(after.body["messages"]))[2:]
    }


def test_a_session_whose_last_thought_was_interrupted_resumes_too(thinker: Thinker):
    """The client sends no message of thinking alone, so one that was left in the middle stands as it was."""
    world = thinker.world
    lines = thinker.gone_on.splitlines(keepends=True)
    alone = [line for line in lines if b"just musing" not in line]
    assert len(alone) == len(lines) - 1
    thinker.path.write_bytes(b"".join(alone))
    run(world, "muse", resume=thinker.session_id)
    (before, *_) = world.api.turns()
    clear(world, thinker.session_id)
    run(world, "muse", resume=thinker.session_id)
    (after, *_) = world.api.turns()
    messages = after.body["messages"]
    assert faults(messages) == []
    assert left_out(before.body["messages"], messages) == "back"
    assert "(no content)" not in after.text


def test_real_sessions_lose_the_cleared_contents_and_the_thinking_behind_the_first_of_them(
    home: ClientHome, api: ScriptedApi, transcripts: Path, client_version: str, count
):
    """Whatever shapes their lines have: one session; with --slow ten, for each client."""
    world = Reclaimed(home, api, profile="")
    home.extra_env["DISABLE_AUTO_COMPACT"] = "1"
    wanted, taken = count(1, 10), 0
    for number, (source, lines) in enumerate(real_sessions(transcripts)):
        if number % 2 != (client_version == "newest"):
            continue
        session_id = move_in(world, lines)
        path = home.transcript_path(session_id)
        original, done = path.read_bytes(), cleared_if_possible(world, session_id)
        if not done or not done.thinking:
            continue
        cleared = path.read_bytes()
        path.write_bytes(original)
        run(world, "muse", resume=session_id)
        before = blocks(api.turns()[-1])
        path.write_bytes(cleared)
        run(world, "muse", resume=session_id)
        after = blocks(api.turns()[-1])
        there = next(at for at, (_, block) in enumerate(after) if block.get("tool_use_id") in done.handles)
        thinking, kept = ([block for _, block in sent if block["type"] in SEALS] for sent in (after, before[:there]))
        assert thinking == kept, source
        differing = changed(*([one for one in sent if one[1]["type"] not in SEALS] for sent in (before, after)))
        assert differing is not None, source
        assert differing.keys() == done.handles.keys(), source
        taken += 1
        if taken == wanted:
            return
    raise AssertionError(f"only {taken} sessions thought behind what was cleared")


def cleared_if_possible(world: Reclaimed, session_id: str) -> clearing.Cleared | None:
    """What a clear with thinking did to a session of any kind; None where it is refused, or there is nothing to clear."""
    where, path, now = site(world, session_id)
    try:
        return clearing.clear(where, path, now, Selection(now=True), with_thinking=True)[1]
    except Refused:
        return None


@pytest.mark.slow  # that a window loads a cleared session, test_reclaim_terminal.py shows
def test_in_the_terminal_the_same_window_goes_on_after_resume(world: Reclaimed):
    with ClientTerminal(world.home, plugin_dir=ROOT, rows=120) as terminal:
        terminal.wait_ready()
        terminal.turn("go [[SCRIPT:deep]]", "deeply done")
        terminal.turn("go [[SCRIPT:muse]]", "just musing")
        before, session_id = world.api.turns()[-1], world.session_id()
        clear(world, session_id)
        after = resumed(world, terminal, session_id)
        assert_taken(before, after)
        again = resumed(world, terminal, session_id)
        assert faults(again.body["messages"]) == []
        undo(world, session_id)
        back = resumed(world, terminal, session_id)
        assert faults(back.body["messages"]) == []
        assert left_out(before.body["messages"], back.body["messages"]) == ""
        assert changed(speech(before), speech(back)[: len(speech(before))]) == {}
    assert whole(world.home.transcript(session_id))
    assert world.errors() == ""


def resumed(world: Reclaimed, terminal: ClientTerminal, session_id: str) -> Recorded:
    """Loads the session again in the same window, and gives the first request after that."""
    terminal.load(session_id)
    world.api.clear()
    terminal.turn("go [[SCRIPT:muse]]", "just musing")
    return world.api.turns()[-1]
