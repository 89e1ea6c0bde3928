"""A git repository over HTTP on loopback, for installing the plugin as a user does: git's own backend behind a small server."""

from __future__ import annotations

import os
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.listening import Listening


class GitServer(Listening):
    """Serves the bare repositories of a folder; `of(name)` is where to clone one from."""

    def __init__(self, folder: Path):
        super().__init__(_handler_for(folder))

    def of(self, name: str) -> str:
        """Where to clone a repository from."""
        return f"{self.url}/{name}"


def _handler_for(folder: Path) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve(b"")

        def do_POST(self) -> None:
            self._serve(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _serve(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            environ = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "", "REMOTE_ADDR": "127.0.0.1",
            }  # fmt: skip
            done = subprocess.run(["git", "http-backend"], input=body, env=environ, capture_output=True, check=True)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
