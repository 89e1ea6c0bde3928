"""A board behind a real server on loopback."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

from popkit_retention.dashboard import server
from popkit_retention.dashboard.security import Access
from tests.dashboard.board import Board
from tests.patience import HANG_S, until


class Served(Board):
    """A Board that is served, until `end`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sockets, _ = server.bound(0)
        self.port = self.sockets[0].getsockname()[1]
        self.access = Access(self.port, "a-token", "a-second-token", "a-secret")
        self.restart()
        self.server = server.server_of(self.app)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        until(lambda: self.server.started, "the server")

    def _run(self) -> None:
        asyncio.run(self.server.serve(self.sockets))

    def end(self) -> None:
        """As a signal does it."""
        self.server.handle_exit(2, None)
        self.thread.join(HANG_S)

    def close(self) -> None:
        """Lets go of everything, at the end of a test."""
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
