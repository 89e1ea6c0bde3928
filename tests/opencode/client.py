"""The real OpenCode in a home of its own, with projects in it: as a server, or in a pseudo terminal. Nothing outside of one folder is read
or written, and no API but the scripted one is asked. Nothing waits for a time."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from popkit_retention.core.state import sockets
from tests.client.client import NPM_TEST, PROJECT_FILES
from tests.client.installs import npm
from tests.client.screen import Screen
from tests.listening import on_a_free_port
from tests.patience import HANG_S, until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "power-mode" / "opencode"
HELPER = PLUGIN.with_name("helper.ts")
# As the provider is named in a model's name -> a model of its.
MODELS = {"anthropic": "anthropic/claude-opus-4-8", "compatible": "compatible/gpt-5.4"}
WINDOWS = {"anthropic": 1_000_000, "compatible": 400_000}
# Of OpenCode's own list of models the one that is asked, as it stands there: the whole list costs a second for each project. The other
# kind of provider is described in opencode.json.
_EFFORTS = ["low", "medium", "high", "xhigh", "max"]
KNOWN_MODELS = {
    "anthropic": {
        "id": "anthropic", "name": "Anthropic", "env": ["ANTHROPIC_API_KEY"], "npm": "@ai-sdk/anthropic",
        "models": {
            "claude-opus-4-8": {
                "id": "claude-opus-4-8", "name": "Claude Opus 4.8", "family": "claude-opus", "attachment": True, "reasoning": True,
                "reasoning_options": [{"type": "effort", "values": _EFFORTS}], "tool_call": True, "structured_output": True,
                "temperature": False, "release_date": "2026-05-28", "last_updated": "2026-05-28",
                "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]}, "open_weights": False,
                "limit": {"context": 1_000_000, "output": 128_000},
                "cost": {"input": 5, "output": 25, "cache_read": 0.5, "cache_write": 6.25},
            },
        },
    },
}  # fmt: skip
SWITCHES = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1", "OPENCODE_DISABLE_CLAUDE_CODE": "1", "OPENCODE_DISABLE_TERMINAL_TITLE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "1", "npm_config_offline": "true",
    "BUN_JSC_useDFGJIT": "0",  # as in tests/client/client.py
}  # fmt: skip


class Machine:
    """A home, and the program that runs in it. `door_ms`: how long a result waits for the helper."""

    def __init__(self, root: Path, program: Path, door_ms: int = 60_000) -> None:
        self.root = Path(os.path.realpath(root))
        self.program = program
        self.home = self.root / "home"
        self.popkit = self.home / ".claude" / "popkit"
        self.door_ms = door_ms
        self.home.mkdir(parents=True)
        self._models = self.home / "models.json"
        self._models.write_text(json.dumps(KNOWN_MODELS))
        self._programs = self.home / "bin"
        self._programs.mkdir()
        (self._programs / "npm").write_text(NPM_TEST.replace("{npm}", npm() or "npm"))
        (self._programs / "npm").chmod(0o755)

    def env(self) -> dict[str, str]:
        """An environment with nothing of the caller's but where programs are."""
        path = os.pathsep.join([str(self._programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        folders = {f"XDG_{name}_HOME": str(self.home / f".{name.lower()}") for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        ours = {"OPENCODE_MODELS_PATH": str(self._models), "POPKIT_DOOR_MS": str(self.door_ms)}
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", **folders, **SWITCHES, **ours}

    def run(self, folder: Path, *command: str | Path) -> subprocess.CompletedProcess:
        """A program that has ended; its output as text."""
        process = subprocess.Popen(
            command, cwd=folder, env=self.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what a failing test leaves running ends with it
            raise
        return subprocess.CompletedProcess(command, process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def until_helpers_have_ended(self) -> None:
        until(lambda: not sockets.running(str(self.popkit)), "helpers to end")


class Server(Machine):
    """`opencode serve`; use it as a context manager."""

    def __enter__(self) -> Self:
        log_path = self.root / "serve.log"

        def start(port: int) -> subprocess.Popen[bytes]:
            command = [str(self.program), "serve", "--port", str(port)]
            with log_path.open("wb") as log:
                self._process = subprocess.Popen(
                    command, cwd=self.root, env=self.env(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            return self._process

        self._running = on_a_free_port(start, lambda _port: b"listening" in log_path.read_bytes(), log_path)
        self.port = self._running.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)  # what it has started ends with it
        self._running.__exit__(*exc)

    def ask(self, folder: Path, method: str, path: str, body: object = None) -> Any:
        """The answer to a request about a folder; HTTPError where it is refused."""
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode({'directory': str(folder)})}"
        asked = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(asked, timeout=HANG_S) as answer:  # noqa: S310  our own address
            text = answer.read()
        return json.loads(text) if text else None


class Project:
    """A git project on a machine, with one session, for one provider of a scripted API."""

    def __init__(self, server: Server, name: str, api_url: str, provider: str, plugin: list[Any] | None = None) -> None:
        self.server = server
        self.provider = provider
        self.work = server.root / name
        self.popkit = server.popkit
        self.session = ""
        named, _, model = MODELS[provider].partition("/")
        self.model = {"providerID": named, "modelID": model}
        files = {**PROJECT_FILES, "NAME": name, "opencode.json": json.dumps(settings_for(api_url, provider, plugin), indent=2)}
        for path, text in files.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            assert self.server.run(self.work, "git", *identity, *command).returncode == 0

    def say(self, text: str) -> dict[str, Any]:
        """A prompt, and the answer that ends its turn."""
        if not self.session:
            self.session = self._ask("POST", "", {})["id"]
        return self._ask("POST", "/message", {"model": self.model, "parts": [{"type": "text", "text": text}]})

    def compact(self) -> None:
        self._ask("POST", "/summarize", self.model)

    def take_back(self) -> None:
        """Take back the last prompt and all behind it, as `/undo` does."""
        prompts = [message["info"]["id"] for message in self.messages() if message["info"]["role"] == "user"]
        self._ask("POST", "/revert", {"messageID": prompts[-1]})

    def command(self, name: str, words: str) -> int:
        """The status with which a command of the session ends."""
        try:
            self._ask("POST", "/command", {"command": name, "arguments": words})
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def messages(self) -> list[dict[str, Any]]:
        return self._ask("GET", "/message")

    def leave(self) -> None:
        """End OpenCode for this project, until it is asked again."""
        self.server.ask(self.work, "POST", "/instance/dispose")
        self.server.until_helpers_have_ended()

    def kept(self) -> Path:
        """The transcript that the helper keeps of the session, once nobody writes to it any more."""
        self.leave()
        (found,) = (self.popkit / "transcripts").glob(f"*/{self.session}.jsonl")
        return found

    def popkit_says(self, *words: str) -> subprocess.CompletedProcess:
        """Our command line, in the project's folder."""
        return self.server.run(self.work, sys.executable, ROOT / "hooks" / "popkit.py", *words)

    def opencode(self, *words: str) -> subprocess.CompletedProcess:
        """The program itself, in the project's folder."""
        return self.server.run(self.work, self.server.program, *words)

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        return self.server.ask(self.work, method, f"/session/{self.session}{path}" if self.session else "/session", body)


def settings_for(api_url: str, provider: str, plugin: list[Any] | None = None) -> dict[str, Any]:
    """An opencode.json that knows the scripted API alone."""
    model = MODELS[provider].partition("/")[2]
    limits = {"limit": {"context": WINDOWS[provider], "output": 32_000}}
    options = {"baseURL": f"{api_url}/v1", "apiKey": "sk-scripted-key-that-opens-nothing"}
    config: dict[str, Any] = {"options": options, "models": {model: {"name": model, **limits}}}
    if provider != "anthropic":
        config.update(npm="@ai-sdk/openai-compatible", name="Compatible")
    return {
        "autoupdate": False, "share": "disabled", "snapshot": False, "model": MODELS[provider],
        "small_model": MODELS[provider], "enabled_providers": [provider], "provider": {provider: config},
        "plugin": [PLUGIN.as_uri()] if plugin is None else plugin,
    }  # fmt: skip


# --- in a terminal -----------------------------------------------------------------------------------------------------------------------


ENTER, ESCAPE, BACKSPACE = "\r", "\x1b", "\x7f"
ROWS, COLUMNS = 50, 170  # wide enough for the sidebar
# After how long a key is pressed again: what is drawn may not take keys yet.
DROPPED_S = 60.0


class Terminal(Screen):
    """OpenCode on a screen of its own, in a project; use it as a context manager."""

    unknown = re.compile(r"\x1b\[[<>=?][0-9;$]*[ -/]*[a-zA-Z]|\x1b[P_^][^\x1b]*\x1b\\|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
    unfinished = re.compile(r"\x1b(?:\[[<>=?0-9;$]*|[P_^\]][^\x1b\x07]*)?\Z")

    def __init__(self, project: Project) -> None:
        server = project.server
        still = server.home / ".state" / "opencode" / "kv.json"
        still.parent.mkdir(parents=True, exist_ok=True)
        still.write_text('{"animations_enabled": false}')  # each picture of one would have to be read
        env = {**server.env(), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        super().__init__([str(server.program)], cwd=project.work, env=env, rows=ROWS, columns=COLUMNS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        os.kill(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._child.close()

    def type(self, text: str) -> None:
        """Type a text and wait until the prompt shows it; again where it does not arrive, or not all of it."""
        typed = False

        def enter() -> None:
            nonlocal typed
            self.press(*[BACKSPACE] * (len(text) * typed), text)
            typed = True

        self.insist(enter, lambda shown: text in shown, DROPPED_S)

    def press_until(self, key: str, shows: str | re.Pattern[str]) -> None:
        """Press a key until the screen shows what that leads to."""
        self.insist(lambda: self.press(key), shows, DROPPED_S)
