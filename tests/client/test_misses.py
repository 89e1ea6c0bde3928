"""What a person does in the newest client's terminal is told as the cause of a lost cache, there and from its transcript. What the API says
of its cache is scripted here; `test_causes.py` has one that goes by what is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.policy.lost_cache import COMPACTION, EARLY, EFFORT, MODEL, REWIND

from . import installs
from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import ScriptedApi, say
from .terminal import ENTER, ClientTerminal
from .test_causes import losses_of
from .test_harness import MCP_SERVER

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
    """A session in the client's terminal. `screens`: what was shown when."""

    def __init__(self, home: ClientHome, api: ScriptedApi) -> None:
        self.home, self.api, self.cache = home, api, Cache(api)
        self.screens: dict[str, str] = {}

    def play(self) -> None:
        with ClientTerminal(self.home, plugin_dir=linked(), columns=150) as terminal:
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
            self._turn(terminal, "detour", lost=False)
            terminal.rewind()
            self._turn(terminal, "rewound")
            terminal.send("/compact")
            terminal.wait("Compacted")
            self._turn(terminal, "compacted")

    def _turn(self, terminal: ClientTerminal, name: str, lost: bool = True) -> None:
        self.cache.script(name, f"said {name}", lost)
        terminal.turn(f"go [[SCRIPT:{name}]]", f"said {name}")

    @property
    def transcript(self) -> Path:
        (path,) = (self.home.config / "projects").glob("*/*.jsonl")
        return path


@pytest.fixture(scope="module")
def played(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with ScriptedApi() as api:
        session = Played(ClientHome(tmp_path_factory.mktemp("misses"), clients["newest"], api.url), api)
        api.places["work"] = str(session.home.work)
        session.play()
        yield session


def test_each_cause_is_read_from_the_transcript(played: Played):
    causes = [(MODEL, f"claude-opus-5-5 to {OTHER}"), (EFFORT, "high to low"), (REWIND, ""), (COMPACTION, "")]
    assert losses_of(played.transcript) == causes


def test_the_client_shows_a_loss_when_it_happens(played: Played):
    shown = " ".join(played.screens["model"].replace("│", " ").split())
    assert "Cache miss: ~84k tokens written again," in shown


def test_a_server_whose_tools_are_only_named_in_the_conversation_is_not_the_cause(
    clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi
):
    home, cache = ClientHome(tmp_path, clients["newest"], api.url, {"ENABLE_TOOL_SEARCH": "true"}), Cache(api)
    cache.script("first", "so", lost=False)
    run = home.run_headless("go [[SCRIPT:first]]")
    cache.script("second", "so", lost=True)
    home.run_headless("go [[SCRIPT:second]]", resume=run.session_id, mcp_server=MCP_SERVER)
    transcript = home.transcript_path(run.session_id)
    assert "mcp__demo__lookup" in transcript.read_text()
    assert losses_of(transcript) == [(EARLY, "")]
