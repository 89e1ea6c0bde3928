"""The plugin in agents made with Anthropic's real Agent SDK, by the programs of docs/agents.md: door, tracker and compaction work there."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.patience import HANG_S

from . import installs, sdks
from .client import ClientHome
from .compacted import READ, RUN, Compacted, good, words
from .reclaimed import LIST, result
from .scripted_api import Recorded, ScriptedApi, call, say
from .test_mod import referred, sent
from .test_plugin import ROOT

FENCED = re.compile(r"^```(python|ts)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GUIDE = (ROOT / "docs" / "agents.md").read_text().split("## In the Agent SDK\n")[1].split("\n## ")[0]
PROGRAMS = dict(FENCED.findall(GUIDE))
FOLDER, PROMPTS = '"/path/of/popkit"', '["Make the tests pass.", "/compact", "Now write the release notes."]'
TYPED = ["go [[SCRIPT:work]]", "read [[SCRIPT:twice]]", "/popkit:context", "/compact", "look [[SCRIPT:look]]"]
TWICE = [call(("Read", {"file_path": LIST, "limit": 200})), call(("Read", {"file_path": LIST, "offset": 100})), say("read twice")]


def replaced(program: str, *pairs: tuple[str, str]) -> str:
    """A program with some of its texts replaced, each of which it has once."""
    for old, new in pairs:
        assert program.count(old) == 1, old
        program = program.replace(old, new)
    return program


def in_python(prompts: list[str], home: ClientHome) -> list[str | Path]:
    """The command that runs the guide's program in Python. Without a client of its own the SDK takes the one on PATH."""
    home.extra_env["PATH"] = f"{home.installed.executable.parent}:{home.env()['PATH']}"
    script = home.root / "agent.py"
    script.write_text(replaced(PROGRAMS["python"], (FOLDER, json.dumps(str(ROOT))), (PROMPTS, json.dumps(prompts))))
    return [sdks.python(), script]


def in_typescript(prompts: list[str], home: ClientHome) -> list[str | Path]:
    """The command that runs the guide's program in TypeScript, which is JavaScript, too."""
    client = f"pathToClaudeCodeExecutable: {json.dumps(str(home.installed.executable))}, "
    program = replaced(
        PROGRAMS["ts"], (FOLDER, json.dumps(str(ROOT))), (PROMPTS, json.dumps(prompts)), ("{ resume:", "{ " + client + "resume:")
    )
    script = home.root / "agent.mjs"
    script.write_text(program.replace("console.log(message)", "console.log(JSON.stringify(message))"))
    (home.root / "node_modules").symlink_to(sdks.typescript() / "node_modules")
    return ["node", script]


@dataclass
class Agent:
    """One conversation of an agent: what it printed, and the last request of each prompt that made one."""

    world: Compacted
    printed: str
    requests: dict[str, Recorded] = field(default_factory=dict)


@pytest.fixture(scope="module", params=[in_python, in_typescript])
def agent(
    request: pytest.FixtureRequest, clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Agent]:
    if request.param is in_python and sdks.why_not_python():
        pytest.skip(sdks.why_not_python())
    with ScriptedApi() as api:
        home = ClientHome(tmp_path_factory.mktemp("agent"), clients["newest"], api.url)
        api.places["work"] = str(home.work)
        world = Compacted(home, api)
        api.scripts["twice"] = TWICE
        command = request.param(TYPED, home)
        done = subprocess.run(command, cwd=home.work, env=home.env(), capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stderr
        played = Agent(world, done.stdout)
        for turn in api.turns():
            played.requests[words(turn, "user")[-1]] = turn
        yield played


def test_what_the_context_shows_enters_once(agent: Agent):
    assert referred(result(agent.requests[TYPED[1]], "toolu_twice_0_0")), "an edit has changed one line since it was read whole"
    assert referred(result(agent.requests[TYPED[1]], "toolu_twice_1_0"))


def test_every_request_before_the_compaction_begins_with_the_one_before(agent: Agent):
    turns = agent.world.api.turns()
    turns = turns[: turns.index(agent.requests[TYPED[1]]) + 1]
    assert len(turns) == 10
    for before, after in zip(turns, turns[1:]):
        assert sent(after)[: len(sent(before))] == sent(before)


def test_the_compaction_asks_no_model_and_what_was_said_stays(agent: Agent):
    assert {request.kind for request in agent.world.api.requests} == {"turn"}
    after = agent.requests[TYPED[4]]
    assert good(after) == []
    prompts = [text for text in words(after, "user") if not text.startswith("[PopKit left out ")]
    assert prompts == [TYPED[0], TYPED[1], TYPED[4]]
    assert "Compacted without a model: " in agent.printed


def test_what_was_taken_out_can_be_restored(agent: Agent):
    before, after = agent.requests[TYPED[0]], agent.requests[TYPED[4]]
    printed = {"": after.text}
    while new := {handle for text in printed.values() for handle in re.findall(r": popkit restore (\w{8})\]", text)} - set(printed):
        printed |= {handle: agent.world.popkit("restore", handle).stdout for handle in new}  # what left in a list leads to its results
    restored = "\n".join(printed.values())
    stayed = after.tool_results()
    left = [id for id, text in before.tool_results().items() if stayed.get(id) != text]
    assert any(id.startswith((RUN, READ)) for id in left)
    for id in left:
        assert [line for line in before.tool_results()[id].strip().splitlines() if line.strip() not in restored] == []


def test_the_panel_is_answered_without_a_request(agent: Agent):
    assert "Retention status" in agent.printed
    assert TYPED[2] not in agent.requests


def test_after_the_compaction_results_are_tracked_as_before(agent: Agent):
    world = agent.world
    assert world.agrees(world.session_id())
    assert any("list.js" in label for label in world.live_labels(world.session_id()))
    assert world.errors() == ""


def test_all_prompts_are_one_session(agent: Agent):
    assert len(list((agent.world.home.config / "projects").glob("*/*.jsonl"))) == 1
