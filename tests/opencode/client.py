"""A home folder for the real OpenCode and the headless way to run it. Nothing outside of one folder is read or written, and no API but the
scripted one is asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.client.client import PROJECT_FILES
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "power-mode" / "opencode"
# As the provider is named in a model's name -> a model of its.
MODELS = {"anthropic": "anthropic/claude-opus-4-8", "compatible": "compatible/gpt-5.4"}
SWITCHES = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1", "OPENCODE_DISABLE_CLAUDE_CODE": "1", "OPENCODE_DISABLE_TERMINAL_TITLE": "1",
    "npm_config_offline": "true",
}  # fmt: skip


@dataclass
class Run:
    """One headless process: its events and raw output."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it printed as JSON."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]

    @property
    def session_id(self) -> str:
        """The session that the last event names."""
        return next((event["sessionID"] for event in reversed(self.events) if event.get("sessionID")), "")


class OpenCodeHome:
    """A home with one git project, for one provider of the scripted API."""

    def __init__(self, root: Path, program: Path, api_url: str, provider: str, plugin: bool = True) -> None:
        self.root = Path(os.path.realpath(root))
        self.program = program
        self.provider = provider
        self.home = self.root / "home"
        self.work = self.root / "shop"
        self.popkit = self.home / ".claude" / "popkit"
        self.config = self.home / ".config" / "opencode" / "opencode.json"
        self.extra_env: dict[str, str] = {}
        self.config.parent.mkdir(parents=True)
        self.settings = settings_for(api_url, provider)
        self.configure(plugin=[PLUGIN.as_uri()] if plugin else [])
        for name, text in PROJECT_FILES.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_text(text)
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            subprocess.run(["git", *identity, *command], cwd=self.work, env=self.env(), check=True, timeout=HANG_S)

    def configure(self, **more: Any) -> None:
        """Write opencode.json, with these keys changed."""
        self.settings.update(more)
        self.config.write_text(json.dumps(self.settings, indent=2))

    def env(self) -> dict[str, str]:
        """An environment with nothing of the caller's but where programs are."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        folders = {f"XDG_{name}_HOME": str(self.home / f".{name.lower()}") for name in ("DATA", "STATE", "CACHE")}
        given = {"PATH": path, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.config.parent.parent), "LANG": "C.UTF-8"}
        return {**given, **folders, **SWITCHES, "POPKIT_DOOR_MS": "60000", **self.extra_env}

    def run(self, prompt: str, *args: str, env: dict[str, str] | None = None) -> Run:
        """One prompt, headless."""
        command = [str(self.program), "run", "--format", "json", "-m", MODELS[self.provider], *args, prompt]
        return self._done(command, {**self.env(), **(env or {})})

    def opencode(self, *args: str) -> Run:
        """Any other command of the program."""
        return self._done([str(self.program), *args], self.env())

    def popkit_says(self, *words: str) -> Run:
        """Our command line, in the project's folder."""
        return self._done([sys.executable, str(ROOT / "hooks" / "popkit.py"), *words], self.env())

    def _done(self, command: list[str], env: dict[str, str]) -> Run:
        # A group of its own: what a failing test leaves running ends with it.
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=self.work, env=env, start_new_session=True, **pipes)
        try:
            out, err = process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return Run(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def settings_for(api_url: str, provider: str) -> dict[str, Any]:
    """An opencode.json that knows the scripted API alone."""
    options = {"baseURL": f"{api_url}/v1", "apiKey": "sk-scripted-key-that-opens-nothing"}
    model = MODELS[provider].partition("/")[2]
    limits = {"limit": {"context": 1_000_000 if provider == "anthropic" else 400_000, "output": 32_000}}
    made: dict[str, Any] = {"options": options, "models": {model: {"name": model, **limits}}}
    if provider != "anthropic":
        made.update(npm="@ai-sdk/openai-compatible", name="Compatible")
    return {
        "$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled", "model": MODELS[provider],
        "small_model": MODELS[provider], "enabled_providers": [provider], "provider": {provider: made},
    }  # fmt: skip
