"""Assemble messages that are longer than Claude Code hands over at once."""

from __future__ import annotations

import threading

MOST_BYTES = 64 * 1024 * 1024
_MOST_HELD = 8  # whose rest never came, as their client has gone: the oldest is dropped


class Parts:
    """Received parts and parts still to be fetched, by the id of their request."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def add(self, id: str, part: bytes) -> None:
        """Append a part to the held ones; OSError where that exceeds the readable length."""
        with self._lock:
            whole = self._held.pop(id, b"") + part
            if len(whole) > MOST_BYTES:
                raise OSError(27, "a request of that size is not read")
            self._held[id] = whole
            while len(self._held) > _MOST_HELD:
                del self._held[next(iter(self._held))]

    def take(self, id: str) -> bytes:
        """Return and drop the held parts."""
        with self._lock:
            return self._held.pop(id, b"")
