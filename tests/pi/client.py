"""The real pi in a home of its own, with projects in it, driven over its RPC mode. Nothing outside of one folder is read or written, and no
API but the scripted one is asked. Nothing waits for a time."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popkit_retention.core.state import sockets
from tests.client.client import NPM_TEST, PROJECT_FILES
from tests.client.installs import npm
from tests.client.screen import Screen
from tests.patience import HANG_S, until

from .installs import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self

# After how many seconds a key is pressed again: what is drawn may not take keys yet.
DROPPED_S = 5.0
ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "power-mode" / "pi"
HELPER = PLUGIN.with_name("helper.ts")
# As the provider is named -> (the API that it has, a model of its, that model's window).
PROVIDERS = {
    "anthropic": ("anthropic-messages", "claude-opus-4-8", 1_000_000),
    "openai": ("openai-completions", "gpt-5.4", 400_000),
    "openai-responses": ("openai-responses", "gpt-5.4", 400_000),
}


class Machine:
    """A home, and the programs that run in it. `door_ms`: how long a result waits for the helper."""

    def __init__(self, root: Path, program: Program, door_ms: int = 60_000) -> None:
        self.root = Path(os.path.realpath(root))
        self.program = program
        self.home = self.root / "home"
        self.popkit = self.home / ".claude" / "popkit"
        self.agent = self.home / ".pi" / "agent"
        self.door_ms = door_ms
        self.more: dict[str, str] = {}  # variables of the environment
        self.agent.mkdir(parents=True)
        self._programs = self.home / "bin"
        self._programs.mkdir()
        (self._programs / "npm").write_text(NPM_TEST.replace("{npm}", npm() or "npm"))
        (self._programs / "npm").chmod(0o755)

    def env(self) -> dict[str, str]:
        """An environment with nothing of the caller's but where programs are."""
        path = os.pathsep.join([str(self._programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        switches = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1", "POPKIT_DOOR_MS": str(self.door_ms)}
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb", **switches, **self.more}

    def run(self, folder: Path, *command: str | Path) -> subprocess.CompletedProcess:
        """A program that has ended; its output as text."""
        return subprocess.run(
            command, cwd=folder, env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=HANG_S, check=False,
        )  # fmt: skip

    def until_helpers_have_ended(self) -> None:
        until(lambda: not sockets.running(str(self.popkit)), "helpers to end")


class Project:
    """A git project on a machine, for one provider of a scripted API; pi runs in it from the first word until `leave`, and goes on with
    the same session afterwards. `extensions`: what is loaded, PopKit's own where nothing is said."""

    OURS = (PLUGIN / "index.ts",)

    def __init__(
        self, machine: Machine, name: str, api_url: str, provider: str, extensions: list[Path] | None = None,
        settings: dict[str, Any] | None = None, window: int = 0,
    ) -> None:  # fmt: skip
        self.machine = machine
        self.provider = provider
        self.work = machine.root / name
        self.popkit = machine.popkit
        self.session = ""
        self.notes: list[str] = []
        self.statuses: list[str] = []
        self.widgets: list[list[str]] = []  # lines above the prompt, [] where there are none
        self.events: list[dict[str, Any]] = []
        self._extensions = list(self.OURS) if extensions is None else extensions
        self._pi: subprocess.Popen[bytes] | None = None
        for path, text in {**PROJECT_FILES, "NAME": name}.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        self._configure(api_url, settings or {}, window)
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            assert machine.run(self.work, "git", *identity, *command).returncode == 0

    def _configure(self, api_url: str, settings: dict[str, Any], window: int) -> None:
        api, model, usual = PROVIDERS[self.provider]
        base = api_url if api == "anthropic-messages" else f"{api_url}/v1"
        described: dict[str, Any] = {
            "id": model, "name": model, "reasoning": True, "input": ["text", "image"],
            "contextWindow": window or usual, "maxTokens": 32_000,
            "cost": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6.25},
        }  # fmt: skip
        if api == "anthropic-messages":
            described["compat"] = {"forceAdaptiveThinking": True}  # as pi's own list has it of this model
        provider = {"baseUrl": base, "apiKey": "scripted-key-that-opens-nothing", "api": api, "models": [described]}
        (self.machine.agent / "models.json").write_text(json.dumps({"providers": {f"scripted-{self.provider}": provider}}))
        (self.machine.agent / "settings.json").write_text(json.dumps({"defaultProjectTrust": "always", **settings}))

    # --- in the session

    def say(self, text: str) -> str:
        """A prompt; the text of the answer that ends its turn."""
        self.begin(text)
        self._until(lambda event: event["type"] == "agent_settled")
        return self.ask("get_last_assistant_text").get("text") or ""

    def begin(self, text: str) -> dict[str, Any]:
        """A prompt that is accepted, or a command that is done."""
        return self.ask("prompt", message=text)

    def command(self, words: str) -> str:
        """What a command of an extension tells the person."""
        count = len(self.notes)
        self.begin(words)
        until(lambda: self._take() or len(self.notes) > count, "the command to answer")
        return "\n".join(self.notes[count:])

    def compact(self, instructions: str = "") -> dict[str, Any]:
        return self.ask("compact", **({"customInstructions": instructions} if instructions else {}))

    def entries(self) -> list[dict[str, Any]]:
        return self.ask("get_entries")["entries"]

    def ask(self, command: str, /, **fields: Any) -> dict[str, Any]:
        """The data of the answer to a command; AssertionError where it is refused."""
        answer = self.request(command, **fields)
        assert answer["success"], answer
        return answer.get("data") or {}

    def request(self, command: str, /, **fields: Any) -> dict[str, Any]:
        """The answer to a command, whatever it says."""
        pi = self._running()
        assert pi.stdin is not None
        pi.stdin.write(json.dumps({"id": "asked", "type": command, **fields}).encode() + b"\n")
        pi.stdin.flush()
        return self._until(lambda event: event["type"] == "response" and event.get("id") == "asked")

    def leave(self) -> None:
        """End pi, which goes on with the same session when it is asked again."""
        if self._pi is not None and self._pi.stdin is not None:
            self._pi.stdin.close()
            try:
                self._pi.wait(HANG_S)
            finally:
                if self._pi.poll() is None:
                    os.killpg(self._pi.pid, signal.SIGKILL)
                self._reader.join()
                if self._pi.stdout is not None:
                    self._pi.stdout.close()
            self._pi = None
        self.machine.until_helpers_have_ended()

    def words(self) -> list[str]:
        """With what pi is started in any mode."""
        _, model, _ = PROVIDERS[self.provider]
        extensions = [word for path in self._extensions for word in ("-e", str(path))]
        return ["--provider", f"scripted-{self.provider}", "--model", model, "--no-mcp", *extensions]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._pi is not None:
            return self._pi
        resumed = ["--session", self.session] if self.session else []
        words = ["--mode", "rpc", *self.words(), *resumed]
        with (self.machine.root / f"{self.work.name}.log").open("ab") as log:
            self._pi = subprocess.Popen(
                [*self.machine.program.command, *words], cwd=self.work, env=self.machine.env(), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._arrived: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=_read, args=(self._pi, self._arrived), daemon=True)
        self._reader.start()
        self.session = self.ask("get_state")["sessionId"]
        return self._pi

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            event = self._arrived.get(timeout=HANG_S)
            assert event is not None, (self.machine.root / f"{self.work.name}.log").read_text()
            self._note(event)
            if wanted(event):
                return event

    def _take(self) -> bool:
        while not self._arrived.empty():
            event = self._arrived.get()
            assert event is not None
            self._note(event)
        return False

    def _note(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        if event["type"] == "extension_ui_request":
            if event.get("method") == "notify":
                self.notes.append(event["message"])
            elif event.get("method") == "setStatus":
                self.statuses.append(event.get("statusText") or "")
            elif event.get("method") == "setWidget":
                self.widgets.append(event.get("widgetLines") or [])

    # --- beside it

    def file(self) -> Path:
        """pi's own file of the session."""
        (found,) = (self.machine.agent / "sessions").glob(f"*/*_{self.session}.jsonl")
        return found

    def kept(self) -> Path:
        """The transcript that the helper keeps of the session, once nobody writes to it any more."""
        self.leave()
        (found,) = (self.popkit / "transcripts").glob(f"*/pi_{self.session}.jsonl")
        return found

    def popkit_says(self, *words: str) -> subprocess.CompletedProcess:
        """Our command line, in the project's folder."""
        return self.machine.run(self.work, sys.executable, ROOT / "hooks" / "popkit.py", *words)


class Terminal(Screen):
    """pi on a screen of its own, in a project; use it as a context manager."""

    unknown = re.compile(r"\x1b\[[<>=?][0-9;$]*[ -/]*[a-zA-Z]|\x1b[P_^][^\x1b]*\x1b\\|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
    unfinished = re.compile(r"\x1b(?:\[[<>=?0-9;$]*|[P_^\]][^\x1b\x07]*)?\Z")

    def __init__(self, project: Project) -> None:
        env = {**project.machine.env(), "TERM": "xterm-256color"}
        command = [*project.machine.program.command, *project.words(), "--tui-mode", "regular"]
        super().__init__(command, cwd=project.work, env=env, rows=50, columns=120)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        os.kill(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._child.close()

    def say(self, text: str, shows: str | re.Pattern[str]) -> None:
        """Type a text, and press return until the screen shows what that leads to."""
        self.press(text)
        self.wait(text)
        self.insist(lambda: self.press("\r"), shows, DROPPED_S)


def _read(pi: subprocess.Popen[bytes], arrived: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    assert pi.stdout is not None
    for line in pi.stdout:
        arrived.put(json.loads(line))
    arrived.put(None)
