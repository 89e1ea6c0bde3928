"""Decide whether to keep the prompt cache warm while no prompt comes: how many requests over the cached prompt, one shortly before each
time that it would expire. Pure.

A request that only reads the cache renews its life. It pays where the user comes back before it would expire again: then the next request
reads the prompt instead of writing it. Nobody knows whether they do, so a row of requests ends once it has cost a fifth of the prompt at
the price of plain input: after two where a read costs a tenth, after eight where it costs a fortieth. (`python
benchmarks/keep_warm.py` has the figures.) A cache that lasts an hour is left alone: few breaks end soon after one.
"""

from __future__ import annotations

from .economics import HOUR_S
from .ruleset import MOST_WARM_REQUESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from .conversation import Usage
    from .economics import Prices

    class Moment(Protocol):
        """A request: when it was sent, when its answer ended (seconds), whether that `calls` tools that need no word of the user's, and the
        usage that the host wrote down."""

        sent_at: float
        answered_at: float
        calls: bool
        usage: Usage | None


# The cache's life is counted from the start of a request, so the next one is sent this share of it before its end.
MARGIN = 1 / 15
# Of the caches that are kept warm.
_LIFETIME_S = 300
# What a row may cost, as a share of the prompt at the price of plain input.
_ROW_SHARE = 0.2
# However little it would cost: a session that is left alone for longer need not be kept warm.
MOST = MOST_WARM_REQUESTS
# A request carries a few words of its own, and its answer has a few.
_WORDS_TOKENS, _ANSWER_TOKENS = 40, 8


def interval_s(ttl_s: float) -> float:
    """Return the seconds between the requests that keep a cache of this lifetime."""
    return ttl_s * (1 - MARGIN)


def is_refused(prices: Prices) -> bool:
    """Return whether nothing is sent for a cache of this lifetime."""
    return prices.ttl_s >= HOUR_S


def most(prices: Prices, limit: int = MOST) -> int:
    """Return how many requests in a row, at most `limit`, may keep a cache warm."""
    if is_refused(prices):
        return 0
    return min(limit, int(_ROW_SHARE / prices.read + 1e-9)) if prices.read > 0 else limit


def price(prompt: int, prices: Prices) -> float:
    """Return what one request over a cached prompt of so many tokens costs, in units."""
    return prices.cost({"read": prompt, "write": _WORDS_TOKENS, "output": _ANSWER_TOKENS})


# --- in the past -----------------------------------------------------------------------------------------------------------------


class Break:
    """The user was away for so many `seconds`, infinite where the session ended, after a request of `model` with a `prompt` of so many
    tokens; `kept` of them the next request had too, at most."""

    __slots__ = ("kept", "model", "prompt", "seconds")

    def __init__(self, seconds: float, prompt: int, kept: int, model: str) -> None:
        self.seconds = seconds
        self.prompt = prompt
        self.kept = kept
        self.model = model


def breaks_of(moments: Sequence[Moment]) -> list[Break]:
    """Return the breaks of a session after which a cache of five minutes would have been cold, without those while a tool ran."""
    breaks = []
    for before, after in zip(moments, (*moments[1:], None)):
        seconds = after.sent_at - before.answered_at if after else float("inf")
        if before.usage is not None and not before.calls and seconds > interval_s(_LIFETIME_S):
            prompt = before.usage.tokens
            kept = min(prompt, after.usage.tokens) if after and after.usage else 0
            breaks.append(Break(seconds, prompt, kept, before.usage.model))
    return breaks


class Past:
    """The worth of warming in past sessions: `breaks`, of which it would have bridged some (`bridged`), requests that it would have `sent`,
    and dollars: what these cost (`paid`), what the bridged breaks would have `saved`. Breaks whose price is not known do not count."""

    __slots__ = ("breaks", "bridged", "paid", "saved", "sent")

    def __init__(
        self, sessions: Iterable[list[Break]], priced: Callable[[str, int], tuple[Prices, float | None]], limit: int, most_usd: float
    ) -> None:
        """`priced`: the prices of a model for a prompt, and dollars a unit; `limit`: requests in a row, `most_usd`: dollars a session."""
        self.breaks = self.bridged = self.sent = 0
        self.paid = self.saved = 0.0
        for session in sessions:
            left = most_usd
            for one in session:
                prices, usd = priced(one.model, one.prompt)
                if usd is not None and prices.known:
                    left -= self._add(one, prices, usd, limit, left)

    def _add(self, one: Break, prices: Prices, usd: float, limit: int, left: float) -> float:
        """Count a break; return the dollars that it would have cost."""
        step, each = interval_s(prices.ttl_s), price(one.prompt, prices) * usd
        allowed = min(most(prices, limit), int(max(0.0, left) / each) if each else 0)
        sent = allowed if one.seconds >= allowed * step else int(one.seconds // step)
        self.breaks += 1
        self.sent += sent
        self.paid += sent * each
        if sent and one.seconds <= (sent + 1) * step:
            self.bridged += 1
            self.saved += (prices.write - prices.read) * one.kept * usd
        return sent * each


# --- in a session ----------------------------------------------------------------------------------------------------------------

# Why nothing (more) is sent.
OFF, NO_REQUEST, UNPRICED, HOUR, TOO_DEAR, IN_A_ROW, DOLLARS, COLD, CLOCK, LOST, MODEL, RATE_LIMIT, MISS, ERROR, KEPT, HOST = (
    "off", "no request", "unpriced", "hour", "too dear", "in a row", "dollars", "cold", "clock", "lost", "model", "rate limit", "miss",
    "error", "kept", "host",
)  # fmt: skip
# These hold until the user's next turn.
FOR_GOOD = (CLOCK, MODEL, RATE_LIMIT, MISS, ERROR)
# Of what the newest request's prompt had, a request of ours reads at least this share from a warm cache.
_LEAST_READ = 0.8
# A limit of the user's plan that is used so far is left to the user's own work.
MOST_PERCENT = 80.0
# A time that lies so far ahead tells of a clock that was set back.
_AHEAD_S = 5.0
# For so long what came of a request may be unknown: then it is not known whether the cache is warm, and no other follows.
FLIGHT_S = 60.0


class Row:
    """The requests that keep one cache warm. `prompt`: tokens of the newest request's · `prices` · `usd`: dollars a unit, None where
    that is not known · `used_at`: when the cache was last used (seconds) · `sent` of ours since the answer · `spent`: dollars in all ·
    `open_at`: when the last one was sent of which it is not known what came of it, None where that is known of all."""

    __slots__ = ("open_at", "prices", "prompt", "sent", "spent", "usd", "used_at")

    def __init__(
        self,
        prompt: int,
        prices: Prices,
        usd: float | None,
        used_at: float,
        sent: int = 0,
        spent: float = 0.0,
        open_at: float | None = None,
    ) -> None:
        self.prompt = prompt
        self.prices = prices
        self.usd = usd
        self.used_at = used_at
        self.sent = sent
        self.spent = spent
        self.open_at = open_at

    def affordable(self, most_usd: float) -> int:
        """Return how many more requests a session may send for so many dollars in all."""
        each = price(self.prompt, self.prices) * (self.usd or 0.0)
        return min(MOST, int(max(0.0, most_usd - self.spent) / each + 1e-9)) if each else 0


class Next:
    """The time of the next request (seconds), None for never and then `why`; `most`: how many in a row are worth it and allowed."""

    __slots__ = ("at", "most", "why")

    def __init__(self, at: float | None, most: int, why: str = "") -> None:
        self.at = at
        self.most = most
        self.why = why


def following(row: Row, most_in_a_row: int, most_usd: float, now: float, every_s: float = 0.0) -> Next:
    """Return what comes next in a row. `every_s`: seconds between requests, where another number than the lifetime's holds."""
    if not row.prices.known or row.usd is None:
        return Next(None, 0, UNPRICED)
    if is_refused(row.prices):
        return Next(None, 0, HOUR)
    affordable = row.sent + row.affordable(most_usd)
    allowed = min(most(row.prices, most_in_a_row), affordable)
    if row.used_at - now > _AHEAD_S:
        return Next(None, allowed, CLOCK)
    if now - row.used_at >= row.prices.ttl_s:
        return Next(None, allowed, COLD)
    if row.open_at is not None:
        is_under_way = now - row.open_at < FLIGHT_S
        return Next(now + FLIGHT_S / 6, allowed) if is_under_way else Next(None, allowed, LOST)
    if row.sent < allowed:
        return Next(row.used_at + (every_s or interval_s(row.prices.ttl_s)), allowed)
    if row.sent >= affordable:
        return Next(None, allowed, DOLLARS)
    return Next(None, allowed, IN_A_ROW if row.sent >= most_in_a_row else TOO_DEAR)


def is_miss(read: int, prompt: int) -> bool:
    """Return whether a request did not find the cache: it read much less than the newest request's `prompt` had."""
    return read < _LEAST_READ * prompt
