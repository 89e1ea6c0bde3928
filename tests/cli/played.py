"""A home with one session in it: written as a transcript, and fed call by call to the hooks' handlers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import pexpect

from popkit_retention.core.hosts.transcripts.projects import folder_name
from tests.cli import inside
from tests.hooks.processes import HANDLERS
from tests.kit.crowds import all_do
from tests.kit.forks import Command, Done, Forks
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
SESSION = "5e551017-0000-4000-8000-000000000001"
BEGAN = 1_790_000_000.0
STEP_S = 10.0
WIDTH = 70  # of what a command prints
CACHE = {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 0}
USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 500,
    "cache_read_input_tokens": 49_490,
    "output_tokens": 50,
    "cache_creation": CACHE,
}


class Played:
    """Runs `bin/popkit` and the hooks with a home, a project and a time of its own."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.claude = self.user / ".claude"
        self.home = self.claude / "popkit"
        self.project = folder / "shop"
        self.transcript = self.claude / "projects" / folder_name(str(self.project)) / f"{SESSION}.jsonl"
        self.settings = self.claude / "settings.json"
        self.bin = folder / "bin"
        for folder_of_ours in (self.project, self.transcript.parent, self.bin):
            folder_of_ours.mkdir(parents=True)
        (self.bin / "python3").symlink_to(os.path.realpath(sys.executable))
        (self.bin / "popkit").symlink_to(ROOT / "bin" / "popkit")  # as once `popkit setup shell` has run
        self.now = BEGAN
        self.calls = 0
        self.last = None
        self.env = {"HOME": str(self.user), "PATH": f"{self.bin}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

    def popkit(self, *words: str, stdin: str | bytes = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess:
        """One run of the command in a process of its own; its output as text."""
        done = subprocess.run(
            [ROOT / "bin" / "popkit", *words],
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            capture_output=True,
            env={**self.env, "POPKIT_CLOCK": str(self.now), **env},
            cwd=cwd or self.project,
            check=False,
            timeout=HANG_S,
        )
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done

    def run(self, *words: str, stdin: str | bytes = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess:
        """The same within this process, which is where most is tried: it takes a fraction of the time."""
        environ = {**self.env, "POPKIT_CLOCK": str(self.now), **env}
        return inside.run(words, environ, cwd or self.project, stdin if isinstance(stdin, bytes) else stdin.encode())

    def printed(self, *words: str, stdin: str | bytes = "", code: int = 0, cwd: Path | None = None, **env: str) -> str:
        """What a command prints; it must end as it should, and with nothing else said."""
        done = self.run(*words, stdin=stdin, cwd=cwd, **env)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr
        return done.stdout

    def mistaken(self, *words: str, stdin: str | bytes = "", **env: str) -> str:
        """What a command says of a mistake, on one line; it must print nothing else, and fit a terminal."""
        done = self.run(*words, stdin=stdin, **env)
        assert (done.returncode, done.stdout) == (1, ""), done.stdout + done.stderr
        assert all(len(line) <= WIDTH + 6 for line in done.stderr.splitlines())
        assert not set("\x1b\x07\u202e\u200b") & set(done.stderr)
        assert done.stderr.startswith((f"popkit {words[0]}:", "popkit:"))
        return " ".join(done.stderr.split())

    def same_alone(self, *words: str, stdin: str = "") -> None:
        """A command says the same in a process of its own as within this one."""
        before = shutil.copytree(self.home, self.home.with_name("before"))
        here = self.run(*words, stdin=stdin)
        shutil.rmtree(self.home)
        before.rename(self.home)
        alone = self.popkit(*words, stdin=stdin)
        assert (alone.returncode, alone.stdout, alone.stderr) == (here.returncode, here.stdout, here.stderr)

    def in_shell(self, line: str) -> subprocess.CompletedProcess:
        """One line of a shell, for which the command is `popkit`; its output as bytes."""
        env = {**self.env, "PATH": f"{ROOT / 'bin'}:{self.env['PATH']}", "POPKIT_CLOCK": str(self.now)}
        return subprocess.run(["/bin/sh", "-c", line], env=env, cwd=self.project, capture_output=True, check=False, timeout=HANG_S)

    def at_terminal(self, *words: str) -> pexpect.spawn:
        """The command at a terminal without colours."""
        env = {**self.env, "NO_COLOR": "1", "TERM": "xterm", "POPKIT_CLOCK": str(self.now)}
        command = str(ROOT / "bin" / "popkit")
        return pexpect.spawn(command, [*words], env=env, cwd=str(self.project), encoding="utf-8", timeout=HANG_S)

    def together(self, forks: Forks, words: Sequence[Sequence[str]]) -> list[Done]:
        """Several commands at once, none of which fails or complains."""
        return all_do(forks, [Command([*each]) for each in words], {**self.env, "POPKIT_CLOCK": str(self.now)}, cwd=str(self.project))

    def has_client(self, version: str) -> None:
        """Puts a client on PATH that tells this version."""
        program = self.bin / "claude"
        program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        program.chmod(0o755)

    def hook(self, name: str, **payload: object) -> None:
        """One hook, as hooks.json starts it."""
        payload, environ = self._given(payload)
        done = subprocess.run(
            ["/bin/sh", "-c", f'"$CLAUDE_PLUGIN_ROOT/hooks/popkit" {name}'],
            input=json.dumps(payload).encode(),
            capture_output=True,
            env=environ,
            cwd=self.project,
            check=True,
            timeout=HANG_S,
        )
        assert done.stderr == b""

    def started(self) -> None:
        """The hook that starts a session, as hooks.json starts it."""
        self.hook("session-start", hook_event_name="SessionStart", source="startup")

    def _hooked(self, name: str, **payload: object) -> None:
        """What a hook does, within this process."""
        HANDLERS[name](*self._given(payload))

    def _given(self, payload: dict) -> tuple[dict, dict[str, str]]:
        """(payload, environment) of a hook."""
        common = {"session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(self.project)}
        environ = {"CLAUDE_PLUGIN_ROOT": str(ROOT), "CLAUDE_PROJECT_DIR": str(self.project), "POPKIT_CLOCK": str(self.now)}
        return {**common, **payload}, {**self.env, **environ}

    def start(self) -> None:
        """The session starts and the user says something."""
        self._hooked("session-start", hook_event_name="SessionStart", source="startup")
        self._line("user", {"role": "user", "content": "please look"})
        self._hooked("context-monitor", hook_event_name="UserPromptSubmit", prompt="please look")

    def call(self, tool: str, tool_input: dict, response: dict, *, hooked: bool = True) -> None:
        """One tool call: in the transcript, and at the hook unless that did not fire."""
        self.calls += 1
        id = f"toolu_{self.calls}"
        use = {"type": "tool_use", "id": id, "name": tool, "input": tool_input}
        message = {"id": f"msg_{self.calls}", "role": "assistant", "model": "claude-opus-4-8", "content": [use], "usage": USAGE}
        self._line("assistant", message)
        if hooked:
            names = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_use_id": id}
            self._hooked("post-tool-use", **names, tool_input=tool_input, tool_response=response)
        result = {"type": "tool_result", "tool_use_id": id, "content": json.dumps(response)}
        self._line("user", {"role": "user", "content": [result]}, toolUseResult=response)

    def read(self, name: str, text: str, **how: bool) -> None:
        """A Read of a whole file of the project."""
        path = self.project / name
        path.write_text(text)
        lines = text.count("\n")
        file = {"filePath": str(path), "content": text, "numLines": lines, "startLine": 1, "totalLines": lines}
        self.call("Read", {"file_path": str(path)}, {"type": "text", "file": file}, **how)

    def bash(self, command: str, output: str, **how: bool) -> None:
        """A Bash command that succeeded."""
        self.call("Bash", {"command": command}, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}, **how)

    def _line(self, kind: str, message: dict, **more: object) -> None:
        self.now += STEP_S
        uuid = f"line-{self.now:.0f}"
        stamp = datetime.fromtimestamp(self.now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        line = {"parentUuid": self.last, "uuid": uuid, "type": kind, "message": message, "timestamp": stamp, "isSidechain": False,
                "sessionId": SESSION, "cwd": str(self.project), "version": "2.1.100", **more}  # fmt: skip
        self.last = uuid
        with self.transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def status(self, **changes: object) -> str:
        """What the client writes to the status line."""
        usual = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "workspace": {"current_dir": str(self.project), "project_dir": str(self.project)},
            "context_window": {"context_window_size": 100_000, "current_usage": USAGE, "used_percentage": 50},
        }
        return json.dumps({**usual, **changes})
