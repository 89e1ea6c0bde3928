"""Whether to keep the prompt cache warm while nobody asks for anything: how many requests over the cached prompt are worth their price,
one shortly before each time that it would expire. Pure.

A request that only reads the cache renews its life. It pays where the user comes back before it would expire again: then the next request
reads the prompt instead of writing it. Whether they do is told by how long they were away before: the share of breaks that ended within
the next lifetime, among those that had lasted as long. As later requests can pay for earlier ones, the value of each counts what the best
continuation is worth (optimal stopping, by backward induction).
"""

from __future__ import annotations

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .economics import Prices

# The cache's life is counted from the start of a request, so the next one is sent this share of it before its end.
MARGIN = 1 / 15
# However much it would be worth: nobody leaves a session alone for longer and wants it kept.
MOST = 24
# So many breaks of others count beside the user's own, so that the first few of these do not decide alone.
PRIOR_BREAKS = 30
# A request carries a few words of its own, and its answer has a few.
_WORDS_TOKENS, _ANSWER_TOKENS = 40, 8


def interval_s(ttl_s: float) -> float:
    """Seconds between the requests that keep a cache of this lifetime."""
    return ttl_s * (1 - MARGIN)


class Breaks:
    """How long a user was away between an answer and the next request: `own` in seconds, infinite where a session ended; `others` in place
    of a user of whom little is known."""

    __slots__ = ("_others", "_own")

    def __init__(self, own: Iterable[float] = (), others: Iterable[float] = ()) -> None:
        self._own = sorted(own)
        self._others = sorted(others)

    def chance(self, since: float, until: float) -> float:
        """That a break which has lasted `since` seconds ends before `until`."""
        weight = PRIOR_BREAKS / len(self._others) if self._others else 0.0
        lasting = _more(self._own, since) + weight * _more(self._others, since)
        ending = lasting - _more(self._own, until) - weight * _more(self._others, until)
        return ending / lasting if lasting else 0.0


def _more(seconds: list[float], than: float) -> int:
    return len(seconds) - bisect_right(seconds, than)


def price(prompt: int, prices: Prices) -> float:
    """What one request over a cached prompt of so many tokens costs, in units."""
    return prices.read * prompt + prices.write * _WORDS_TOKENS + prices.output * _ANSWER_TOKENS


def most(breaks: Breaks, prompt: int, prices: Prices) -> int:
    """After how many requests in a row it is no longer worth keeping a cache with so many tokens warm; 0: not at all."""
    step, cost, saved = interval_s(prices.ttl_s), price(prompt, prices), (prices.write - prices.read) * prompt
    values = [0.0] * (MOST + 2)
    for number in range(MOST, 0, -1):
        back = breaks.chance(number * step, (number + 1) * step)
        values[number] = max(0.0, back * saved + (1 - back) * values[number + 1] - cost)
    return next(number for number in range(1, MOST + 2) if values[number] <= 0) - 1
