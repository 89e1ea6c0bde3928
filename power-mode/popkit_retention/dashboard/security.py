"""The access rules: loopback only, with the token that the command prints. Every request passes here before anything is looked up.

- The token is new with every start. Programs send it as `Authorization: Bearer`; the first visit of a browser brings it in the address, and
  gets a cookie for it that no script can read. The cookie's secret is another one, because browsers send cookies to all ports of a host: it
  counts only with a Sec-Fetch-Site that says that our own page, or the user, made the request. No page of another server can send that.
- Host must be ours, or another name could be pointed at us (DNS rebinding). Origin and Sec-Fetch-Site must be ours or missing: no other
  page gets an answer, or changes anything.
- A change needs a second token, in a header that no other page may send, and JSON."""

from __future__ import annotations

import hmac
import html
import json
import secrets
from typing import Any
from urllib.parse import parse_qs

from popkit_retention.core.errors import PopkitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_BYTES = 64 * 1024
_TAKEN_BYTES = 1024 * 1024  # bytes read of a larger body, before it is refused
OPERATIONS = "/operations"
CHANGE_HEADER = "X-PopKit-Change"
NAMES = ("127.0.0.1", "localhost", "[::1]")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
_OURS = ("same-origin", "none")  # of Sec-Fetch-Site: our own page, or the user in person
_REFUSAL_PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>PopKit</title><h1>PopKit dashboard</h1><p>{}.</p></html>\n'
_LEADS_ON = b'<!doctype html><title>PopKit</title><meta http-equiv="refresh" content="0;url=/">\n'
UNFORESEEN = "this could not be answered. `popkit doctor` lists failures, and says where the log is"
_HOW = "Open the address that `popkit dashboard` has printed, which has the token of this start"


class Access:
    """The `port` that is served, the token, the second token that changes need, and the secret in the cookie."""

    def __init__(self, port: int, token: str = "", change_token: str = "", secret: str = "") -> None:
        self.port = port
        self.token = token or secrets.token_urlsafe(32)
        self.change_token = change_token or secrets.token_urlsafe(32)
        self.secret = secret or secrets.token_urlsafe(32)

    @property
    def cookie(self) -> str:
        """Return the name of the cookie."""
        return f"popkit-{self.port}"

    @property
    def address(self) -> str:
        """Return the address for a browser, with the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def hosts(self) -> set[str]:
        """Return the values that Host may have."""
        return {f"{name}:{self.port}" for name in NAMES} | (set(NAMES) if self.port == 80 else set())


class _Disconnected(Exception):
    """The client closed the connection before its request was complete."""


class RequestRefused(PopkitError):
    """The request is refused, with this answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """Lets allowed requests through to `app`, and adds the headers of every answer. `failed` is called with unforeseen errors, which
    clients do not see."""

    def __init__(self, app: App, access: Access, failed: Callable[[str, Exception], object]) -> None:
        self._app = app
        self._access = access
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = _with_headers(scope, send)
        headers = _Headers(scope["headers"])
        try:
            body = await _body(receive)
        except _Disconnected:
            return
        try:
            self._check_host(headers)
            if await self._answer_first_visit(scope, headers, answering):
                return
            self._check_pages(headers)
            self._check_token(headers)
            self._check_change(scope, headers)
            if len(body) > BODY_BYTES:
                raise _too_large()
        except RequestRefused as refused:
            await _refuse(answering, refused, is_page=not scope["path"].startswith("/api/") and "text/html" in headers.one("accept"))
            return
        await self._answer(scope, _replayed(body, receive), answering)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:  # noqa: BLE001  no client gets a traceback
            self._failed("dashboard", error)
            if not begun:
                await _refuse(send, RequestRefused(500, UNFORESEEN))

    def _check_host(self, headers: _Headers) -> None:
        """Refuse a request for another host."""
        if headers.one("host") not in self._access.hosts():
            raise RequestRefused(403, "this server only answers at 127.0.0.1 and localhost, with its port. " + _HOW)

    def _check_pages(self, headers: _Headers) -> None:
        """Refuse a request from a page that is not ours."""
        ours = {f"http://{host}" for host in self._access.hosts()}
        if any(origin not in ours for origin in headers.every("origin")):
            raise RequestRefused(403, "the request came from another page: only the dashboard's own pages may make it")
        if _is_from_another_page(headers):
            raise RequestRefused(403, "the request came from another page: only the dashboard's own pages may make it. " + _HOW)

    async def _answer_first_visit(self, scope: Scope, headers: _Headers, send: Send) -> bool:
        """Answer a first visit, whose address has the token: set a cookie and redirect to the address without it. Return whether it was
        one. Where another page led here, such as the file that opens a browser, a page of ours redirects: a browser that follows another
        page does not send a strict cookie back."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if not tokens:
            return False
        if not _same(tokens[0], self._access.token):
            raise RequestRefused(401, "The access token is from an earlier start. " + _HOW)
        cookie = f"{self._access.cookie}={self._access.secret}; Path=/; HttpOnly; SameSite=Strict"
        body = _LEADS_ON if _is_from_another_page(headers) else b""
        head = [(b"set-cookie", cookie.encode()), (b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
        head.append((b"content-type", b"text/html; charset=utf-8") if body else (b"location", b"/"))
        await send({"type": "http.response.start", "status": 200 if body else 303, "headers": head})
        await send({"type": "http.response.body", "body": body})
        return True

    def _check_token(self, headers: _Headers) -> None:
        tokens = [word for each in headers.every("authorization") for kind, _, word in [each.partition(" ")] if kind.lower() == "bearer"]
        cookies = _cookies(headers.every("cookie"), self._access.cookie) if headers.one("sec-fetch-site") in _OURS else []
        by_token = any(_same(each, self._access.token) for each in tokens)
        if not by_token and not any(_same(each, self._access.secret) for each in cookies):
            raise RequestRefused(401, "The access token is missing or from an earlier start. " + _HOW)

    def _check_change(self, scope: Scope, headers: _Headers) -> None:
        """Refuse a change without the second token, or without JSON."""
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return
        if scope["method"] == "POST":
            if not _same(headers.one(CHANGE_HEADER.lower()), self._access.change_token):
                raise RequestRefused(403, f"a change needs the header {CHANGE_HEADER} with the token from GET /api/me")
            is_json = headers.one("content-type").partition(";")[0].strip().lower() == "application/json"
            if scope["path"].endswith(OPERATIONS) and not is_json:  # nothing else takes a body
                raise RequestRefused(415, "a change needs a JSON body: send Content-Type: application/json")


class _Headers:
    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in raw:
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def every(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def one(self, name: str) -> str:
        """Return the value of a header that occurs once; "" for none or several."""
        values = self.every(name)
        return values[0] if len(values) == 1 else ""


def _is_from_another_page(headers: _Headers) -> bool:
    """Return whether a browser came from another page than ours."""
    return any(site not in _OURS for site in headers.every("sec-fetch-site"))


def _same(one: str, other: str) -> bool:
    """Compare in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


def _cookies(headers: list[str], wanted: str) -> list[str]:
    """Return the values of a cookie. Browsers give every port of a host the cookies of all the others, so the others may be anything: they
    are skipped, where a parser of cookies would reject all of them."""
    pairs = [pair.partition("=") for header in headers for pair in header.split(";")]
    return [value.strip() for name, _, value in pairs if name.strip() == wanted]


async def _body(receive: Receive) -> bytes:
    """Return the body of a request, at most one byte more than allowed. It is read before the answer: a client that is still sending when
    the connection is closed never sees the answer."""
    body, sent, more = b"", 0, True
    while more and sent <= _TAKEN_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            raise _Disconnected
        piece = message.get("body", b"")
        sent += len(piece)
        body = (body + piece)[: BODY_BYTES + 1]
        more = message.get("more_body", False)
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns a body which was read already."""
    is_replayed = False

    async def replay() -> MutableMapping[str, Any]:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _too_large() -> RequestRefused:
    return RequestRefused(413, f"a request has at most {BODY_BYTES // 1024} KB")


def _with_headers(scope: Scope, send: Send) -> Send:
    """Return a `send` that adds the headers of every answer. Answers of the API are not cached; the page's files are validated each time,
    so that an update never mixes old files with new ones."""
    caching = b"no-store" if scope["path"].startswith("/api/") else b"no-cache"

    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            head = [*message.get("headers", ()), *_HEADERS]
            if not any(name == b"cache-control" for name, _ in head):
                head.append((b"cache-control", caching))
            message = {**message, "headers": head}
        await send(message)

    return send_with_headers


async def _refuse(send: Send, refused: RequestRefused, is_page: bool = False) -> None:
    """Send the reason, and close the connection. `is_page`: as a page, for a person."""
    body = (_REFUSAL_PAGE.format(html.escape(str(refused))) if is_page else json.dumps({"error": str(refused)})).encode()
    kind = b"text/html; charset=utf-8" if is_page else b"application/json"
    head = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if refused.status == 401:
        head.append((b"www-authenticate", b'Bearer realm="popkit"'))
    await send({"type": "http.response.start", "status": refused.status, "headers": head})
    await send({"type": "http.response.body", "body": body})
