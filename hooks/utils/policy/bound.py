"""Keep automatic compaction within the bound that the user agreed to: look-ups caused by PopKit per 100 requests. Pure.

The look-ups to expect from a removal are proportional to its share of the conversation, at the rate of what is likely to be needed again
(need_model.py) and of what the session has shown so far, and have to fit into the rest of the bound. So more stays as the bound is used up;
where hardly anything could leave, nothing does until more requests have come.
"""

from __future__ import annotations

# So many times what is expected has to fit: in one of ten times about as many come. With less, bounds of 6 and 7 are kept too seldom.
CAUTION = 3.0
# Where less than this share of a conversation could leave, it waits: each time costs a rewrite.
LEAST_LEAVES = 0.2
# Requests that the bound is over: the first ones share what it allows.
REQUESTS = 100


class Bound:
    """`most` look-ups in 100 requests, and what has been: so many `look_ups` in so many `requests`, since so much has been `taken` out by
    us, in whole conversations."""

    __slots__ = ("look_ups", "most", "requests", "taken")

    def __init__(self, most: float, look_ups: int, requests: int, taken: float) -> None:
        self.most = most
        self.look_ups = look_ups
        self.requests = requests
        self.taken = taken

    @property
    def left(self) -> float:
        """Return how many more look-ups fit into the bound."""
        return max(0.0, self.most * max(self.requests, REQUESTS) / REQUESTS - self.look_ups)

    def cost(self, needs: float) -> float:
        """Return how often a whole conversation that leaves has to be expected to be looked up; `needs`: how many of its results are needed
        again, as expected."""
        return CAUTION * (needs + self.look_ups) / (1 + self.taken)

    def stays(self, needs: float) -> float:
        """Return the share of the conversation that stays at least when it compacts by itself; 1.0 where that waits."""
        leaves = self.left / max(1e-9, self.cost(needs))
        return 1.0 if leaves < LEAST_LEAVES else max(0.0, 1 - leaves)
