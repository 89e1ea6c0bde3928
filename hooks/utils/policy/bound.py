"""Keep automatic compaction within the bound that the user agreed to: look-ups caused by PopKit per 100 requests. Pure.

The look-ups to expect from a removal are proportional to its share of the conversation, at the rate that the session has shown so far, and
have to fit into the rest of the bound. So more stays as the bound is used up; where hardly anything could leave, nothing does until more
requests have come.
"""

from __future__ import annotations

# How often a whole conversation that leaves is taken to be looked up, after a pause and in the midst of work; what the session shows counts
# beside one such conversation.
COLD_COST, WARM_COST = 1.5, 6.0
# So many times that has to fit: one in ten times it is twice as often as on average, and at worst five times.
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

    def cost(self, is_cold: bool) -> float:
        """Return how often a whole conversation that leaves has to be expected to be looked up, its cache being cold or warm."""
        return CAUTION * ((COLD_COST if is_cold else WARM_COST) + self.look_ups) / (1 + self.taken)

    def stays(self, is_cold: bool) -> float:
        """Return the share of the conversation that stays at least when it compacts by itself; 1.0 where that waits."""
        leaves = self.left / self.cost(is_cold)
        return 1.0 if leaves < LEAST_LEAVES else max(0.0, 1 - leaves)
