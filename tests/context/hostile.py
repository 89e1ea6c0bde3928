"""Callers with names that nobody should have, and a way to a server that can fall silent."""

from __future__ import annotations

import contextlib
import socket
import threading

HOSTILE = {
    "a NUL": "dana\0root",
    "quotes": "da'na\"`; --",
    "SQL": "x'); DROP TABLE context_snapshots; DROP TABLE context_usage; --",
    "a format": "%s %(user)s {0} :user ?1 $1",
    "lines": "dana\r\n\r\nSet-Cookie: a=b\n",
    "a path": "../../../../etc/passwd",
    "escapes": "\x1b]0;title\x07\x1b[2J\u202egnp.exe",
    "half a surrogate": "dana\ud800",
    "a megabyte": "d" * 1_000_000,
    "many bytes": "\U0001f9ea" * 20_000,
    "blank": " \t ",
    "one letter": "\u0130",
}


class Way:
    """A way to a server that can be made silent: what goes over it is swallowed, and no connection ends. `to`: a port, 0 for nobody."""

    def __init__(self, to: int = 0) -> None:
        self.to = to
        self.speaks = threading.Event()
        self.speaks.set()
        self.sockets: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                self.sockets.append(here)
                if self.to and self.speaks.is_set():
                    there = socket.create_connection(("127.0.0.1", self.to))
                    self.sockets.append(there)
                    for pair in ((here, there), (there, here)):
                        threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not self.speaks.is_set():
                    return  # for good: half open
                sink.sendall(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes whoever accepts, who may have one more socket
        self._accepting.join()
        for each in (self.listener, *self.sockets):
            each.close()
