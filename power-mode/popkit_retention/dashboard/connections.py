"""Connections that have not sent a request yet: each has a few seconds for it, and only so many may wait at once. So nobody without the
token can keep its owner out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

REQUEST_S = 5.0
SILENT = 100  # of these the oldest makes room for the next


class Connection(H11Protocol):
    """Dropped where a request does not come in time, however slowly its bytes do. Between an answer and the first byte of the next head
    uvicorn's own timeout holds."""

    deadline: asyncio.TimerHandle | None = None  # where a request is awaited

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start its time limit; drop the connection that has waited longest where too many wait."""
        super().connection_made(transport)
        silent = [each for each in self.connections if isinstance(each, Connection) and each.deadline]
        if len(silent) >= SILENT:
            min(silent, key=lambda each: each.deadline.when() if each.deadline else 0.0).drop()
        self._start_limit()

    def data_received(self, data: bytes) -> None:
        """End its time limit with a whole request, and start it again with the first byte of another."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._end_limit()
        elif self.deadline is None:
            self._start_limit()

    def connection_lost(self, exc: Exception | None) -> None:
        """End its time limit."""
        self._end_limit()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close it at once."""
        self._end_limit()
        self.transport.abort()

    def _start_limit(self) -> None:
        self.deadline = self.loop.call_later(REQUEST_S, self.drop)

    def _end_limit(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
