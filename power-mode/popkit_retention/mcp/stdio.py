"""Serve on standard input and output. Nothing else can print there, and the server ends when the client has gone."""

from __future__ import annotations

import os
import select
import signal
from typing import TYPE_CHECKING

from . import rpc
from .server import Server
from .tool_table import Tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import NoReturn

_READ_BYTES = 1 << 16
# For so long answers that are under way are waited for when no more questions come, as long as somebody reads them; and once more until a
# tool has heard that it is over.
_GRACE_S, _HURRY_S = 10.0, 0.5


class _Ended(BaseException):
    """Somebody ended the server by a signal."""


def serve(environ: Mapping[str, str], version: str) -> None:
    """Serve one client until its end of the streams is closed, or a signal comes."""
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
        # A tool that hears nothing: what it does is done in transactions, and finished by whoever comes next.
        os._exit(0)


def _read(server: Server) -> None:
    lines = rpc.Lines()
    while data := _bytes():
        for line in lines.feed(data):
            server.take(line)
    if lines.rest():
        server.take(lines.rest())


def _bytes() -> bytes:
    """Return what has come in; nothing at the end."""
    select.select([0], [], [])  # a client may hand us its own end, which does not wait
    try:
        return os.read(0, _READ_BYTES)
    except ConnectionResetError:
        return b""


def _private_output() -> int:
    """Return a descriptor of standard output that nobody else knows; what is printed goes where errors go."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def _is_read(out: int) -> bool:
    """Return whether the other end of the output is still open."""
    poll = select.poll()
    poll.register(out, 0)
    return not poll.poll(0)


def _sender(out: int) -> Callable[[object], None]:
    import threading

    lock = threading.Lock()

    def send(message: object) -> None:
        data = memoryview(rpc.encoded(message))
        with lock:
            try:
                while data:
                    select.select([], [out], [])
                    data = data[os.write(out, data) :]
            except (BrokenPipeError, ConnectionResetError):
                os._exit(0)  # nobody reads any more; all that was done has been done in transactions

    return send


def _end(number: int, frame: FrameType | None) -> NoReturn:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # once is enough
    raise _Ended
