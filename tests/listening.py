"""Servers on loopback for the tests, which end with their `with`: a small one for HTTP, and programs that have to be told their port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.patience import HANG_S, until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self


# Seconds after which a server that nobody calls looks whether it shall end; whoever ends it calls it. Looking many times a second costs a
# run seconds of processor time, as servers mostly wait.
_POLL_S = 10.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of five callers at once a busy machine lets some wait for seconds

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that has gone away is no failure of the server's."""


class Listening:
    """Answers each request in a thread of its own, at a free port of 127.0.0.1, by a handler, which logs nothing."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        quiet = type(handler.__name__, (handler,), {"log_message": lambda *_: None})
        self._server = _Server(("127.0.0.1", 0), quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": _POLL_S}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        ending = threading.Thread(target=self._server.shutdown)
        ending.start()
        while ending.is_alive():
            with suppress(OSError):  # it may have ended meanwhile
                socket.create_connection(self._server.server_address, HANG_S).close()
            ending.join(0.01)
        self._server.server_close()
        self._thread.join(HANG_S)

    @property
    def url(self) -> str:
        """Where it answers, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"


# So often is another port tried.
_TRIES = 5


@contextmanager
def on_a_free_port(start: Callable[[int], Any], is_up: Callable[[int], bool], log: Path) -> Iterator[int]:
    """The port of a program that `start` starts. Who else looks for a free port may take this one meanwhile: then the program ends, and is
    started on another."""
    for _ in range(_TRIES):
        port = free_port()
        process = start(port)
        try:
            until(lambda: process.poll() is not None or is_up(port), "the server to answer")  # noqa: B023  it is called here
            if process.poll() is None:
                yield port
                return
        finally:
            if process.stdin:
                process.stdin.close()
            else:
                process.terminate()
            process.wait(HANG_S)
    raise AssertionError(log.read_text(errors="replace")[-3_000:])


def free_port() -> int:
    """A port of 127.0.0.1 at which nobody listens now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
