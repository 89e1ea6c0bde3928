"""One question over a Unix socket, as HTTP. The built-in `_socket`, because `socket` brings `enum` and `selectors` with it."""

from __future__ import annotations

import time

try:
    import _socket as sockets
except ImportError:
    import socket as sockets  # type: ignore[no-redef]  # what a platform has in place of it

_CHUNK = 1 << 16


def ask(path: str, what: str, body: bytes, limit_s: float) -> bytes:
    """The body of the answer to a POST of `what`, within so many seconds in all. OSError where nobody answers, or not with 200."""
    until = time.monotonic() + limit_s
    asking = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        asking.settimeout(limit_s)
        asking.connect(path)
        asking.sendall(b"POST %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (what.encode(), len(body)) + body)
        answer = b""
        while True:
            asking.settimeout(max(0.001, until - time.monotonic()))
            chunk = asking.recv(_CHUNK)
            if not chunk:
                break
            answer += chunk
    finally:
        asking.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise OSError(71, "no answer")
    return rest
