"""What no client would send is answered in a line, or the connection is closed, and the server goes on. The OpenAPI document is true:
schemathesis asks the real server whatever it allows, and what it does not."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.memory.place import Place
from tests.dashboard.board import Served
from tests.patience import HANG_S

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
SEED = 20260105


def _statuses(answer: bytes) -> list[int]:
    return [int(status) for status in _STATUS.findall(answer)]


def _assert_sound(served: Served, answer: bytes, sent: bytes) -> None:
    assert not [status for status in _statuses(answer) if status >= 500], (sent, answer)
    for trace in (b"Traceback", b'File "', b".py", b"root:x:"):
        assert trace not in answer, (sent, answer)
    assert served.app_state.failed == 0, sent
    assert _statuses(served.raw(served.request("/api/me", "GET", "Connection: close"), goes_on=True)) == [200], "it goes on serving"


def _head(served: Served, line: bytes, *headers: bytes) -> bytes:
    host = b"Host: 127.0.0.1:" + str(served.port).encode()
    return b"\r\n".join((line, host, b"Authorization: Bearer a-token", *headers, b"Connection: close", b"", b""))


@pytest.mark.parametrize(
    "line",
    [
        b"GET /../../../../etc/passwd HTTP/1.1",
        b"GET /..%2f..%2f..%2fetc%2fpasswd HTTP/1.1",
        b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1",
        b"GET /api/sessions/..%2f..%2f..%2f..%2fetc%2fpasswd HTTP/1.1",
        b"GET /api/sessions/%2Fetc%2Fpasswd/series HTTP/1.1",
        b"GET /api/sessions/%00/content/%00 HTTP/1.1",
        b"GET /api/sessions/%ff%fe%c0%af HTTP/1.1",
        b"GET /api/sessions/\xff\xfe HTTP/1.1",
        b"GET /api/sessions?q=%ff%00%0d%0aSet-Cookie:x HTTP/1.1",
        b"GET /api/sessions?limit=99999999999999999999999999 HTTP/1.1",
        b"GET /api/sessions?limit=1&limit=2&offset=-1 HTTP/1.1",
        b"GET /api/memory?project=..%2f..%2f&tier=HOT HTTP/1.1",
        b"GET /?token=%00%ff HTTP/1.1",
        b"GET http://evil.example/api/me HTTP/1.1",
        b"GET //evil.example/%2f.. HTTP/1.1",
        b"GET * HTTP/1.1",
        b"CONNECT evil.example:443 HTTP/1.1",
        b"GET /api/me HTTP/0.9",
        b"GET /api/me HTTP/9.9",
        b"get /api/me http/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"PRI * HTTP/2.0",
        b"",
        b"GET",
    ],
)
def test_a_strange_line_is_answered_soundly(served: Served, line: bytes) -> None:
    sent = _head(served, line)
    _assert_sound(served, served.raw(sent, goes_on=False), sent)


@pytest.mark.parametrize(
    "headers",
    [
        [b"X: " + b"a" * 100_000],
        [b"X-%d: %s" % (number, b"a" * 100) for number in range(2_000)],
        [b"Cookie: " + b"popkit-0=x; " * 3_000],
        [b'Cookie: popkit="\\\\\\"; =; ;;; \xff\xfe'],
        [b"Authorization: Bearer " + b"a" * 60_000],
        [b"Authorization: Bearer \xff\xfe"],
        [b"Host: evil.example"],
        [b"Content-Length: -1"],
        [b"Content-Length: 99999999999999999999"],
        [b"Content-Length: 5", b"Content-Length: 6"],
        [b"Transfer-Encoding: chunked", b"Content-Length: 3"],
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Key: x", b"Sec-WebSocket-Version: 13"],
        [b"Expect: 100-continue"],
        [b"Range: bytes=0-99999999999,-1,5-2"],
        [b"If-None-Match: \xff", b"If-Modified-Since: never"],
        [b"X: a\r\n b"],
        [b"X\x00: y"],
        [b": empty"],
        [b"no colon"],
    ],
)
def test_strange_headers_are_answered_soundly(served: Served, headers: list[bytes]) -> None:
    for line in (b"GET /api/me HTTP/1.1", b"POST /api/retention/operations HTTP/1.1"):
        sent = _head(served, line, *headers)
        _assert_sound(served, served.raw(sent), sent)


@pytest.mark.parametrize("body", [b"5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"zz\r\n", b"5\r\nhel"])
def test_strange_chunks_are_answered_soundly(served: Served, body: bytes) -> None:
    change = (b"X-PopKit-Change: a-second-token", b"Content-Type: application/json", b"Transfer-Encoding: chunked")
    sent = _head(served, b"POST /api/retention/operations HTTP/1.1", *change) + body
    _assert_sound(served, served.raw(sent), sent)


def test_bytes_at_random_harm_nobody(served: Served, count) -> None:
    chance = random.Random(SEED)
    whole = _head(
        served, b"POST /api/sessions/x/operations HTTP/1.1", b"X-PopKit-Change: a-second-token", b"Content-Type: application/json"
    )
    for _ in range(count(100, 5_000)):
        sent = bytearray(whole + b'{"id": "clear"}')
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(sent))
            sent[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 4))
        answer = served.raw(bytes(sent))
        assert not [status for status in _statuses(answer) if status >= 500], (bytes(sent), answer)
        assert b"Traceback" not in answer
    _assert_sound(served, b"", b"")


# --- the document ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Served]:
    """A page of a home in which a session has cleared something, a memory is stored and a hold is set."""
    served = Served(tmp_path)
    id = served.worked()
    served.do("clear")
    served.post("/api/retention/operations", {"id": "hold", "session": id, "why": "audit"})
    with Place(served.shop.environ(), str(served.shop.project)) as place:
        place.project.turn_on(served.shop.at)
        place.memory.add("Run the tests with make check.")
    yield served
    served.close()


@pytest.mark.skipif(sys.version_info < (3, 10), reason="schemathesis needs Python 3.10")
def test_schemathesis_finds_nothing(full: Served, count, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    tokens = (f"Authorization:Bearer {full.access.token}", f"X-PopKit-Change:{full.access.change_token}")
    command = [
        str(Path(sys.prefix) / "bin" / "schemathesis"), "run", f"http://127.0.0.1:{full.port}/api/openapi.json", "--checks", "all",
        "--phases", "examples,coverage,fuzzing,stateful", "--mode", "all", "--max-examples", str(count(4, 300)), "--seed", str(SEED),
        "--no-color", "--warnings", "off", "--continue-on-failure",
        "--request-timeout", "60", "-H", tokens[0], "-H", tokens[1],
    ]  # fmt: skip
    environ, patience_s = {"PATH": os.defpath, "HOME": str(tmp_path)}, HANG_S * count(1, 10)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience_s, cwd=tmp_path, env=environ)
    with capsys.disabled():
        print("\nschemathesis:", re.sub(r"\s+", " ", done.stdout.partition(" SUMMARY ")[2].strip("= \n")))
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert full.app_state.failed == 0
    assert not (full.shop.home / "hooks.log").exists()
