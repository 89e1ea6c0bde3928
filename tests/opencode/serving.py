"""The real OpenCode as a server, and what its own clients ask of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from tests.listening import free_port
from tests.patience import HANG_S

from .client import MODELS, OpenCodeHome

if TYPE_CHECKING:
    from typing_extensions import Self


class Serving:
    """`opencode serve` with one session; use it as a context manager."""

    def __init__(self, home: OpenCodeHome) -> None:
        self.home = home
        self.port = free_port()
        provider, _, model = MODELS[home.provider].partition("/")
        self.model = {"providerID": provider, "modelID": model}
        self.session = ""

    def __enter__(self) -> Self:
        command = [str(self.home.program), "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, cwd=self.home.work, env=self.home.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        while b"listening" not in self.process.stdout.readline():
            assert self.process.poll() is None, "opencode serve has ended"
        self.session = self.ask("POST", "/session", {})["id"]
        return self

    def __exit__(self, *_exc: object) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.communicate(timeout=HANG_S)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer to a request; HTTPError where it is refused."""
        data = None if body is None else json.dumps(body).encode()
        url, headers = f"http://127.0.0.1:{self.port}{path}", {"content-type": "application/json"}
        asked = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(asked, timeout=HANG_S) as answer:  # noqa: S310  our own address
            text = answer.read()
        return json.loads(text) if text else None

    def say(self, text: str) -> dict[str, Any]:
        """A prompt, and the answer that ends its turn."""
        return self.ask("POST", f"/session/{self.session}/message", {"model": self.model, "parts": [{"type": "text", "text": text}]})

    def compact(self) -> None:
        self.ask("POST", f"/session/{self.session}/summarize", self.model)

    def take_back(self) -> None:
        """Take back the last prompt and all behind it, as `/undo` does."""
        prompts = [message["info"]["id"] for message in self.messages() if message["info"]["role"] == "user"]
        self.ask("POST", f"/session/{self.session}/revert", {"messageID": prompts[-1]})

    def command(self, name: str, words: str) -> int:
        """The status with which a command of the session ends."""
        try:
            self.ask("POST", f"/session/{self.session}/command", {"command": name, "arguments": words})
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def messages(self) -> list[dict[str, Any]]:
        return self.ask("GET", f"/session/{self.session}/message")
