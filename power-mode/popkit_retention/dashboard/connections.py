"""Connections that have not yet said what they want: each has a few seconds to send a request, and there are places for only so many of
them. So nobody without the token can keep its owner out."""

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
        """Return its time begins."""
        super().connection_made(transport)
        silent = [each for each in self.connections if isinstance(each, Connection) and each.deadline]
        if len(silent) >= SILENT:
            min(silent, key=lambda each: each.deadline.when() if each.deadline else 0.0).drop()
        self._await()

    def data_received(self, data: bytes) -> None:
        """Return its time ends with a whole request, and begins anew with the first byte of another."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._heard()
        elif self.deadline is None:
            self._await()

    def connection_lost(self, exc: Exception | None) -> None:
        """Return nothing is awaited any more."""
        self._heard()
        super().connection_lost(exc)

    def drop(self) -> None:
        """End it at once."""
        self._heard()
        self.transport.abort()

    def _await(self) -> None:
        self.deadline = self.loop.call_later(REQUEST_S, self.drop)

    def _heard(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
