"""A board behind a real server on loopback, and pages that listen to it over sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from pathlib import Path

from popkit_retention.dashboard import serving
from popkit_retention.dashboard.security import Access
from tests.dashboard.board import Board
from tests.patience import HANG_S, until


class Served(Board):
    """A Board that is served, until `end`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sockets, _ = serving.bound(0)
        self.port = self.sockets[0].getsockname()[1]
        self.access = Access(self.port, "a-token", "a-second-token", "a-secret")
        self.restart()
        self.server = serving.server_of(self.application)
        self.pages: list[Page] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        until(lambda: self.server.started, "the server")

    def _run(self) -> None:
        async def serve() -> None:
            self.loop = asyncio.get_running_loop()
            await self.server.serve(self.sockets)

        asyncio.run(serve())

    def end(self) -> None:
        """As a signal does it."""
        self.server.handle_exit(2, None)
        self.thread.join(HANG_S)

    def close(self) -> None:
        """Lets go of everything, at the end of a test."""
        for page in self.pages:
            page.close()
        self.end()
        for each in self.sockets:
            each.close()

    def raw(self, data: bytes, goes_on: bool = False) -> bytes:
        """What the server answers to these bytes before it closes. Without `goes_on` there will be no more of them."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S) as asked:
            found = b""
            try:
                asked.sendall(data)
                if not goes_on:
                    asked.shutdown(socket.SHUT_WR)
                while piece := asked.recv(65_536):
                    found += piece
            except OSError:
                pass  # it has closed
            return found

    def request(self, path: str = "/api/me", method: str = "GET", *headers: str) -> bytes:
        """A request with the token, as bytes."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Authorization: Bearer a-token", *headers, "", ""]
        return "\r\n".join(lines).encode()


class Page:
    """A page that listens."""

    def __init__(self, served: Served, buffer: int = 0) -> None:
        self.socket = socket.socket()
        served.pages.append(self)
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect(("127.0.0.1", served.port))
        self.socket.settimeout(HANG_S)
        self.socket.sendall(served.request("/api/events"))
        self._read = b""

    def events(self, kind: str) -> list[dict]:
        """Waits for the next event of a kind; all that came up to it."""
        found: list[dict] = []
        until_s = time.monotonic() + HANG_S
        while not found or found[-1]["type"] != kind:
            assert time.monotonic() < until_s, f"waited in vain for {kind}: {found}"  # there are heartbeats
            line = self._line()
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
        return found

    def _line(self) -> bytes:
        while b"\n" not in self._read:
            piece = self.socket.recv(65_536)
            assert piece, "the stream has ended"
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        return line.strip()

    def ends(self) -> bool:
        """Waits for the end of the stream."""
        while True:
            try:
                piece = self.socket.recv(65_536)
            except ConnectionError:
                return True
            if not piece:
                return True
            self._read += piece

    def close(self) -> None:
        self.socket.close()
