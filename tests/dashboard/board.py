"""A home with a session, and the dashboard's application over it, asked in this process as a browser would ask, or behind a real server on
loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from pathlib import Path

from starlette.testclient import TestClient

from popkit_retention.dashboard import server
from popkit_retention.dashboard.app import application
from popkit_retention.dashboard.app_state import AppState
from popkit_retention.dashboard.security import Access
from popkit_retention.usage.configured_database import open_store
from popkit_retention.usage.records import CLIENT, RequestUsage, Tokens
from tests.patience import HANG_S, until
from tests.reclaim.shops import SESSION, Shop, worked

PORT = 8000
PLACE = f"http://127.0.0.1:{PORT}"
MOST_BYTES = 64 * 1024


class Board:
    """The server over the home of a Shop, whose clock it goes by. `client` has the token."""

    def __init__(self, folder: Path, page: Path | None = None) -> None:
        self.shop = Shop(folder)
        self.access = Access(PORT, "a-token", "a-second-token", "a-secret")
        self.page = page
        self.environ: dict[str, str] = {}  # beside the shop's
        self.restart()

    def restart(self) -> None:
        """The same home, served anew."""
        self.app_state = AppState({**self.shop.environ(), **self.environ}, lambda: self.shop.at)
        self.app = application(self.app_state, self.access, "1.2.3", *([str(self.page)] if self.page else []))
        self.client = self.visitor(authorization="Bearer a-token")

    def visitor(self, **headers: str) -> TestClient:
        """Somebody who asks with these headers."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        place = f"http://127.0.0.1:{self.access.port}"
        return TestClient(self.app, place, headers=names, raise_server_exceptions=True, follow_redirects=False)

    def worked(self) -> str:
        """A session that has done some work; its id."""
        self.shop.write(worked(str(self.shop.project)))
        return SESSION

    def get(self, path: str, status: int = 200, **params: object) -> dict:
        """What an address answers, which must have this status."""
        answer = self.client.get(path, params=params)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, path: str, body: object, status: int = 200) -> dict:
        """What a change answers, asked for as the page does."""
        headers = {"X-PopKit-Change": self.access.change_token, "Content-Type": "application/json"}
        answer = self.client.post(path, content=json.dumps(body), headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def session(self, id: str = SESSION) -> dict:
        return self.get(f"/api/sessions/{id}")

    def do(self, id: str, status: int = 200, session: str = SESSION) -> dict:
        return self.post(f"/api/sessions/{session}/operations", {"id": id}, status)


def book(
    board: Board, session: str, user: str, ago_s: float = 10.0, tokens: int = 1_000, number: int = 1, usd: float | None = 0.5, **env: str
) -> None:
    """Books a request of somebody's, as a client of theirs does."""
    at, spent = board.shop.at - ago_s, Tokens(input=tokens, output=10)
    used = RequestUsage(CLIENT, f"{session}-{number}", session, user, "claude-opus-5-5", at, spent, usd, "/their/shop")
    with open_store({**board.shop.environ(), **env}) as store:
        store.write([used])


# --- over loopback -----------------------------------------------------------------------------------------------------------------------


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
            received = b""
            try:
                asked.sendall(data)
                if not goes_on:
                    asked.shutdown(socket.SHUT_WR)
                while piece := asked.recv(65_536):
                    received += piece
            except OSError:
                pass  # it has closed
            return received

    def request(self, path: str = "/api/me", method: str = "GET", *headers: str) -> bytes:
        """A request with the token, as bytes."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Authorization: Bearer a-token", *headers, "", ""]
        return "\r\n".join(lines).encode()
