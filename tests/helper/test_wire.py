"""What is read and written over the helper's socket, byte for byte."""

from __future__ import annotations

import http.client
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.helper.wire import Handler
from tests.paths import ROOT
from tests.patience import HANG_S

MOST = 200_000


class Echo(Handler):
    """Answers with the path, the header of ours and what came."""

    def handle(self) -> None:
        while self.begins():
            self.reply(*self.answer())

    def answer(self) -> tuple[bytes, bytes]:
        try:
            body = self.body(MOST)
        except OSError as error:
            return f"{error.strerror}".encode(), b""
        return b"|".join([self.path.encode(), self.headers.get("popkit-at-once", "").encode(), body]), b"Popkit-Goes-On: 1\r\n"


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[socket.socket]:
    with Server(str(tmp_path / "s"), Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(HANG_S)
            connection.connect(str(tmp_path / "s"))
            yield connection
        server.shutdown()


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """(the status, the body) of the next answer."""
    with http.client.HTTPResponse(connection) as response:
        response.begin()
        return response.status, response.read()


def is_closed(connection: socket.socket) -> bool:
    return connection.recv(1) == b""


def test_a_connection_takes_one_request_after_another(connected: socket.socket):
    for path, body in (("/row", b"one"), ("/late?7", b""), ("/row", b"\0\r\n\r\n")):
        connected.sendall(b"POST %s HTTP/1.1\r\nHost: popkit\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
        assert answer(connected) == (200, b"%s||%s" % (path.encode(), body))


def test_requests_that_come_together_are_answered_in_turn(connected: socket.socket):
    connected.sendall(b"POST /1 HTTP/1.1\r\nContent-Length: 1\r\n\r\naPOST /2 HTTP/1.1\r\nConnection: close\r\n\r\n")
    everything = b""
    while chunk := connected.recv(1000):
        everything += chunk
    assert (everything.count(b"HTTP/1.1 200 OK\r\n"), everything.index(b"/1||a") < everything.index(b"/2||")) == (2, True)


def test_headers_have_their_names_in_any_case(connected: socket.socket):
    connected.sendall(b"POST /row HTTP/1.1\r\nCONTENT-LENGTH:2\r\npopkit-AT-once:  5 \r\n\r\nab")
    assert answer(connected) == (200, b"/row|5|ab")


@pytest.mark.parametrize("head", [b"HTTP/1.0\r\n\r\n", b"HTTP/1.1\r\nConnection: Close\r\n\r\n"])
def test_who_wants_one_answer_has_the_connection_closed_behind_it(connected: socket.socket, head: bytes):
    connected.sendall(b"POST /row " + head)
    assert answer(connected) == (200, b"/row||")
    assert is_closed(connected)


@pytest.mark.parametrize("length", [b"-1", b"200001", b"many", b"1.5", b"9" * 5_000])
def test_a_body_of_another_size_is_not_read_and_no_request_follows(connected: socket.socket, length: bytes):
    connected.sendall(b"POST /row HTTP/1.1\r\nContent-Length: " + length + b"\r\n\r\n")
    status, body = answer(connected)
    assert (status, body.startswith(b"a request of this size is not read")) == (200, True)
    assert is_closed(connected)


@pytest.mark.parametrize("asked", [b"GET / HTTP/1.1", b"POST /row", b"\xff\xfe", b"POST / x HTTP/1.1"])
def test_anything_but_a_post_is_refused(connected: socket.socket, asked: bytes):
    connected.sendall(asked + b"\r\n\r\n")
    assert answer(connected) == (501, b"")
    assert is_closed(connected)


@pytest.mark.parametrize("size", [65_536, 65_537, MOST - 10])
def test_an_answer_of_any_length_arrives_whole(connected: socket.socket, size: int):
    body = b"x" * size
    connected.sendall(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (size, body))
    assert answer(connected) == (200, b"/||" + body)


def test_the_helper_starts_without_what_only_a_look_needs():
    """`http` brings e-mail and TLS, a look the views and every host's recordings: the first result would wait for them, and each session
    would hold them."""
    asked = "import sys; import popkit_retention.core.helper; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", asked], cwd=ROOT / "power-mode", capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {"popkit_retention.core." + name for name in ("helper.pane", "helper.drawing", "views.panel", "hosts.recordings")}
    assert {"http.server", "http.client", "email", "ssl", "html", "dataclasses", "typing", *ours}.isdisjoint(loaded)
