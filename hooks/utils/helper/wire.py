"""Serve a connection to the helper: as much of HTTP/1.1 as its callers speak.

Why not by Python's own server: docs/decisions/door/helper-reads-http.md.
"""

from __future__ import annotations

import socketserver

_LINE_BYTES, _MOST_DIGITS = 65_536, 18
_TOGETHER = 65_536  # bytes of an answer up to which it is sent with its head


class Handler(socketserver.StreamRequestHandler):
    """A connection. Of the request that is being answered: its `path`, its `headers` (names in small letters), and whether the connection
    `stays` for another one."""

    disable_nagle_algorithm = False  # there is none on a Unix socket
    path: str
    headers: dict[str, str]
    stays = True

    def body(self, most: int) -> bytes:
        """Return the body of the request. OSError where it has more bytes than `most`, or an unknown number: no request can follow."""
        length = self.headers.get("content-length") or "0"
        if not (length.isdecimal() and len(length) <= _MOST_DIGITS and int(length) <= most):
            self.stays = False
            raise OSError(27, f"a request of this size is not read: {length[:20]}")
        return self.rfile.read(int(length))

    def reply(self, data: bytes, extra: bytes = b"") -> None:
        """Write an answer in JSON. `extra`: more headers, each with its end of line."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" % (len(data), extra)
        if len(data) <= _TOGETHER:
            self.wfile.write(head + data)
        else:
            self.wfile.write(head)
            self.wfile.write(data)

    def begins(self) -> bool:
        """Read the line and the headers of the next request; return whether there is one to be answered."""
        words = self._line().split() if self.stays else []
        if not words:
            return False
        lines = list(iter(self._line, ""))
        self.headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(words) != 3 or words[0] != "POST":
            self.wfile.write(b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return False
        self.path = words[1]
        self.stays = words[2] == "HTTP/1.1" and self.headers.get("connection", "").lower() != "close"
        return True

    def _line(self) -> str:
        """Return a line without its end; "" for an empty one, and where nothing more comes."""
        return self.rfile.readline(_LINE_BYTES).decode("latin-1").strip()
