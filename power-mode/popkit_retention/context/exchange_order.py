"""The order in which exchanges leave a history: those first that say least, for their tokens, of what nothing else says. Pure."""

from __future__ import annotations

import heapq
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .dialogue import Exchange
    from .notices import Names

# How fast an exchange loses worth with the exchanges that have passed since; chosen over recorded chats (docs/measured.md).
_FADING = 0.25


class ExchangeOrder:
    """A queue of the exchanges that may leave a conversation. `staying`: all that stay; `sizes`: their tokens, by their starts.

    An exchange is worth the names that it alone says, and one for its other words, less the older it is. Once an exchange has left, those
    that say the same names are worth more."""

    def __init__(self, candidates: Sequence[Exchange], staying: Sequence[Exchange], sizes: Mapping[int, int], names: Names) -> None:
        self._sizes = sizes
        self._said = {exchange.start: names.said_in(exchange) for exchange in staying}
        self._ages = {exchange.start: len(staying) - number for number, exchange in enumerate(staying)}
        self._sayers = Counter([name for said in self._said.values() for name in said])
        self._queue = [(self._worth(exchange.start), exchange.start, exchange) for exchange in candidates]
        heapq.heapify(self._queue)

    def next(self) -> Exchange | None:
        """Return the exchange worth least of those not returned yet, the oldest of several; None after the last."""
        while self._queue:
            before, start, exchange = heapq.heappop(self._queue)
            worth = self._worth(start)
            if worth <= before or not self._queue or (worth, start) <= self._queue[0][:2]:
                return exchange
            heapq.heappush(self._queue, (worth, start, exchange))  # since others left
        return None

    def leave(self, exchange: Exchange) -> None:
        """Note that an exchange has left."""
        self._sayers.subtract(self._said[exchange.start])

    def _worth(self, start: int) -> float:
        alone = sum([self._sayers[name] == 1 for name in self._said[start]])
        return (alone + 1) / (1 + self._ages[start]) ** _FADING / max(1, self._sizes[start])
