"""The server process, on loopback alone. It is run by an interpreter that has the extra: `python server.py`, with its options as JSON in
its one argument."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
from typing import Any

if __name__ == "__main__":
    _here = os.path.dirname(os.path.abspath(__file__))
    _source = os.path.dirname(os.path.dirname(_here))
    # Not the folder of this file, which Python puts there: its modules have longer names.
    sys.path[:] = [_source, *(path for path in sys.path if os.path.abspath(path) != _here)]

from popkit_retention.core.errors import PopkitError
from popkit_retention.core.io import hook_log
from popkit_retention.dashboard.instance import Instance

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    import uvicorn

    from popkit_retention.dashboard.security import Guard

PORT = 7457
CLOSING_S = 2
HEAD_BYTES = 64 * 1024  # of a request
CONNECTIONS = 500
BACKLOG = 128  # connections at once


def main(words: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Serve; return the exit code."""
    options = json.loads(words[0])
    instance = Instance(environ)
    other = instance.other()
    if other:
        _say(options, other, "The dashboard is already running.", "Press Ctrl-C where it was started to stop it.")
        _show(options, instance, other)
        return 0
    try:
        sockets, note = bound(options.get("port"), bool(options.get("ipv6")))
    except CannotListen as error:
        sys.stderr.write(f"popkit dashboard: {error}\n")
        return 1
    return _serve(options, environ, instance, sockets, note)


class CannotListen(PopkitError):
    """An address cannot be served; the message says which, and what to do."""


def bound(port: int | None, ipv6: bool = False) -> tuple[list[socket.socket], str]:
    """Return (sockets on loopback, a note on the port). None: the usual port, or a free one where that is taken; 0: a free one.
    CannotListen where the chosen port cannot be served."""
    import socket

    note = ""
    usual = PORT if port is None else port
    try:
        first = _socket(socket.AF_INET, "127.0.0.1", usual)
    except OSError as error:
        if port is not None or error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise CannotListen(f"port {usual} cannot be used ({error.strerror}). Give another --port, or omit it") from None
        first = _socket(socket.AF_INET, "127.0.0.1", 0)
        note = f"Port {PORT} is in use, so another one was chosen."
    if not ipv6:
        return [first], note
    chosen = first.getsockname()[1]
    try:
        return [first, _socket(socket.AF_INET6, "::1", chosen)], note
    except OSError as error:
        first.close()
        raise CannotListen(f"[::1]:{chosen} cannot be used ({error.strerror}). Give another --port, or omit --ipv6") from None


def _socket(family: int, host: str, port: int) -> socket.socket:
    import socket

    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def server_of(app: Guard) -> uvicorn.Server:
    """Return the server of an application. It writes no log, which would contain the token."""
    import logging

    import uvicorn

    from popkit_retention.dashboard.connections import Connection

    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    return uvicorn.Server(
        uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="off", ws="none", http=Connection,
            backlog=BACKLOG, timeout_graceful_shutdown=CLOSING_S, timeout_keep_alive=30, limit_concurrency=CONNECTIONS,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
    )  # fmt: skip


def _serve(options: dict[str, Any], environ: Mapping[str, str], instance: Instance, sockets: list[socket.socket], note: str) -> int:
    from popkit_retention.dashboard.app import application
    from popkit_retention.dashboard.app_state import AppState
    from popkit_retention.dashboard.security import Access

    access = Access(sockets[0].getsockname()[1])
    app_state = AppState(environ)
    server = server_of(application(app_state, access, options["version"]))
    instance.record(access.address)
    stopping = threading.Event()
    threading.Thread(target=app_state.warm_up, daemon=True, name="popkit-warm-up").start()
    for job in app_state.jobs():
        threading.Thread(target=job, args=(stopping,), daemon=True, name="popkit-job").start()
    try:
        _say(options, access.address, note)
        # A browser can take seconds to start, or block until it is closed.
        threading.Thread(target=_show, args=(options, instance, access.address), daemon=True, name="popkit-browser").start()
        server.run(sockets)
    except KeyboardInterrupt:
        pass  # uvicorn raises the signal again once it has ended
    finally:
        stopping.set()
        instance.release()
    return 0


def _say(options: dict[str, object], address: str, note: str, end: str = "Press Ctrl-C to stop it.") -> None:
    if options.get("json"):
        line = json.dumps({"address": address, "note": note})
    else:
        line = "\n".join([*([note] if note else []), f"PopKit dashboard: {address}", end])
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _show(options: dict[str, object], instance: Instance, address: str) -> None:
    """Open a browser, unless the user wants none."""
    if options.get("open"):
        import webbrowser

        webbrowser.open(instance.browser_file(address))  # everybody on this machine can read the arguments of a browser's process


def _safely(words: list[str]) -> int:
    """Run `main`; print an error in one line, and log it."""
    try:
        return main(words)
    except KeyboardInterrupt:
        return 0
    except Exception as error:  # noqa: BLE001  the user gets one line, and the log has the rest
        hook_log.log_failure(os.environ, "dashboard", error)
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else type(error).__name__
        sys.stderr.write(f"popkit dashboard: could not start ({reason}). Run popkit doctor for details\n")
        return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(_safely(sys.argv[1:]))
