"""The tools on the standard streams. Nothing else can print there, and the server ends when the client has gone."""

from __future__ import annotations

import os
import select
import signal
import threading

from . import json_rpc
from .server import Server
from .tool_service import Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import NoReturn


_READ_BYTES = 1 << 16
# How long to wait for running tools once no more requests can come: while the client still reads, and while it does not.
_GRACE_S, _HURRY_S = 10.0, 0.5


class _Ended(BaseException):
    """A signal ended the server."""


def serve(environ: Mapping[str, str], version: str) -> None:
    """Serve one client until it closes its end of the streams, or a signal comes."""
    out = _private_output()
    server = Server(Tools(environ), _sender(out), version)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        _read(server)
        done = server.finish(_GRACE_S if _is_read(out) else _HURRY_S)
    except _Ended:
        done = server.finish(_HURRY_S)
    if not done:
        # A tool ignores its cancellation: it works in transactions, and the next process finishes what it began.
        os._exit(0)


def _read(server: Server) -> None:
    lines = json_rpc.Lines()
    while data := _bytes():
        for line in lines.feed(data):
            server.take(line)
    if lines.rest():
        server.take(lines.rest())


def _bytes() -> bytes:
    """Return the bytes that have come in; none at the end."""
    select.select([0], [], [])  # a client may pass us its own end, which does not block
    try:
        return os.read(0, _READ_BYTES)
    except ConnectionResetError:
        return b""


def _private_output() -> int:
    """Return a private descriptor of standard output; from now on what is printed goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def _is_read(out: int) -> bool:
    """Return whether the other end of the output is still open."""
    poll = select.poll()
    poll.register(out, 0)
    return not poll.poll(0)


def _sender(out: int) -> Callable[[object], None]:
    lock = threading.Lock()

    def send(message: object) -> None:
        data = memoryview(json_rpc.encoded(message))
        with lock:
            try:
                while data:
                    select.select([], [out], [])
                    data = data[os.write(out, data) :]
            except (BrokenPipeError, ConnectionResetError):
                os._exit(0)  # the client no longer reads; all work is done in transactions

    return send


def _end(number: int, frame: FrameType | None) -> NoReturn:
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_IGN)  # once is enough
    raise _Ended
