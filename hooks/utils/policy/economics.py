"""What clearing costs and when it pays, counted with the prompt cache. Pure.

A request reads from the cache what stands before the first changed token, and writes what stands behind it again. Prices are in units:
one unit is one plain input token. So dropping tokens from a warm cache costs a rewrite of all that stays behind them, and each request
from then on reads that much less; with a cold cache the prompt is written anyway, and the smaller one is cheaper at once.
"""

from __future__ import annotations

PRICE_PLAIN = 1.0
PRICE_READ = 0.1
# By the lifetime of what is written, in seconds.
PRICE_WRITE = {300: 1.25, 3_600: 2.0}
# Requests that still follow a user's prompt before the cache goes cold, by its lifetime: medians over 117 recorded sessions of
# development (quartiles 5 and 39 for five minutes, 14 and 75 for an hour), as counted by
# `python benchmarks/remaining_requests.py --transcripts FOLDER`.
LIKELY_REQUESTS = {300: 14, 3_600: 39}


def lifetime_of(cache_ttl_s: float) -> int:
    """The lifetime that has a price: an hour, or five minutes for anything shorter."""
    return 3_600 if cache_ttl_s >= 3_600 else 300


def write_price(cache_ttl_s: float) -> float:
    """Units for a token that is written to the cache."""
    return PRICE_WRITE[lifetime_of(cache_ttl_s)]


class Sum:
    """What a clear does to the requests from now on.

    `leaves`: tokens that the prompt loses, placeholders subtracted (negative where these are larger) · `share`: of the context, 0 to 1 ·
    `rewritten`: tokens behind the first change, placeholders included · `cost_now`: units that the rewrite costs beyond a read, 0 when
    the cache is cold · `saved_now`: units that the next request costs less, 0 when the cache is warm · `saved_per_request`: units, each
    request that finds the cache warm · `pays_after`: requests until the cost is earned, the rewriting one counted; 0 at once, None
    never · `warm` · `cache_ttl_s`.
    """

    __slots__ = ("cache_ttl_s", "cost_now", "leaves", "pays_after", "rewritten", "saved_now", "saved_per_request", "share", "warm")

    def __init__(self, leaves, share, rewritten, cost_now, saved_now, saved_per_request, pays_after, warm, cache_ttl_s):
        self.leaves = leaves
        self.share = share
        self.rewritten = rewritten
        self.cost_now = cost_now
        self.saved_now = saved_now
        self.saved_per_request = saved_per_request
        self.pays_after = pays_after
        self.warm = warm
        self.cache_ttl_s = cache_ttl_s

    def to_json(self) -> dict:
        return {name: getattr(self, name) for name in self.__slots__}


def the_sum(
    context_tokens: int, leaving_tokens: int, placeholder_tokens: int, prefix_tokens: int, warm: bool, cache_ttl_s: int
) -> Sum:  # fmt: skip
    """The sum for contents of `leaving_tokens` that leave a context of `context_tokens` (the prompt of the newest request) and
    `placeholder_tokens` that stay in their place; `prefix_tokens` of the prompt stand before the first of them."""
    leaves = leaving_tokens - placeholder_tokens
    rewritten = max(0, context_tokens - prefix_tokens - leaving_tokens) + placeholder_tokens
    write = write_price(cache_ttl_s)
    cost = round(rewritten * (write - PRICE_READ), 2) if warm else 0.0
    gained = max(0, leaves)
    saved = round(gained * PRICE_READ, 2)
    pays_after = None
    if gained:
        # In hundredths, which are whole: a quotient of fractions may lie a hair above the number that it is.
        pays_after = -(-round(cost * 100) // round(saved * 100))
    return Sum(
        leaves, round(min(1.0, gained / context_tokens), 4) if context_tokens > 0 else 0.0, rewritten, cost,
        0.0 if warm else round(gained * write, 2), saved, pays_after, warm, lifetime_of(cache_ttl_s),
    )  # fmt: skip


def pays(sum: Sum, likely_requests: int | None = None) -> bool:
    """Whether a clear earns what it costs within the requests that are likely to follow; None for what usually follows a prompt."""
    if likely_requests is None:
        likely_requests = LIKELY_REQUESTS[sum.cache_ttl_s]
    return sum.pays_after is not None and sum.pays_after <= likely_requests
