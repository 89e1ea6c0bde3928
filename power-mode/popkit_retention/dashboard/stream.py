"""One stream of events for each page that listens. What is told is made once for all of them; a page that does not keep up is let go, comes
back by itself and asks for everything again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from .shapes import Event
from .watching import Watcher

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from .desk import Desk
    from .security import Receive, Scope, Send

HEARTBEAT_S = 15.0
RETRY_MS = 1_000
WAITING = 32  # events that a page may be behind
# So long the watch goes on after the last page has left, and after each question that a page asks before it listens.
LINGER_S = 30.0
# What was told in this time is told to a page that joins, too: it may have asked before that. No more than a page may be behind, with the
# greeting.
RECENT_S, RECENT = 5.0, WAITING - 2
SLOW_S = 20.0  # so long one event may take to be taken; longer than a heartbeat
_LAST_S = 1.0
_BEAT = b": still here\n\n"


class Streams:
    """The streams of one server, whose loop calls everything here. `begin` and `end` say when it serves."""

    def __init__(self, desk: Desk, linger_s: float = LINGER_S) -> None:
        self._desk = desk
        self._linger_s = linger_s
        self._clients: set[_Client] = set()
        self._recent: deque[tuple[float, bytes]] = deque(maxlen=RECENT)
        self._watcher: Watcher | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rests: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._clients)

    @property
    def is_watching(self) -> bool:
        """Whether it is known how things stand, so that what changes from now on is told."""
        return self.polls > 0

    @property
    def polls(self) -> int:
        """How often the present watch has looked."""
        return self._watcher.polls if self._watcher is not None else 0

    def begin(self) -> None:
        """The server serves from now on."""
        self._loop = asyncio.get_running_loop()

    def attend(self) -> None:
        """Somebody asks, and may listen soon: what changes from now on is kept for that."""
        if self._loop is not None:
            self._watch(self._loop)

    def join(self) -> _Client:
        """A new listener."""
        self.begin()
        self.attend()
        client = _Client()
        self._clients.add(client)
        client.put(self._hello())
        for at, told in self._recent:
            if time.monotonic() - at <= RECENT_S:
                client.put(told)
        return client

    def leave(self, client: _Client) -> None:
        """It listens no more."""
        self._clients.discard(client)
        if not self._clients:
            self.attend()

    def end(self) -> None:
        """All streams end now, and the watch."""
        self._loop = None
        for client in tuple(self._clients):
            client.let_go()
        self._stop()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watches for a while yet, and for as long as anybody listens."""
        if self._rests is not None:
            self._rests.cancel()
        self._rests = loop.call_later(self._linger_s, self._rest)
        if self._watcher is None:
            self._watcher = Watcher(self._desk, self._tell)
            self._watcher.start()

    def _rest(self) -> None:
        if not self._clients:
            self._stop()

    def _stop(self) -> None:
        if self._rests is not None:
            self._rests.cancel()
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
            self._recent.clear()

    def _hello(self) -> bytes:
        return f"retry: {RETRY_MS}\n".encode() + encoded(Event(type="hello", at=self._desk.now(), started_at=self._desk.started_at))

    def _tell(self, event: Event) -> None:
        """Tells all of an event, from the watcher's thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self.spread, event)

    def spread(self, event: Event) -> None:
        """Tells all of an event."""
        told = encoded(event)
        self._recent.append((time.monotonic(), told))
        for client in tuple(self._clients):
            client.put(told)


class _Client:
    """What a page has yet to be told. `over`: it is told no more."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(WAITING)
        self.over = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How much there is to tell."""
        return self._waiting.qsize()

    def put(self, told: bytes) -> None:
        """To be told next; a page that is too far behind is let go."""
        if self._waiting.full():
            self.let_go()
        elif not self.over.is_set():
            self._waiting.put_nowait(told)

    def let_go(self) -> None:
        """It is told no more, also of what waits."""
        self.over.set()
        while not self._waiting.empty():
            self._waiting.get_nowait()

    async def next(self) -> bytes:
        """What is told next, a heartbeat after a while."""
        try:
            return await asyncio.wait_for(self._waiting.get(), HEARTBEAT_S)
        except asyncio.TimeoutError:
            return _BEAT


class EventStream(Response):
    """The answer that does not end."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._streams = streams

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Tells until the page has gone, or is let go."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        client = self._streams.join()
        gone = asyncio.ensure_future(_gone(receive))
        over = asyncio.ensure_future(client.over.wait())
        try:
            while (told := await _before(client.next(), gone, over)) is not None:
                if await _before(_sent(send, told), gone, over) is None:
                    return  # it takes nothing any more
            if not gone.done():
                await asyncio.wait_for(send({"type": "http.response.body", "body": b"", "more_body": False}), _LAST_S)
        except (asyncio.TimeoutError, OSError):
            return
        finally:
            gone.cancel()
            over.cancel()
            self._streams.leave(client)


async def _before(work: Coroutine[Any, Any, bytes], *ends: asyncio.Future[Any]) -> bytes | None:
    """What a work comes to; None where one of the ends comes first, or the work takes too long."""
    doing = asyncio.ensure_future(work)
    await asyncio.wait({doing, *ends}, timeout=SLOW_S, return_when=asyncio.FIRST_COMPLETED)
    if any(end.done() for end in ends) or not doing.done():
        doing.cancel()
        return None
    return doing.result()


async def _sent(send: Send, told: bytes) -> bytes:
    await send({"type": "http.response.body", "body": told, "more_body": True})
    return told


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def encoded(event: Event) -> bytes:
    """An event as the stream has it."""
    data: Any = event.model_dump_json()
    return f"event: {event.type}\ndata: {data}\n\n".encode()
