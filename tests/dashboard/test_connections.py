"""Connections that say nothing, or too slowly: they are dropped, and keep nobody out who has the token."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress

from tests.dashboard.served import Served
from tests.patience import HANG_S

MANY = 520  # more than the server answers at once


def connected(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=HANG_S)


def ends(connection: socket.socket) -> bytes:
    """What the server says before it closes, which it is waited for."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionError:
        pass
    return found


def status(served: Served) -> bytes:
    return served.raw(served.request("/api/me", "GET", "Connection: close"), goes_on=True)[:12]


def test_connections_that_say_half_a_head_are_dropped_and_keep_nobody_out(served: Served) -> None:
    with ExitStack() as opened:
        idle = [opened.enter_context(connected(served)) for _ in range(MANY)]
        for each in idle:
            with suppress(ConnectionError):  # it had to make room
                each.sendall(b"GET /api/me HTTP/1.1\r\nHost: x\r\nX-More: ")
        assert status(served) == b"HTTP/1.1 200"
        assert [ends(each) for each in idle] == [b""] * MANY
    assert status(served) == b"HTTP/1.1 200"


def test_a_head_that_comes_byte_by_byte_is_cut_off(served: Served) -> None:
    with connected(served) as slow:
        until = time.monotonic() + HANG_S
        try:
            for byte in b"GET / HTTP/1.1\r\nX-Slow: " + b"a" * 100_000:
                assert time.monotonic() < until, "it is listened to for ever"
                slow.sendall(bytes([byte]))
                time.sleep(0.05)
        except ConnectionError:
            return
    raise AssertionError("all of it was taken")


def test_a_second_head_has_no_more_time_than_the_first(served: Served) -> None:
    with connected(served) as slow:
        slow.sendall(served.request("/api/me"))
        assert slow.recv(12) == b"HTTP/1.1 200"
        slow.sendall(b"GET /api/me HTTP/1.1\r\n")
        assert b"HTTP" not in ends(slow)


def test_who_is_refused_keeps_no_connection(served: Served) -> None:
    request = f"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
    with connected(served) as asked:
        asked.sendall(request)
        assert ends(asked).startswith(b"HTTP/1.1 401")


def test_who_is_refused_while_sending_sees_the_answer(served: Served) -> None:
    head = f"POST /api/sessions/s/deeds HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nContent-Length: 60000\r\n\r\n".encode()
    with connected(served) as asked:
        asked.sendall(head)
        time.sleep(0.2)  # so that the server has the head alone
        asked.sendall(b"x" * 30_000)
        time.sleep(0.2)
        asked.sendall(b"x" * 30_000)
        found = b""
        while piece := asked.recv(65_536):
            found += piece
    assert found.startswith(b"HTTP/1.1 401")


def test_bodies_that_never_come_keep_nobody_out(served: Served) -> None:
    head = f"POST /api/sessions/s/deeds HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nContent-Length: 60000\r\n\r\n".encode()
    with ExitStack() as opened:
        idle = [opened.enter_context(connected(served)) for _ in range(MANY)]
        for each in idle:
            with suppress(ConnectionError):  # it had to make room
                each.sendall(head)
        assert status(served) == b"HTTP/1.1 200"
        assert [ends(each) for each in idle] == [b""] * MANY
    assert status(served) == b"HTTP/1.1 200"


def test_connections_that_say_nothing_are_dropped_and_keep_out_neither_the_owner_nor_a_page_that_asks(served: Served) -> None:
    with ExitStack() as opened:
        page = opened.enter_context(connected(served))
        page.sendall(served.request("/api/changes"))
        assert page.recv(65_536).startswith(b"HTTP/1.1 200")
        idle = [opened.enter_context(connected(served)) for _ in range(MANY)]
        assert status(served) == b"HTTP/1.1 200"
        assert [ends(each) for each in idle] == [b""] * MANY
        assert status(served) == b"HTTP/1.1 200"
        page.sendall(served.request("/api/changes", "GET", "Connection: close"))
        assert b"HTTP/1.1 200" in ends(page)
