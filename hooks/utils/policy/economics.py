"""Calculate at which point a clear pays, given the prompt cache. Pure.

A request reads from the cache the longest beginning that an earlier request *ended* at, looked for a bounded number of positions back, and
writes the rest. So dropping tokens from a warm cache costs a rewrite of what stays behind the first of them; of all messages where it
is further back than the look-back. Each request from then on reads that much less. With a cold cache the prompt is written anyway,
and the smaller one is cheaper at once. Where a model binds its thinking to an unedited past, what it thought behind the first change
leaves too, and a share of it is reckoned as thought again. Prices are in units: one unit is one plain input token.
"""

from __future__ import annotations

from .models import HOUR_S, Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import shapes

PRICE_PLAIN = 1.0
# The provider looks 20 positions back from a breakpoint, and a request adds about 2.5 of them (a run of calls or of results is one).
LOOK_BACK_REQUESTS = 8
# Requests that still follow a user's prompt before the cache goes cold, by its lifetime: medians over 117 recorded sessions of
# development (quartiles 5 and 39 for five minutes, 14 and 75 for an hour), as counted by
# `python benchmarks/remaining_requests.py --transcripts FOLDER`.
LIKELY_REQUESTS = {300: 14, 3_600: 39}
# The share of lost thinking that is reckoned as thought again. After 25 recorded compactions, which lose all of it, .22 of it was (90 %:
# none to .66), after pauses that lose nothing .04: `python benchmarks/thinking_again.py --transcripts FOLDER`. This is more, because no
# recording has a compaction of a model that binds its thinking.
THINKING_AGAIN = 0.5


def lifetime_of(cache_ttl_s: float) -> int:
    """Return the lifetime that has a price: an hour, or five minutes for anything shorter."""
    return HOUR_S if cache_ttl_s >= HOUR_S else 300


class Prices:
    """Units a token with one model and one lifetime of the cache: `read`, `write`, `output`; `ttl_s` is that lifetime. `bound`: whether a
    change of the past loses the thinking behind it. `model`: its id as it was asked for, `known`: whether the table of models names it."""

    __slots__ = ("bound", "known", "model", "output", "read", "ttl_s", "write")

    def __init__(self, read: float, write: float, output: float, ttl_s: float, bound: bool, model: str = "", known: bool = True) -> None:
        self.read = read
        self.write = write
        self.output = output
        self.ttl_s = lifetime_of(ttl_s)
        self.bound = bound
        self.model = model
        self.known = known

    def of(self, kind: str) -> float:
        """Return the price of a token that is used so: `plain`, `read`, `write`, `output`."""
        return PRICE_PLAIN if kind == "plain" else getattr(self, kind)

    def cost(self, used: Mapping[str, float]) -> float:
        """Return what tokens cost that are used so, in units."""
        return sum([self.of(kind) * tokens for kind, tokens in used.items()])

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}


def prices_of(model: Model, cache_ttl_s: float) -> Prices:
    """Return the prices of a Model with a lifetime of the cache."""
    write = model.write_price(cache_ttl_s)
    return Prices(model.read, write, model.output_units, cache_ttl_s, model.thinking_bound, model.id, model.known)


class Change:
    """The change that a clear makes in the prompt of the newest request: `prompt`, its tokens · `base`, those of system and tools, which
    every change leaves in the cache · `prefix`, those up to the last request that ended before the first change · `requests_back`: how many
    requests have ended since then · `leaving`, `staying`: tokens of the results that leave, and of what takes their place · `thinking`:
    tokens of thinking behind the first change, where the model binds it, else 0 · `warm`: whether the cache is."""

    __slots__ = ("base", "leaving", "prefix", "prompt", "requests_back", "staying", "thinking", "warm")

    def __init__(
        self, prompt: int, leaving: int, staying: int, prefix: int, warm: bool, base: int = 0, requests_back: int = 0, thinking: int = 0
    ) -> None:
        self.prompt = prompt
        self.leaving = leaving
        self.staying = staying
        self.prefix = prefix
        self.warm = warm
        self.base = base
        self.requests_back = requests_back
        self.thinking = thinking

    @property
    def rewritten(self) -> int:
        """Return the tokens that the next request writes again, including those that take the place of results."""
        return max(0, self.prompt - kept_prefix(self.prefix, self.base, self.requests_back) - self.leaving - self.thinking) + self.staying


def kept_prefix(prefix: int, base: int, requests_back: int) -> int:
    """Return the tokens that are still read from a warm cache after a change behind `prefix`, the end of a request `requests_back` requests
    ago."""
    return prefix if requests_back <= LOOK_BACK_REQUESTS else min(prefix, base)


class Sum:
    """The effect of a clear on the requests from now on.

    `leaves`: tokens that the prompt loses, placeholders subtracted, thinking apart (negative where these are larger) · `share`: of the
    context, 0 to 1 · `rewritten`: tokens that are written again, placeholders included, where the cache is warm ·
    `cost_now`: units that the rewrite costs beyond a read, 0 when the cache is cold ·
    `saved_now`: units that the next request costs less, 0 when the cache is warm · `saved_per_request`: units, each request that finds
    the cache warm · `thinking`: tokens of thinking that leave too, `thinking_cost`: units for thinking a part again · `pays_after`:
    requests until the costs are earned, the rewriting one counted; 0 at once, None never · `warm` · `cache_ttl_s` · `read`, `write`:
    the prices it is reckoned with, `model` whose these are.
    """

    __slots__ = (
        "cache_ttl_s", "cost_now", "leaves", "model", "pays_after", "read", "rewritten", "saved_now",
        "saved_per_request", "share", "thinking", "thinking_cost", "warm", "write",
    )  # fmt: skip

    def __init__(self, change: Change, prices: Prices) -> None:
        self.warm = change.warm
        self.cache_ttl_s = prices.ttl_s
        self.read, self.write, self.model = prices.read, prices.write, prices.model
        self.leaves = change.leaving - change.staying
        self.thinking = change.thinking if prices.bound else 0
        self.rewritten = change.rewritten
        removed = max(0, self.leaves)
        self.share = round(min(1.0, removed / change.prompt), 4) if change.prompt > 0 else 0.0
        removed += self.thinking if removed else 0
        self.cost_now = round(self.rewritten * (prices.write - prices.read), 2) if change.warm else 0.0
        self.thinking_cost = round(THINKING_AGAIN * self.thinking * prices.output, 2)
        self.saved_now = 0.0 if change.warm else round(removed * prices.write, 2)
        self.saved_per_request = round(removed * prices.read, 2)
        self.pays_after = self._pays_after() if removed else None

    def _pays_after(self) -> int | None:
        # In hundredths, which are whole: a quotient of fractions may lie a hair above the number that it is.
        owed = round((self.cost_now + self.thinking_cost - self.saved_now) * 100)
        each = round(self.saved_per_request * 100)
        if owed <= 0:
            return 0
        return -(-owed // each) if each else None

    def to_json(self) -> shapes.Sum:
        return {name: getattr(self, name) for name in self.__slots__}  # type: ignore[return-value]  # the slots are its keys


def pays(sum: Sum, likely_requests: int | None = None) -> bool:
    """Return whether a clear earns its cost within the requests that are likely to follow; None for those that usually follow a prompt."""
    if likely_requests is None:
        likely_requests = LIKELY_REQUESTS[sum.cache_ttl_s]
    return sum.pays_after is not None and sum.pays_after <= likely_requests
