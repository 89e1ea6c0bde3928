"""A real helper, asked over its socket."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.kit.forks import Command, Forks, Running
from tests.patience import HANG_S, until

ROOT = Path(__file__).resolve().parents[2]
SESSION = "5e551011-0000-4000-8000-000000000001"


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("popkit", timeout=HANG_S)
        self.socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(HANG_S)
        self.sock.connect(self.socket_path)


class Helper:
    """`popkit serve` as a process, in a home of its own, and what is asked of it."""

    session = SESSION
    forks: Forks | None = None  # the process is a fork of these; where there are none, it is started as the client starts it

    def __init__(self, folder: Path, transcript: Path | None = None, config: dict[str, Any] | None = None, **env: str) -> None:
        self.home = folder / "popkit"
        self.home.mkdir(parents=True, exist_ok=True)
        self.project = folder / "shop"
        self.project.mkdir(exist_ok=True)
        self.transcript = transcript or folder / ".claude" / "projects" / "shop" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        if config:
            (self.home / "retention-config.json").write_text(json.dumps({"retention": config}))
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "POPKIT_HOME": str(self.home), "POPKIT_DOOR_MS": "60000", **env}
        self.number = 0
        self.start()

    def start(self) -> None:
        self.process = self._started(["serve", "--session", self.session, "--transcript", str(self.transcript), "--cwd", str(self.project)])
        self.announced = json.loads(self.process.stdout.readline())

    def _started(self, words: list[str]) -> subprocess.Popen | Running:
        if self.forks:
            return self.forks.start(Command(words), self.env)
        command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), *words]
        return subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def ask(self, path: str, asked: object = None, raw: bytes | None = None) -> Any:
        connection = _Unix(self.announced["socket"])
        try:
            connection.request("POST", path, json.dumps(asked or {}).encode("utf-8", "surrogatepass") if raw is None else raw)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def told(self, words: str) -> str:
        """The answer to a command; what takes long on a busy machine is asked for again, as a person would."""
        answers: list[str] = []

        def is_there() -> bool:
            answers.append(self.ask("/command", {"words": words, "columns": 100})["text"])
            return "still working on this" not in answers[-1]

        until(is_there, f"an answer to {words}")
        return answers[-1]

    def part(self, path: str, raw: bytes, at_once: int) -> tuple[bytes, bool]:
        """(so many bytes of an answer at most, whether it goes on)."""
        connection = _Unix(self.announced["socket"])
        try:
            connection.request("POST", path, raw, {"Popkit-At-Once": str(at_once)})
            response = connection.getresponse()
            return response.read(), response.getheader("Popkit-Goes-On") is not None
        finally:
            connection.close()

    def result(self, tool: str, tool_input: dict[str, Any], content: Any, agent: str = "", **more: Any) -> tuple[str, Any]:
        """(the id of a result that arrives, what the door answers)."""
        self.number += 1
        id = f"toolu_{self.number:02}"
        block = {"type": "tool_result", "tool_use_id": id, "content": content, **more}
        row = {"uuid": f"row-{self.number}", "agent_id": agent, "message": {"type": "user", "role": "user", "content": [block]}}
        return id, self.ask("/row", {**row, "calls": {id: {"tool": tool, "input": tool_input}}, "cwd": str(self.project)})

    def read(self, path: str, lines: list[str], first: int = 1, agent: str = "") -> tuple[str, str]:
        """(the id of a Read that arrives, its text as it enters)."""
        text = numbered(lines, first)
        id, answer = self.result("Read", {"file_path": str(self.project / path), "offset": first}, text, agent)
        return id, answer["content"][0]["content"] if answer else text

    def has_read(self, path: str, lines: list[str], id: str = "toolu_00") -> Transcript:
        """Its session's transcript, in which a file was read."""
        transcript = Transcript(self.transcript, self.project)
        transcript.called(id, "Read", {"file_path": str(self.project / path)}, numbered(lines))
        return transcript

    def run(self, *words: str) -> str:
        """`popkit WORDS` in the same home."""
        if self.forks:
            return self.forks.run(Command([*words]), self.env, cwd=str(self.project)).stdout.decode("utf-8", "surrogatepass")
        command = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), *words]
        done = subprocess.run(command, env=self.env, cwd=self.project, capture_output=True, timeout=HANG_S, check=False)
        return done.stdout.decode("utf-8", "surrogatepass")

    def journal(self, agent: str = "") -> list[dict[str, Any]]:
        path = self.home / "sessions" / SESSION / (f"agent-{agent}.journal.jsonl" if agent else "main.journal.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def failures(self) -> str:
        log = self.home / "hooks.log"
        return log.read_text() if log.exists() else ""

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()


def numbered(lines: list[str], first: int = 1) -> str:
    """Lines of a file as a Read shows them."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


def lines(count: int, name: str = "value") -> list[str]:
    """So many lines, each like no other."""
    return [f"    {name}_{number} = compute({number * 7}, {name!r})" for number in range(1, count + 1)]


class Transcript:
    """The transcript of a session, in the making: calls with their results, and what the requests' usage says."""

    def __init__(self, path: Path, project: Path) -> None:
        self.path, self.project, self.last, self.count = path, project, None, 0
        self._add("user", {"role": "user", "content": "go"})

    def called(self, id: str, tool: str, tool_input: dict[str, Any], content: Any, prompt: int = 0, managed: object = None) -> None:
        """An answer that calls a tool, after a request of so many tokens, and the result."""
        use = {"type": "tool_use", "id": id, "name": tool, "input": tool_input}
        self._answer([use], prompt, managed)
        self._add("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]})

    def asked(self, text: str | list[dict[str, Any]]) -> None:
        """A prompt of the user's."""
        self._add("user", {"role": "user", "content": text})

    def said(self, text: str) -> None:
        """What the assistant says before it goes on."""
        self._answer([{"type": "text", "text": text}], 0, None)

    def answered(self, prompt: int, managed: object = None) -> None:
        """An answer of text only."""
        self._answer([{"type": "text", "text": "so"}], prompt, managed)

    def _answer(self, content: list[Any], prompt: int, managed: object) -> None:
        usage = {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": prompt - 103, "output_tokens": 5}
        body = {"id": f"m{self.count}", "role": "assistant", "model": "claude-opus-5-5", "content": content, "context_management": managed}
        self._add("assistant", {**body, **({"usage": usage} if prompt else {})})

    def _add(self, kind: str, message: dict[str, Any]) -> None:
        self.count += 1
        entry = {
            "type": kind, "uuid": f"u{self.count}", "parentUuid": self.last, "isSidechain": False, "sessionId": SESSION,
            "cwd": str(self.project), "version": "2.1.330", "message": message,
            "timestamp": f"2026-11-22T10:{self.count // 60:02}:{self.count % 60:02}.000Z",
        }  # fmt: skip
        self.last = entry["uuid"]
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
