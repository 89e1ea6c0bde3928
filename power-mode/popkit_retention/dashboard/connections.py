"""Connections with a time limit: a request has a few seconds to arrive. Without that, anybody on this machine could lock out the owner
without having the token."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

REQUEST_S = 5.0
SILENT = 100  # waiting connections, of which a new one closes the oldest


class Connection(H11Protocol):
    """A connection that is dropped if a request is not complete in time, even if bytes keep coming. Between an answer and the first byte of
    the next request, uvicorn's own timeout applies."""

    deadline: asyncio.TimerHandle | None = None  # for a connection that waits for a request

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
