"""Whether to keep the prompt cache warm while nobody asks for anything: how many requests over the cached prompt are worth their price,
one shortly before each time that it would expire. Pure.

A request that only reads the cache renews its life. It pays where the user comes back before it would expire again: then the next request
reads the prompt instead of writing it. Whether they do is told by how long they were away before: the share of breaks that ended within
the next lifetime, among those that had lasted as long. As later requests can pay for earlier ones, the value of each counts what the best
continuation is worth (optimal stopping, by backward induction).
"""

from __future__ import annotations

from bisect import bisect_right

from .ruleset import MOST_WARM_REQUESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from .economics import Prices

    class Moment(Protocol):
        """A request: when it was sent, when its answer ended (seconds), and whether that `calls` tools that need no word of the user's."""

        sent_at: float
        answered_at: float
        calls: bool


# The cache's life is counted from the start of a request, so the next one is sent this share of it before its end.
MARGIN = 1 / 15
# However much it would be worth: nobody leaves a session alone for longer and wants it kept.
MOST = MOST_WARM_REQUESTS
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


def lengths(moments: Iterable[Moment], ttl_s: float, calls: bool = False) -> list[float]:
    """How long each break was after which the cache would have been cold (seconds), infinite behind the last request of a session: while
    the user was to speak, or while tools ran (`calls`)."""
    found, before = [], None
    for after in (*moments, None):
        length = after.sent_at - before.answered_at if after and before else float("inf")
        if before is not None and before.calls == calls and length > interval_s(ttl_s):
            found.append(length)
        before = after
    return found


def price(prompt: int, prices: Prices) -> float:
    """What one request over a cached prompt of so many tokens costs, in units."""
    return prices.read * prompt + prices.write * _WORDS_TOKENS + prices.output * _ANSWER_TOKENS


def cost(prompt: int, read: int, created: int, output: int, prices: Prices) -> float:
    """What a request has cost of which the usage is known, in units."""
    return prices.read * read + prices.write * created + max(0, prompt - read - created) + prices.output * output


def most(breaks: Breaks, prompt: int, prices: Prices, limit: int = MOST) -> int:
    """After how many requests in a row, at most `limit`, it is no longer worth keeping a cache with so many tokens warm; 0: not at all."""
    step, each, saved = interval_s(prices.ttl_s), price(prompt, prices), (prices.write - prices.read) * prompt
    values = [0.0] * (limit + 2)
    for number in range(limit, 0, -1):
        back = breaks.chance(number * step, (number + 1) * step)
        values[number] = max(0.0, back * saved + (1 - back) * values[number + 1] - each)
    return next(number for number in range(1, limit + 2) if values[number] <= 0) - 1


class Past:
    """What it would have been worth over breaks that are known: `breaks`, of which it would have bridged some (`bridged`), requests that it
    would have `sent`, and units: what these cost (`paid`), what the bridged breaks would have `saved`."""

    __slots__ = ("breaks", "bridged", "paid", "saved", "sent")

    def __init__(self, lengths: Iterable[float], number: int, prompt: int, prices: Prices) -> None:
        """At most `number` requests in each break, over a prompt of so many tokens."""
        step = interval_s(prices.ttl_s)
        self.breaks = self.bridged = self.sent = 0
        for length in lengths:
            self.breaks += 1
            self.bridged += number > 0 and step < length <= (number + 1) * step
            self.sent += number if length >= number * step else int(length // step)
        self.paid = self.sent * price(prompt, prices)
        self.saved = self.bridged * (prices.write - prices.read) * prompt


# --- in a session ----------------------------------------------------------------------------------------------------------------

# Why nothing (more) is sent.
OFF, NO_REQUEST, UNPRICED, TOO_DEAR, IN_A_ROW, DOLLARS, COLD, MODEL, RATE_LIMIT, MISS, ERROR = (
    "off", "no request", "unpriced", "too dear", "in a row", "dollars", "cold", "model", "rate limit", "miss", "error",
)  # fmt: skip
# These hold until the user's next turn.
FOR_GOOD = (MODEL, RATE_LIMIT, MISS, ERROR)
# Of what the newest request's prompt had, a request of ours reads at least this share from a warm cache.
_LEAST_READ = 0.8
# A limit of the user's plan that is used so far is left to the user's own work.
MOST_PERCENT = 80.0


class Row:
    """The requests that keep one cache warm. `prompt`: tokens of the newest request's · `prices` · `usd`: dollars a unit, None where
    that is not known · `used_at`: when the cache was last used (seconds) · `sent` of ours since the answer · `spent`: dollars in all."""

    __slots__ = ("prices", "prompt", "sent", "spent", "usd", "used_at")

    def __init__(self, prompt: int, prices: Prices, usd: float | None, used_at: float, sent: int = 0, spent: float = 0.0) -> None:
        self.prompt = prompt
        self.prices = prices
        self.usd = usd
        self.used_at = used_at
        self.sent = sent
        self.spent = spent

    def affordable(self, most_usd: float) -> int:
        """How many more requests a session may send for so many dollars in all."""
        each = price(self.prompt, self.prices) * (self.usd or 0.0)
        return min(MOST, int(max(0.0, most_usd - self.spent) / each + 1e-9)) if each else 0


class Next:
    """When the next request is to be sent (seconds), None for never and then `why`; `most`: how many in a row are worth it and allowed."""

    __slots__ = ("at", "most", "why")

    def __init__(self, at: float | None, most: int, why: str = "") -> None:
        self.at = at
        self.most = most
        self.why = why


def following(row: Row, breaks: Breaks, most_in_a_row: int, most_usd: float, now: float, every_s: float = 0.0) -> Next:
    """What comes next in a row. `every_s`: seconds between requests, where another number than the lifetime's holds."""
    if not row.prices.known or row.usd is None:
        return Next(None, 0, UNPRICED)
    affordable = row.sent + row.affordable(most_usd)
    worth = most(breaks, row.prompt, row.prices, max(1, min(MOST, most_in_a_row, affordable)))
    allowed = min(worth, affordable)
    if now - row.used_at >= row.prices.ttl_s:
        return Next(None, allowed, COLD)
    if row.sent < allowed:
        return Next(row.used_at + (every_s or interval_s(row.prices.ttl_s)), allowed)
    if row.sent >= affordable:
        return Next(None, allowed, DOLLARS)
    return Next(None, allowed, IN_A_ROW if row.sent >= most_in_a_row else TOO_DEAR)


def missed(read: int, prompt: int) -> bool:
    """Whether a request did not find the cache: it read much less than the newest request's `prompt` had."""
    return read < _LEAST_READ * prompt
