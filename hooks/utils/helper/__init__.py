"""The resident helper: one process per session, which the mod (hooks/register.ts) asks about every result before it enters the context.

It starts with `popkit serve`, answers over a socket that only the user can open, HTTP with one thread for each request, and goes with the
session. What is longer than the client hands over at once comes and goes in parts: PART adds to the request of the same id, behind a `?`,
REST fetches what is left of its answer. A guest like the hooks: what it cannot do it answers with {}, and whatever happens to it, the row
goes on as it came.
"""

from __future__ import annotations

import gc
import json  # noqa: TID253  no hook loads the helper
import os
import signal
import socketserver
import sys
import threading
import time

from ..hosts import is_guest
from ..io import home, hook_log
from ..state import sockets
from ..state.site import Site
from . import routes
from .guest import transcript_of
from .parts import MOST_BYTES, Parts
from .served_session import Session
from .wire import Handler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL = 1
PART, REST = "/part", "/rest"
# Headers: the bytes that the client takes of an answer at once, and that there are more.
_AT_ONCE, _GOES_ON = "popkit-at-once", b"Popkit-Goes-On: 1\r\n"
_PARENT_POLL_S = 2.0
_STARTS = 5
# Allocations until Python looks for circles. What a session shows is many small objects that live as long as it does: looked through as
# often as Python would, they take a fifth of the time of an answer to a compaction.
_COLLECT = (100_000, 50, 50)
_as_json = json.JSONEncoder(check_circular=False).encode  # made once: an answer is no circle
_SWITCH_S = 0.0005  # what is put off must not keep an answer


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64
    session: Session
    parts: Parts

    def handle_error(self, _request: object, _address: object) -> None:
        """Ignore a client that went away before it was answered."""


class _Handler(Handler):
    server: _Server

    def handle(self) -> None:
        while self.begins():
            self._handle_request()

    def _handle_request(self) -> None:
        session, parts = self.server.session, self.server.parts
        path, _, id = self.path.partition("?")
        answer: Mapping[str, object] = {}
        rest = b""
        try:
            body = self.body(MOST_BYTES)
            if path == PART:
                parts.add(id, body)
            elif path == REST:
                rest = parts.take(id)
            elif path in routes.ROUTES:
                request = json.loads(parts.take(id) + body or b"{}")
                if isinstance(request, dict):
                    answer = routes.answer(session, path, request)
        except Exception as error:  # noqa: BLE001  fail open: the row goes on as it came
            hook_log.log_failure(session.environ, "serve " + path[:20], error)
            answer = {}
        try:
            self._answer(rest or _as_json(answer).encode("ascii"), id)  # a lone surrogate as its escape
        finally:
            if path == "/end":  # once it is answered, or its client has gone: the process ends with it
                threading.Thread(target=self.server.shutdown, daemon=True).start()

    def _answer(self, data: bytes, id: str) -> None:
        most = int(self.headers.get(_AT_ONCE) or len(data))
        data, rest = data[:most], data[most:]
        if rest:
            self.server.parts.add(id, rest)
        self.reply(data, _GOES_ON if rest else b"")


def serve(environ: Mapping[str, str], session_id: str, transcript_path: str, cwd: str, version: str) -> None:
    """Serve one session until its client has gone, or asks for the end. Prints where it listens, as one line of JSON, with `compact` where
    a compaction is to be started."""
    gc.set_threshold(*_COLLECT)
    sys.setswitchinterval(_SWITCH_S)
    if is_guest(session_id):
        transcript_path = transcript_of(home.popkit_home(environ), cwd, session_id)
    path, server = _listening(environ, session_id)
    client = os.getppid()
    try:
        server.parts = Parts()
        server.session = Session(environ, session_id, transcript_path, cwd, version)
        threading.Thread(target=_watch_parent, args=(server, client), daemon=True).start()
        due = {"compact": True} if server.session.compactions.begin() else {}
        sys.stdout.write(json.dumps({"socket": path, "protocol": PROTOCOL, **due}) + "\n")
        sys.stdout.flush()
        for ending in (signal.SIGTERM, signal.SIGHUP):  # of the client, of its terminal
            signal.signal(ending, lambda *_: sys.exit(0))
        server.serve_forever(poll_interval=0.2)
        server.session.end()
    finally:
        server.server_close()
        if os.getppid() != client:  # else the session may go on with another helper, and its end is told to a hook
            Site(environ, session_id, cwd).end_in_memory()
        sockets.close(environ, session_id, path)


def join(environ: Mapping[str, str], session_id: str) -> None:
    """Print where the newest helper of a session listens, as serve does; {} where none runs."""
    path = next(iter(sockets.of_session(home.popkit_home(environ), session_id)), None)
    sys.stdout.write(json.dumps({"socket": path, "protocol": PROTOCOL} if path else {}) + "\n")


def _listening(environ: Mapping[str, str], session_id: str, tries: int = _STARTS) -> tuple[str, _Server]:
    """Return (path, server) of a new socket."""
    path = sockets.free_path(environ, session_id)
    before = os.umask(0o177)
    try:
        return path, _Server(path, _Handler)
    except FileNotFoundError:  # another helper has just ended and taken the empty folder along
        if tries == 1:
            raise
    finally:
        os.umask(before)
    return _listening(environ, session_id, tries - 1)


def _watch_parent(server: _Server, parent: int) -> None:
    """End the server when the client has gone, which nothing else would do."""
    while os.getppid() == parent and _is_read(sys.stdout.fileno()):
        time.sleep(_PARENT_POLL_S)
    server.shutdown()


def _is_read(fd: int) -> bool:
    """Return whether another process still holds the other end of our standard output."""
    import select

    poll = select.poll()
    poll.register(fd, 0)  # a pipe whose reader has gone reports an error unasked
    return not any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))
