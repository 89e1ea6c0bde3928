"""One stream of events for each page that listens. What is told is made once for all of them; a page that does not keep up is let go, comes
back by itself and asks for everything again."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from .shapes import Event
from .watching import Watcher

if TYPE_CHECKING:
    from .desk import Desk
    from .security import Receive, Scope, Send

HEARTBEAT_S = 15.0
RETRY_MS = 1_000
WAITING = 32  # events that a page may be behind
SLOW_S = 20.0  # so long one event may take to be taken
_BEAT = b": still here\n\n"


class Streams:
    """The streams of one server. `ended`: no more is told, to nobody."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._clients: set[_Client] = set()
        self._watcher: Watcher | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ended = False

    def __len__(self) -> int:
        return len(self._clients)

    def join(self) -> _Client:
        """A new listener; the first one begins the watch. Called in the loop that serves."""
        client = _Client()
        self._clients.add(client)
        client.put(self._hello())
        if self._watcher is None:
            self._loop = asyncio.get_running_loop()
            self._watcher = Watcher(self._desk, self._tell)
            self._watcher.start()
        return client

    def leave(self, client: _Client) -> None:
        """It listens no more; the last one ends the watch."""
        self._clients.discard(client)
        if not self._clients and self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def end(self) -> None:
        """All streams end now. Called in the loop that serves."""
        self.ended = True
        for client in tuple(self._clients):
            client.let_go()

    def _hello(self) -> bytes:
        return f"retry: {RETRY_MS}\n".encode() + encoded(Event(type="hello", at=self._desk.now(), started_at=self._desk.started_at))

    def _tell(self, event: Event) -> None:
        """Tells all of an event, from the watcher's thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._spread, encoded(event))

    def _spread(self, told: bytes) -> None:
        for client in tuple(self._clients):
            client.put(told)


class _Client:
    """What a page has yet to be told."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING + 1)
        self.is_over = False

    def put(self, told: bytes) -> None:
        if self._waiting.qsize() >= WAITING:
            self.let_go()
        elif not self.is_over:
            self._waiting.put_nowait(told)

    def let_go(self) -> None:
        """It is told no more, also of what waits."""
        self.is_over = True
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None)

    async def next(self) -> bytes | None:
        """What is told next, a heartbeat after a while; None at the end."""
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
        try:
            while not self._streams.ended and not gone.done():
                coming = asyncio.ensure_future(client.next())
                await asyncio.wait({coming, gone}, return_when=asyncio.FIRST_COMPLETED)
                told = coming.result() if coming.done() else None
                if told is None:
                    coming.cancel()
                    break
                await asyncio.wait_for(send({"type": "http.response.body", "body": told, "more_body": True}), SLOW_S)
            if not gone.done():
                await asyncio.wait_for(send({"type": "http.response.body", "body": b"", "more_body": False}), 1)
        except (asyncio.TimeoutError, OSError):
            return  # it takes nothing any more
        finally:
            gone.cancel()
            self._streams.leave(client)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def encoded(event: Event) -> bytes:
    """An event as the stream has it."""
    data: Any = event.model_dump_json()
    return f"event: {event.type}\ndata: {data}\n\n".encode()
