"""Who gets an answer: loopback, this start's token, our own pages; what every answer carries; and that connections which say nothing, or
too slowly, are dropped and keep nobody out who has the token."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.dashboard.board import MOST_BYTES, PLACE, PORT, Board, Served
from tests.patience import HANG_S
from tests.reclaim.shops import SESSION

CHANGE = {"X-PopKit-Change": "a-second-token"}
OUR_PAGE = {"sec_fetch_site": "same-origin"}
PATHS = ["/", "/app.js", "/tiles/memory.js", "/api/me", "/api/sessions", "/api/openapi.json", "/api/changes", "/api/nothing"]


def _served(folder: Path) -> Board:
    page = folder / "page"
    page.mkdir()
    (page / "index.html").write_text("<!doctype html><title>PopKit</title>")
    (page / "app.js").write_text("export {};")
    return Board(folder, page)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """For those who are refused, or only ask."""
    return _served(tmp_path_factory.mktemp("board"))


@pytest.fixture
def own(tmp_path: Path) -> Board:
    """For a test that changes what is served."""
    return _served(tmp_path)


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_answered_without_the_token(board: Board, path: str) -> None:
    for visitor in (
        board.visitor(),
        board.visitor(authorization="Bearer another"),
        board.visitor(authorization="Bearer "),
        board.visitor(authorization="Basic a-token"),
        board.visitor(cookie="popkit-8001=a-secret", **OUR_PAGE),
        board.visitor(cookie="popkit-8000=another; popkit=a-secret", **OUR_PAGE),
        board.visitor(cookie="popkit-8000=a-token", **OUR_PAGE),
    ):
        answer = visitor.get(path)
        assert answer.status_code == 401
        assert answer.json().keys() == {"error"}
        assert "a-token" not in answer.text


@pytest.mark.parametrize("headers", [{"cookie": f"popkit-{PORT}=a-secret"}, {"authorization": "Bearer a-secret", "sec_fetch_site": "none"}])
def test_who_only_sees_the_cookie_cannot_ask_with_it(board: Board, headers: dict[str, str]) -> None:
    assert board.visitor(**headers).get("/api/me").status_code == 401


def test_who_loads_the_page_after_a_restart_reads_what_to_do(board: Board) -> None:
    browser = board.visitor(accept="text/html,application/xhtml+xml,*/*;q=0.8", cookie=f"popkit-{PORT}=of-before", **OUR_PAGE)
    answer = browser.get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "The access token is missing or from an earlier start. Open the address" in answer.text
    assert "<script" not in answer.text
    assert "style=" not in answer.text
    assert browser.get("/?token=old&x=%3Cb%3E").headers["content-type"] == "text/html; charset=utf-8"
    assert browser.get("/api/me").json().keys() == {"error"}


def test_after_the_first_visit_a_cookie_replaces_the_token_in_the_address(board: Board) -> None:
    browser = board.visitor(sec_fetch_site="none")
    answer = browser.get("/?token=a-token")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"] == f"popkit-{PORT}=a-secret; Path=/; HttpOnly; SameSite=Strict"
    assert browser.get("/").text.startswith("<!doctype html>")
    assert browser.get("/api/me").json()["change_token"] == CHANGE["X-PopKit-Change"]


@pytest.mark.parametrize(
    "beside", ['prefs={"a": "b"}', "a@b=1", "list[0]=x y", "name=\xe9", "expires=never", "=", "popkit-8000=of-another-path", "x" * 4_000]
)
def test_cookies_of_other_servers_on_this_machine_lock_nobody_out(board: Board, beside: str) -> None:
    for header in (f"{beside}; popkit-{PORT}=a-secret", f"popkit-{PORT}=a-secret; {beside}"):
        assert board.visitor(cookie=header.encode("latin-1"), **OUR_PAGE).get("/api/me").status_code == 200
    assert board.visitor(cookie=beside.encode("latin-1"), **OUR_PAGE).get("/api/me").status_code == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_whoever_has_the_token_is_led_on_from_another_page(board: Board, site: str) -> None:
    browser = board.visitor(sec_fetch_site=site)
    answer = browser.get("/?token=a-token")
    assert answer.status_code == 200
    assert 'content="0;url=/"' in answer.text
    assert "a-token" not in answer.text
    assert answer.headers["set-cookie"].endswith("HttpOnly; SameSite=Strict")
    assert browser.get("/").status_code == 403
    assert browser.get("/?token=another").status_code == 401


@pytest.mark.parametrize("query", ["token=", "token=a-toke", "token=another&token=a-token", "token=%00", "token=a-token%20"])
def test_another_token_in_the_address_is_refused(board: Board, query: str) -> None:
    answer = board.visitor().get("/?" + query)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_a_token_in_the_address_opens_no_other_path(board: Board) -> None:
    assert board.visitor().get("/api/me?token=a-token").status_code == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8000",
        "127.0.0.1",
        "127.0.0.1:8001",
        "127.0.0.1.evil.example:8000",
        "localhost:80",
        "127.1:8000",
        "[::]:8000",
        "",
        "127.0.0.1:8000@x",
    ],
)
def test_a_foreign_host_gets_no_answer(board: Board, host: str) -> None:
    answer = board.client.get("/api/me", headers={"Host": host})
    assert answer.status_code == 403
    assert "change_token" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_our_own_names_are_answered(board: Board, host: str) -> None:
    assert board.client.get("/api/me", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8001"},
        {"Origin": "https://127.0.0.1:8000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": PLACE, "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_another_page_neither_reads_nor_changes(own: Board, headers: dict[str, str]) -> None:
    own.worked()
    assert own.client.get("/api/sessions", headers=headers).status_code == 403
    body = {"id": "clear"}
    before = own.shop.transcript.read_bytes()
    assert own.client.post(f"/api/sessions/{SESSION}/operations", json=body, headers={**CHANGE, **headers}).status_code == 403
    assert own.shop.transcript.read_bytes() == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json"}, 403),
        ({"Content-Type": "application/json", "X-PopKit-Change": "a-token"}, 403),
        ({**CHANGE, "Content-Type": "text/plain"}, 415),
        ({**CHANGE, "Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({**CHANGE, "Content-Type": "multipart/form-data; boundary=x"}, 415),
        (CHANGE, 415),
    ],
)
def test_a_change_needs_the_second_token_and_json(own: Board, headers: dict[str, str], status: int) -> None:
    own.worked()
    before = own.shop.transcript.read_bytes()
    answer = own.client.post(f"/api/sessions/{SESSION}/operations", content=b'{"id": "clear"}', headers=headers)
    assert answer.status_code == status
    assert answer.json().keys() == {"error"}
    assert own.shop.transcript.read_bytes() == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"])
def test_other_methods_are_refused(board: Board, method: str) -> None:
    answer = board.client.request(method, "/api/me", headers=CHANGE)
    assert answer.status_code == 405
    assert answer.json().keys() == {"error"}
    assert "GET" in answer.headers["allow"]


def test_a_body_is_bounded(own: Board) -> None:
    own.worked()
    path, headers = f"/api/sessions/{SESSION}/operations", {**CHANGE, "Content-Type": "application/json"}
    assert own.client.post(path, content=b" " * (MOST_BYTES + 1), headers=headers).status_code == 413
    assert own.client.post(path, content=(b" " * 1_000 for _ in range(100)), headers=headers).status_code == 413
    assert own.client.post(path, content=b'{"id":"pin T1"}'.rjust(MOST_BYTES), headers=headers).status_code in (200, 409)


@pytest.mark.parametrize("path", [*PATHS[:6], "/api/nothing"])
def test_every_answer_is_strict_about_what_a_browser_may_do(board: Board, path: str) -> None:
    for visitor in (board.client, board.visitor()):
        headers = visitor.get(path).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy == {
            "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "'self'",
            "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
        }  # fmt: skip
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        kept = "no-store" if path.startswith("/api/") or visitor is not board.client else "no-cache"
        assert headers["cache-control"] == kept


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fboard.py", "//etc/passwd", "/app.js%00", "/./", "/\\..\\x"]
)
def test_the_pages_folder_is_not_left(board: Board, path: str) -> None:
    answer = board.client.get(path)
    assert answer.status_code in (200, 404)
    assert "root:" not in answer.text
    if answer.status_code == 404:
        assert answer.json().keys() == {"error"}


@pytest.mark.parametrize(
    "path",
    [
        "/tiles/", "/tiles/memory", "/tiles/memory.py", "/tiles/tile.js", "/tiles/tile.py", "/tiles/nothing.js", "/tiles/memory.js/",
        "/tiles/memory.js/..", "/memory/tile.js", "/memory/tile.py", "/tiles/%2e%2e/tile.py", "/tiles/..%2f..%2fmemory%2ftile.py",
        "/tiles/../../memory/tile.js", "/tiles//memory.js%00", "/tiles/context.js",
    ],
)  # fmt: skip
def test_of_a_feature_only_the_module_of_its_view_is_served(board: Board, path: str) -> None:
    answer = board.client.get(path)
    assert answer.status_code == 404 or answer.text == board.client.get("/tiles/memory.js").text
    assert "import os" not in answer.text
    assert "APIRouter" not in answer.text


def test_files_are_sent_again_only_after_they_have_changed(own: Board, tmp_path: Path) -> None:
    (tmp_path / "page" / "index.html").write_text("<!doctype html><title>PopKit</title><!-- tiles -->")
    for path in ("/", "/app.js", "/tiles/memory.js"):
        answer = own.client.get(path)
        known = own.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (answer.status_code, known.status_code, known.text) == (200, 304, ""), path
    tag = own.client.get("/").headers["etag"]
    (tmp_path / "page" / "index.html").write_text("<!doctype html><title>PopKit 2</title><!-- tiles -->")
    assert own.client.get("/", headers={"If-None-Match": tag}).status_code == 200


def test_the_html_names_the_module_of_each_view_in_the_order_of_the_views(own: Board, tmp_path: Path) -> None:
    (tmp_path / "page" / "index.html").write_text("<!doctype html><title>PopKit</title><!-- tiles -->")
    named = re.findall(r'<link rel="modulepreload" href="(.+?)" data-view="(.+?)" data-title="(.+?)" />', own.client.get("/").text)
    assert ["sessions", *(view for _, view, _ in named)] == own.get("/api/me")["views"]
    for address, view, title in named:
        answer = own.client.get(f"/{address}")
        assert answer.headers["content-type"].startswith("text/javascript"), view
        assert f'useTitle("{title}")' in answer.text


def test_a_link_out_of_the_pages_folder_is_not_followed(own: Board, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret words")
    (tmp_path / "page" / "link.js").symlink_to(tmp_path / "secret")
    assert "secret words" not in own.client.get("/link.js").text


def test_what_cannot_be_read_is_reported_without_a_trace(own: Board) -> None:
    own.worked()
    (own.shop.home / "archive.sqlite").write_text("this is no database, but the words of the user")
    for path in ("/api/retention", "/api/sessions", f"/api/sessions/{SESSION}", "/api/stats", "/api/memory/projects"):
        answer = own.client.get(path)
        assert answer.status_code == (503 if path == "/api/retention" else 200), (path, answer.text)
        assert "Traceback" not in answer.text
        assert ".py" not in answer.text


def test_what_nobody_foresaw_is_reported_as_a_failure_and_counted(own: Board) -> None:
    own.worked()
    own.shop.at = "no time"  # a clock that is broken
    answer = own.client.get("/api/sessions")
    assert (answer.status_code, list(answer.json())) == (500, ["error"])
    assert "time" not in answer.text
    assert own.app_state.failed == 1
    log = own.shop.home / "hooks.log"
    assert "dashboard TypeError" in log.read_text()
    assert "no time" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


MANY = 520  # more than the server answers at once


def connected(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=HANG_S)


def ends(connection: socket.socket) -> bytes:
    """What the server says before it closes, which it is waited for."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionError:
        pass
    return received


def status(served: Served) -> bytes:
    return served.raw(served.request("/api/me", "GET", "Connection: close"), goes_on=True)[:12]


HALF_A_HEAD = "GET /api/me HTTP/1.1\r\nHost: x\r\nX-More: "
NO_BODY = "POST /api/sessions/s/operations HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 60000\r\n\r\n"


@pytest.mark.parametrize("begun", [HALF_A_HEAD, NO_BODY], ids=["half a head", "no body"])
def test_connections_that_begin_a_request_are_dropped_and_keep_nobody_out(served: Served, begun: str) -> None:
    with ExitStack() as opened:
        idle = [opened.enter_context(connected(served)) for _ in range(MANY)]
        for each in idle:
            with suppress(ConnectionError):  # it had to make room
                each.sendall(begun.format(port=served.port).encode())
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
    with connected(served) as asked:
        asked.sendall(NO_BODY.format(port=served.port).encode())
        time.sleep(0.2)  # so that the server has the head alone
        asked.sendall(b"x" * 30_000)
        time.sleep(0.2)
        asked.sendall(b"x" * 30_000)
        received = b""
        while piece := asked.recv(65_536):
            received += piece
    assert received.startswith(b"HTTP/1.1 401")


def test_silent_connections_are_dropped_and_block_neither_owner_nor_page(served: Served) -> None:
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
