"""What the newest client leaves in its transcript tells why a cache was lost: each cause is played in it, and the API says that the cache
was not found. A pause nobody waits for: the times of the transcript are changed afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hooks.utils.hosts.claude_code import sent
from hooks.utils.policy import lost_cache
from hooks.utils.policy.lost_cache import COMMAND, COMPACTION, EFFORT, ERROR, INTERRUPTION, MODEL, PAUSE, REWIND, TOOLS, UNKNOWN

from . import installs
from .client import ClientHome
from .scripted_api import ScriptedApi, Step, call, say
from .terminal import ENTER, ESCAPE, ClientTerminal
from .test_harness import MCP_SERVER
from .test_mod import ROOT

SYSTEM, WRITTEN = 20_000, 2_000
OTHER = "claude-opus-4-6"


class Cache:
    """What the API says of its cache: each request finds what the one before left there, or the system prompt alone."""

    def __init__(self, api: ScriptedApi) -> None:
        self.api = api
        self.left = 100_000

    def script(self, name: str, says: str, lost: bool) -> None:
        self.api.scripts[name] = [say(says, **self.usage(lost))]

    def usage(self, lost: bool) -> dict[str, int]:
        read = SYSTEM if lost else self.left
        self.left += WRITTEN
        return {"cache_read_input_tokens": read, "cache_creation_input_tokens": self.left - read}


class Played:
    """A session in the client's terminal. `lost`: (cause, detail) of each loss in its transcript; `screens`: what was shown when."""

    def __init__(self, home: ClientHome, api: ScriptedApi) -> None:
        self.home, self.api, self.cache = home, api, Cache(api)
        self.screens: dict[str, str] = {}

    def play(self) -> None:
        with ClientTerminal(self.home, plugin_dir=ROOT, columns=150) as terminal:
            terminal.wait_ready()
            self._turn(terminal, "first", lost=False)
            self._turn(terminal, "second", lost=False)
            terminal.send(f"/model {OTHER}")
            terminal.wait("Switch model?")
            terminal.press_until(ENTER, lambda shown: "Switch model?" not in shown)
            self._turn(terminal, "model")
            self.screens["model"] = "\n".join(terminal.wait("Cache miss"))
            terminal.send("/effort low")
            terminal.wait("Change effort level?")
            terminal.press_until(ENTER, lambda shown: "Change effort level?" not in shown)
            self._turn(terminal, "effort")
            terminal.send("/context")
            terminal.wait("Free space")
            self._turn(terminal, "command")
            self.api.scripts["slow"] = [_calls("sleep 60", **self.cache.usage(lost=False))]
            terminal.send("go [[SCRIPT:slow]]")
            terminal.wait("$ sleep 60")
            terminal.press(ESCAPE)
            terminal.wait("Interrupted")
            self._turn(terminal, "interrupted")
            self.api.failing = [529]
            self._turn(terminal, "failed")
            self._turn(terminal, "detour", lost=False)
            terminal.rewind()
            self._turn(terminal, "rewound")
            terminal.send("/compact")
            terminal.wait("Compacted")
            self._turn(terminal, "compacted")
            self._turn(terminal, "nothing")

    def _turn(self, terminal: ClientTerminal, name: str, lost: bool = True) -> None:
        self.cache.script(name, f"said {name}", lost)
        terminal.turn(f"go [[SCRIPT:{name}]]", f"said {name}")

    @property
    def transcript(self) -> Path:
        (path,) = (self.home.config / "projects").glob("*/*.jsonl")
        return path


def _calls(command: str, **usage: int) -> Step:
    return call(("Bash", {"command": command}), **usage)


def lost(transcript: Path) -> list[tuple[str, str]]:
    requests = sent.read(str(transcript), transcript.stat().st_size).requests
    return [(loss.cause, loss.detail) for loss in lost_cache.losses(requests, lambda at: time.localtime(at)[:3])]


@pytest.fixture(scope="module")
def played(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with ScriptedApi() as api:
        made = Played(ClientHome(tmp_path_factory.mktemp("misses"), clients["newest"], api.url), api)
        api.places["work"] = str(made.home.work)
        made.play()
        yield made


def test_each_cause_is_told_from_the_transcript(played: Played):
    causes = [MODEL, EFFORT, COMMAND, INTERRUPTION, ERROR, REWIND, COMPACTION, UNKNOWN]
    assert [cause for cause, _ in lost(played.transcript)] == causes


def test_it_is_told_what_changed(played: Played):
    details = dict(lost(played.transcript))
    assert details[MODEL] == f"claude-opus-5-5 to {OTHER}"
    assert details[EFFORT] == "high to low"
    assert details[COMMAND] == "/context"


def test_the_client_shows_a_loss_when_it_happens(played: Played):
    shown = " ".join(played.screens["model"].replace("│", " ").split())
    assert "Cache miss: ~84k tokens written again," in shown


def test_a_pause_is_told_from_the_times(played: Played, tmp_path: Path):
    """The last turn, six minutes later: the scripted cache lives for five."""
    later, away = tmp_path / "later.jsonl", False
    with later.open("w") as file:
        for line in played.transcript.read_text().splitlines():
            entry = json.loads(line)
            away |= "[[SCRIPT:nothing]]" in json.dumps(entry.get("message", {}))
            if away and "timestamp" in entry:
                entry["timestamp"] = (datetime.fromisoformat(entry["timestamp"][:-1]) + timedelta(minutes=6)).isoformat() + "Z"
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
    assert lost(later)[-1] == (PAUSE, "")


@pytest.mark.parametrize(
    ("search", "cause"),
    [("false", (TOOLS, "demo")), ("true", (UNKNOWN, ""))],
    ids=["its tools stand in the request", "its tools are only named in the conversation"],
)
def test_a_server_that_comes_is_named_where_it_changes_the_request(
    clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi, search: str, cause: tuple[str, str]
):
    home, cache = ClientHome(tmp_path, clients["newest"], api.url, {"ENABLE_TOOL_SEARCH": search}), Cache(api)
    cache.script("first", "so", lost=False)
    run = home.run_headless("go [[SCRIPT:first]]")
    cache.script("second", "so", lost=True)
    home.run_headless("go [[SCRIPT:second]]", resume=run.session_id, mcp_server=MCP_SERVER)
    assert lost(home.transcript_path(run.session_id)) == [cause]
