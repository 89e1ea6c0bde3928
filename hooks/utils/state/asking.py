"""Ask a helper at its socket, in HTTP."""

from __future__ import annotations

import time

try:
    import _socket  # `socket` would load `enum` and `selectors`
except ImportError:
    import socket as _socket  # type: ignore[no-redef]  # what a platform has in place of it

_CONNECT_S = 0.01
_CHUNK = 65_536


def takes(path: str) -> bool:
    asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        asking.settimeout(_CONNECT_S)
        asking.connect(path)
    except OSError:
        return False
    finally:
        asking.close()
    return True


def ask(path: str, route: str, body: bytes, limit_s: float) -> bytes:
    """POST a body to a `route` of a socket; return the body of the answer. OSError where none with status 200 comes in `limit_s`."""
    until = time.monotonic() + limit_s
    asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        asking.settimeout(limit_s)
        asking.connect(path)
        asking.sendall(b"POST %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (route.encode(), len(body)) + body)
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
    if head.split(b" ")[1:2] != [b"200"]:
        raise OSError(71, "no answer")
    return rest
