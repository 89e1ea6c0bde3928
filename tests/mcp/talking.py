"""The two ends of a connection: a server in this process with tools of its own, and `popkit mcp` as a client starts it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popkit_retention.mcp.revisions import Dialect
from popkit_retention.mcp.server import Progress, Server
from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[2]
NEWEST = "2025-11-25"
STATELESS = "2026-07-28"
COMMAND = [sys.executable, "-X", "utf8", "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "mcp"]


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def notice(method: str, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def hello(version: str = NEWEST, id: object = 0) -> dict[str, Any]:
    return request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}, id)


def tool_call(name: str, arguments: object = None, id: object = 1, **meta: object) -> dict[str, Any]:
    params = {"name": name, **({} if arguments is None else {"arguments": arguments}), **({"_meta": meta} if meta else {})}
    return request("tools/call", params, id)


def enveloped(message: dict[str, Any], version: object = STATELESS, **more: object) -> dict[str, Any]:
    """The same, as 2026-07-28 has it."""
    key = "io.modelcontextprotocol/"
    meta = {key + "protocolVersion": version, key + "clientCapabilities": {}, **more}
    return {**message, "params": {**message.get("params", {}), "_meta": meta}}


class Bench:
    """Tools that tests steer: `echo` gives its arguments back, `wait` runs until it is let go, telling how far it is."""

    instructions = "For tests."

    def __init__(self) -> None:
        self.started, self.go_on = threading.Event(), threading.Event()
        self.steps = 0

    def listed(self, dialect: Dialect) -> list[dict[str, Any]]:
        return [{"name": "echo", "inputSchema": {"type": "object"}}]

    def knows(self, name: str) -> bool:
        return name in ("echo", "wait")

    def call(self, name: str, arguments: dict[str, Any], dialect: Dialect, progress: Progress) -> dict[str, Any]:
        if name == "wait":
            self.started.set()
            while not self.go_on.wait(0.005):
                self.steps += 1
                progress(self.steps, 1_000_000)
        return {"content": [{"type": "text", "text": json.dumps(arguments)}]}


class Session:
    """A server in this process; what it sends is in `sent`."""

    def __init__(self, toolbox: Any = None, version: str | None = NEWEST) -> None:
        self.toolbox = toolbox or Bench()
        self.sent: list[Any] = []
        self.server = Server(self.toolbox, self.sent.append, "1.2.3")
        if version:
            self.answer(hello(version))

    def feed(self, *messages: object) -> None:
        """What each message is answered with comes when it comes."""
        for message in messages:
            self.server.take(message if isinstance(message, bytes) else json.dumps(message).encode())

    def begin(self, id: object = 1) -> None:
        """Lets a tool run, which waits."""
        self.feed(tool_call("wait", id=id))
        self.toolbox.started.wait()

    def let_end(self) -> None:
        """Lets the tool that waits end."""
        self.toolbox.go_on.set()
        assert self.server.finish(HANG_S)

    def answers(self, *messages: object) -> list[Any]:
        """What these messages are answered with, once all is done."""
        before = len(self.sent)
        self.feed(*messages)
        assert self.server.finish(HANG_S)
        return self.sent[before:]

    def answer(self, message: object) -> Any:
        """The one answer to a message."""
        (response,) = self.answers(message)
        return response

    def result(self, message: object) -> dict[str, Any]:
        return self.answer(message)["result"]

    def error(self, message: object) -> tuple[int, str]:
        response = self.answer(message)
        return response["error"]["code"], response["error"]["message"]


class Program:
    """`popkit mcp` in a folder, as a client starts it; what it prints is read line by line."""

    def __init__(self, folder: Path, environ: dict[str, str], command: list[str] | None = None) -> None:
        self.process = subprocess.Popen(
            command or COMMAND,
            cwd=folder, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=lambda: [*map(self._lines.put, self.process.stdout), self._lines.put(b"")], daemon=True)
        self._reader.start()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(HANG_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, *messages: object) -> None:
        self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def hear(self) -> Any:
        """The next line that it prints, read as JSON; None when there are no more."""
        line = self._lines.get(timeout=HANG_S)
        return json.loads(line) if line else None

    def ask(self, message: object) -> Any:
        self.say(message)
        return self.hear()

    def call(self, name: str, arguments: object = None) -> Any:
        """The result of a tool."""
        return self.ask(tool_call(name, arguments or {}))["result"]

    def end(self, how: Callable[[], object] | None = None) -> tuple[int, str]:
        """Ends it, by closing its input unless told otherwise; its exit code, and what it said on standard error."""
        (how or self.process.stdin.close)()
        code = self.process.wait(HANG_S)
        return code, self.process.stderr.read().decode()


def environ_of(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": str(home), "POPKIT_HOME": str(home / "popkit"), "CLAUDE_CONFIG_DIR": str(home / "claude"), **more}
