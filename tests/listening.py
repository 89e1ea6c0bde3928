"""A small HTTP server on loopback for the tests, which answers each request in a thread of its own and ends with its `with`."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.patience import HANG_S

if TYPE_CHECKING:
    from typing_extensions import Self


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that has gone away is no failure of the server's."""


class Listening:
    """Answers at a free port of 127.0.0.1 by a handler, which logs nothing."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        quiet = type(handler.__name__, (handler,), {"log_message": lambda *_: None})
        self._server = _Server(("127.0.0.1", 0), quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(HANG_S)

    @property
    def url(self) -> str:
        """Where it answers, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"
