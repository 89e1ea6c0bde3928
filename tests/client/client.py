"""A home folder for the real client and the headless way to run it.

Everything the client reads or writes lies below one folder: HOME, its configuration, the project it works on. Must
never read the caller's configuration, must never reach another API than the scripted one.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.patience import HANG_S

from .installs import Installed, npm
from .watching import Watch

API_KEY = "sk-ant-scripted-key-that-opens-nothing-0000"
PROJECT_FILES = {
    "package.json": '{"name": "shop", "version": "1.0.0", "private": true, "scripts": {"test": "node test.js"}}\n',
    "src/app.js": 'exports.add = (a, b) => a - b;\nexports.NAME = "demo";\n',
    "test.js": (
        "const { add } = require('./src/app.js');\n"
        "if (add(2, 3) !== 5) {\n"
        "  console.error('FAIL add(2, 3): expected 5, got ' + add(2, 3));\n"
        "  process.exit(1);\n"
        "}\n"
        "console.log('PASS 1 test');\n"
    ),
    "README.md": "# shop\n\nA tiny project.\n",
}
# Prints and runs what `npm test` does; npm itself takes four times as long to start as that test to run.
NPM_TEST = """#!/bin/sh
[ "$*" = test ] || exec '{npm}' "$@"
printf '\\n> shop@1.0.0 test\\n> node test.js\\n\\n'
exec node test.js
"""
SWITCHES = {
    "IS_SANDBOX": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
    "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
    # Tests share the machine: a hook at the end of a session gets longer than the 1.5 s that the client allows, a server too.
    "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "120000",
    "MCP_TIMEOUT": "120000",
    "MCP_CONNECT_TIMEOUT_MS": "120000",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "npm_config_update_notifier": "false",
    # The newest client's second compiler works longer than a session of some minutes gains by it.
    "BUN_JSC_useDFGJIT": "0",
}


class ClientTimeoutError(AssertionError):
    """The client did not do in time what the test waits for; the message carries what it showed last."""


@dataclass(frozen=True)
class Begin:
    """A prompt whose answer is not waited for: what comes next is typed while Claude works."""

    prompt: str | list[dict[str, Any]]


@dataclass
class Run:
    """One headless process: its stream-json events (none for plain text output) and raw output."""

    returncode: int
    stdout: str
    stderr: str
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def session_id(self) -> str:
        """The session id of the last event that names one."""
        return next((event["session_id"] for event in reversed(self.events) if event.get("session_id")), "")

    @property
    def results(self) -> list[dict[str, Any]]:
        """One `result` event per prompt."""
        return [event for event in self.events if event.get("type") == "result"]

    @property
    def init(self) -> dict[str, Any]:
        """The init event: tools, model, plugins, slash commands."""
        return next(event for event in self.events if event.get("subtype") == "init")


class ClientHome:
    """A temporary home with one git project, for one client against one API. `watch`: over what PopKit does in any of them."""

    watch: Watch | None = None

    def __init__(self, root: Path, installed: Installed, api_url: str, extra_env: dict[str, str] | None = None) -> None:
        self.installed = installed
        self.root = Path(os.path.realpath(root))
        self.home = self.root / "home"
        self.config = self.home / ".claude"
        self.work = self.root / "shop"
        self.extra_env = dict(extra_env or {})
        self.api_url = api_url
        # What newer clients start in, `auto`, needs an API that says of each call whether it is dangerous.
        self.permission_mode = "bypassPermissions"
        self.config.mkdir(parents=True, exist_ok=True)
        self.programs = self.home / "bin"
        self.programs.mkdir(exist_ok=True)
        (self.programs / "npm").write_text(NPM_TEST.replace("{npm}", npm() or "npm"))
        (self.programs / "npm").chmod(0o755)
        self.make_project(self.work)
        self.approve(self.work)

    def make_project(self, folder: Path) -> None:
        """A committed npm project whose `npm test` fails until `a - b` becomes `a + b`."""
        for name, text in PROJECT_FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid", "-c", "commit.gpgsign=false"]
            subprocess.run(["git", *identity, *command], cwd=folder, env=self.env(), check=True, timeout=HANG_S)

    def approve(self, *folders: Path) -> None:
        """Answer every first-start question beforehand: onboarding, the API key, trust in the folders."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        state = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": self.installed.version,
            "lastReleaseNotesSeen": self.installed.version,
            "numStartups": 10,
            "theme": "dark",
            "bypassPermissionsModeAccepted": True,
            "autoUpdates": False,
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
            "projects": {str(folder): trusted for folder in folders},
        }
        (self.config / ".claude.json").write_text(json.dumps(state))
        # An animated spinner takes a fifth of what a client costs on a screen.
        settings = {"skipDangerousModePermissionPrompt": True, "prefersReducedMotion": True}
        (self.config / "settings.json").write_text(json.dumps(settings))

    def env(self) -> dict[str, str]:
        """The caller's environment without anything that steers a Claude client, then ours."""
        steering = ("ANTHROPIC", "CLAUDE", "POPKIT", "AWS_", "VERTEX", "OTEL_")
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(steering)}
        # A pyenv shim takes 100 ms to start: the python3 of hooks is the one that runs the tests.
        pythons = [*([str(self.watch.interpreter.parent)] if self.watch else []), str(Path(sys.executable).parent)]
        path = os.pathsep.join([str(self.programs), *pythons, kept.get("PATH", os.defpath)])
        return {
            **kept,
            **SWITCHES,
            "PATH": path,
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_API_KEY": API_KEY,
            "ANTHROPIC_BASE_URL": self.api_url,
            "SHELL": "/bin/sh" if not Path("/bin/bash").exists() else "/bin/bash",
            **self.extra_env,
        }

    def command(
        self,
        plugin_dir: Path | None = None,
        resume: str | None = None,
        mcp_server: Path | None = None,
        extra: Sequence[str] = (),
    ) -> list[str]:
        """The command line that both the headless and the terminal way start with."""
        command = [str(self.installed.executable), "--permission-mode", self.permission_mode]
        if plugin_dir:
            command += ["--plugin-dir", str(plugin_dir)]
        if resume:
            command += ["--resume", resume]
        if mcp_server:
            server = {"command": sys.executable, "args": ["-S", "-E", str(mcp_server)]}  # the oldest client waits 5 s for it
            command += ["--mcp-config", json.dumps({"mcpServers": {"demo": server}}), "--strict-mcp-config"]
        return [*command, *extra]

    def run_headless(
        self,
        prompts: str | Iterable[str | list[dict[str, Any]] | Begin],
        *,
        plugin_dir: Path | None = None,
        resume: str | None = None,
        mcp_server: Path | None = None,
        extra: Sequence[str] = (),
        plain: bool = False,
        timeout: float = HANG_S,
    ) -> Run:
        """Run the client in -p mode until it exits.

        One prompt goes on the command line, several go as stream-json, each after the answer to the one before (or, behind one that is to
        `Begin`, at once); there a prompt may be the blocks of a message.
        plain gives the text output that a user of `-p` sees, without events.
        """
        base = self.command(plugin_dir, resume, mcp_server, extra)
        if plain:
            assert isinstance(prompts, str), "plain output is for one prompt"
            return self._run_to_end([*base, "-p", prompts], timeout)
        streamed = [*base, "-p", "--output-format", "stream-json", "--verbose"]
        if isinstance(prompts, str):
            return self._run_to_end([*streamed, prompts], timeout)
        return self._run_turns([*streamed, "--input-format", "stream-json"], prompts, timeout)

    def _run_to_end(self, command: list[str], timeout: float) -> Run:
        try:
            done = subprocess.run(
                command,
                cwd=self.work,
                env=self.env(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            message = f"the client still ran after {timeout} s; it had printed:\n{late.stdout}\n{late.stderr}"
            raise ClientTimeoutError(message) from None
        return Run(done.returncode, done.stdout, done.stderr, list(_events(done.stdout)))

    def _run_turns(self, command: list[str], prompts: Iterable[str | list[dict[str, Any]] | Begin], timeout: float) -> Run:
        errors = (self.root / "stderr").open("w+")
        process = subprocess.Popen(
            command,
            cwd=self.work,
            env=self.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=lambda: [*map(lines.put, process.stdout), lines.put(None)], daemon=True)
        reader.start()
        printed: list[str] = []
        deadline = time.monotonic() + timeout
        try:
            for given in prompts:
                prompt = given.prompt if isinstance(given, Begin) else given
                content = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
                message = {"type": "user", "message": {"role": "user", "content": content}}
                process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
                if not isinstance(given, Begin):
                    self._read_until_result(lines, printed, deadline)
            process.stdin.close()
            while (line := lines.get(timeout=max(0.1, deadline - time.monotonic()))) is not None:
                printed.append(line)
            process.wait(max(0.1, deadline - time.monotonic()))
        except (queue.Empty, subprocess.TimeoutExpired):
            message = f"no answer in {timeout} s; it had printed:\n{''.join(printed)[-4000:]}"
            raise ClientTimeoutError(message) from None
        finally:
            process.kill()
            process.wait()
            reader.join(5)
            process.stdout.close()
            errors.seek(0)
            stderr = errors.read()
            errors.close()
        return Run(process.returncode, "".join(printed), stderr, list(_events("".join(printed))))

    def _read_until_result(self, lines: queue.Queue[str | None], printed: list[str], deadline: float) -> None:
        while True:
            line = lines.get(timeout=max(0.1, deadline - time.monotonic()))
            if line is None:  # it has ended, which whoever reads on has to see, too
                lines.put(None)
                return
            printed.append(line)
            if any(event.get("type") == "result" and not _is_of_a_plugin(event) for event in _events(line)):
                return

    def transcript_path(self, session_id: str) -> Path:
        """Where the client keeps this session, whatever it made of the project's path."""
        found = list((self.config / "projects").glob(f"*/{session_id}.jsonl"))
        assert len(found) == 1, f"expected one transcript of {session_id}, found {found}"
        return found[0]

    def transcript(self, session_id: str) -> list[dict[str, Any]]:
        """The lines of the main transcript, without one that is being written."""
        text = self.transcript_path(session_id).read_text()
        return list(_events(text[: text.rfind("\n") + 1]))

    def turns_over(self) -> int:
        """How many turns the transcripts hold to their end, with what came of the hooks there."""
        return sum(path.read_bytes().count(b'"subtype":"stop_hook_summary"') for path in (self.config / "projects").glob("*/*.jsonl"))

    def subagent_transcripts(self, session_id: str) -> dict[str, list[dict[str, Any]]]:
        """Agent id to the lines of its own transcript."""
        folder = self.transcript_path(session_id).with_suffix("") / "subagents"
        files = sorted(folder.glob("agent-*.jsonl"))
        return {path.stem.removeprefix("agent-"): list(_events(path.read_text())) for path in files}


def _is_of_a_plugin(result: dict[str, Any]) -> bool:
    """Whether nobody typed what this is the result of: a compaction that a plugin has started."""
    return (result.get("origin") or {}).get("kind") == "plugin"


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
