"""Clearing beside the headless client: what it resumes, runs and compacts, and real sessions resumed as they were and cleared."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from hooks.utils.policy.placeholder import handle_in
from tests.patience import until

from .client import ClientHome
from .ends import both_ends
from .installs import OLDEST_SUPPORTED, Installed
from .kept import Kept, kept
from .reclaimed import COUNT, FIRST_RUN, LIST, PLACEHOLDER, READ, RUN, Reclaimed, blocks, changed, placeholders, plain, result, whole
from .scripted_api import ScriptedApi, call, say, text_of
from .test_plugin import ROOT

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
    done = world.home.run_headless(prompt, plugin_dir=ROOT, resume=resume, **more)
    assert done.returncode == 0, done.stderr
    return done


def test_under_the_shipped_profile_names_of_a_large_result_stay_and_everything_comes_back(home: ClientHome, api: ScriptedApi):
    world = Reclaimed(home, api, profile="")
    api.scripts["rest"] = [*(call(("Bash", {"command": f"echo {number}"})) for number in range(3)), say("rested")]
    session_id = run(world, ["go [[SCRIPT:work]]", "go [[SCRIPT:rest]]"]).session_id
    before, path = blocks(api.turns()[-1]), home.transcript_path(session_id)
    original, contents = path.read_bytes(), world.contents(session_id)
    home.extra_env["POPKIT_CLOCK"] = str(path.stat().st_mtime + 3_000)  # the cache is cold
    done = world.asked("clear", "--session", session_id)
    del home.extra_env["POPKIT_CLOCK"]
    gone = {row["id"]: row["handle"] for row in done["results"]}
    assert (done["cleared"], done["profile"]) == (True, "auto")
    assert set(map(plain, gone)) >= {RUN, READ}
    standing = world.contents(session_id)
    assert {use_id: handle_in(standing[use_id]) for use_id in gone} == gone
    assert whole(home.transcript(session_id))

    api.clear()
    run(world, "go [[SCRIPT:look]]", session_id)
    first, last = api.turns()[0], api.turns()[-1]
    differing = changed(before, blocks(first)[: len(before)])
    assert differing == {use_id: standing[use_id] for use_id in gone}
    (read,) = [use_id for use_id in gone if plain(use_id) == READ]
    notice, _, names = differing[read].partition("\n")
    assert notice == f"{PLACEHOLDER}Read src/list.js (edited later). To see it: popkit restore {gone[read]}]"
    assert len(names.split()) > 50
    assert len(names) <= len(contents[read]) // 10
    assert all(name in contents[read] for name in names.split())
    assert "item0400" in result(last, "toolu_look_0_0"), "read again, it is there in full"

    assert {row["id"] for row in world.asked("undo", "--session", session_id)["restored"]} == set(gone)
    assert path.read_bytes().startswith(original)
    assert world.errors() == ""


def test_whether_the_cache_is_warm_decides_what_an_unforced_clear_does(ran: Ran):
    world, session_id = ran.world, ran.session_id
    transcript = world.home.transcript_path(session_id)
    original = transcript.read_bytes()
    warm = world.asked("clear", "--session", session_id)
    assert (warm["cleared"], warm["items"], warm["pays"], warm["sum"]["warm"]) == (False, 1, False, True)
    assert transcript.read_bytes() == original
    world.home.extra_env["POPKIT_CLOCK"] = str(transcript.stat().st_mtime + 3_000)
    cold = world.asked("clear", "--session", session_id)
    assert (cold["cleared"], cold["items"], cold["pays"], cold["sum"]["warm"]) == (True, 1, True, False)
    assert set(placeholders(world.contents(session_id))) == {"toolu_twice_0_0"}


@both_ends
def test_a_run_that_ends_clears_when_the_user_has_chosen_so(world: Reclaimed):
    world.clear_at_exit()
    session_id = run(world, "go [[SCRIPT:runs]]").session_id
    until(lambda: set(placeholders(world.contents(session_id))) == {FIRST_RUN}, "the clear, which may outlive its hook")
    run(world, "go [[SCRIPT:talk]]", session_id)
    assert set(placeholders(world.api.turns()[-1].tool_results())) == {FIRST_RUN}
    assert whole(world.home.transcript(session_id))


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


def real_sessions(folder: Path) -> Iterator[tuple[str, list[dict]]]:
    """Name and lines of the sessions that have not been damaged since the client wrote them, each repository in turn, small ones first."""
    by_repository: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: (path.stat().st_size, path.name)):
        by_repository.setdefault(path.name.partition("__")[0], []).append(path)
    ranked = [(rank, path) for paths in by_repository.values() for rank, path in enumerate(paths)]
    for _, path in sorted(ranked):
        lines = lines_of(path)
        if lines:
            yield path.name, lines


def lines_of(path: Path) -> list[dict]:
    """The lines of a transcript; none where one is damaged, by "[USER]" for a name and such."""
    try:
        return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    except ValueError:
        return []


def move_in(world: Reclaimed, lines: list[dict]) -> str:
    """Puts a session of another machine into the project, as if it had been held here; its id."""
    session_id = str(uuid.uuid4())
    slug = "".join(char if char.isalnum() else "-" for char in str(world.home.work))
    copy = world.home.config / "projects" / slug / f"{session_id}.jsonl"
    copy.parent.mkdir(parents=True, exist_ok=True)
    here = {"sessionId": session_id, "cwd": str(world.home.work)}
    moved = [{name: here.get(name, value) for name, value in line.items()} for line in lines]
    copy.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in moved))
    return session_id


def resumed(world: Reclaimed, session_id: str) -> list:
    """The blocks of the request that a resumed session sends."""
    world.api.clear()
    run(world, "and now [[SCRIPT:talk]]", session_id)
    return blocks(world.api.turns()[-1])


def test_real_sessions_differ_in_the_cleared_contents_only(home: ClientHome, api: ScriptedApi, transcripts: Path, count):
    """One session; with --slow ten, for each client. Under the profile that is shipped: outlines stay too."""
    world = Reclaimed(home, api, profile="")
    world.home.extra_env["DISABLE_AUTO_COMPACT"] = "1"
    wanted, taken, outlines = count(1, 10), 0, 0
    for source, lines in real_sessions(transcripts):
        session_id = move_in(world, lines)
        path = world.home.transcript_path(session_id)
        original = path.read_bytes()
        done = world.asked("clear", "--session", session_id, "--now")
        if not done["cleared"]:
            continue
        cleared, standing = path.read_bytes(), world.contents(session_id)
        path.write_bytes(original)
        before = resumed(world, session_id)
        path.write_bytes(cleared)
        after = resumed(world, session_id)
        differing = changed(before, after)
        assert differing is not None, source
        assert set(differing) == {row["id"] for row in done["results"]}, source
        contents = {block["tool_use_id"]: text_of(block["content"]) for _, block in before if block["type"] == "tool_result"}
        for row in done["results"]:
            placeholder, sent = standing[row["id"]], differing[row["id"]]
            assert handle_in(placeholder) == row["handle"], source
            assert sent.startswith(placeholder), source
            # The oldest client sends what it was told beside a call behind the result.
            assert contents[row["id"]].endswith(sent[len(placeholder) :]), source
            outlines += "\n" in placeholder
        taken += 1
        if taken == wanted:
            break
    assert taken == wanted
    assert outlines > taken
    assert world.errors() == ""
