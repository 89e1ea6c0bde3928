"""Say what a model costs, how large its window is and whether its thinking is bound to an unedited past; and reckon what a clear costs with
the prompt cache, and when it pays. Pure.

A request reads from the cache the longest beginning that an earlier request *ended* at, looked for a bounded number of positions back, and
writes the rest. So dropping tokens from a warm cache costs a rewrite of what stays behind the first of them; of all messages where it
is further back than the look-back. Each request from then on reads that much less. With a cold cache the prompt is written anyway,
and the smaller one is cheaper at once. Where a model binds its thinking to an unedited past, what it thought behind the first change
leaves too, and a share of it is reckoned as thought again. Prices are in units: one unit is one plain input token.

The figures are those of the table `models` of the configuration, which says by `dated` when they held. The shipped ones are from the
provider's documentation of November 2026.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from . import shapes


# --- models and their prices ---

WINDOW_TOKENS = 1_000_000
LONG_MARK = "[1m]"
HOUR_S = 3_600
# Of every model that has a price, an output token costs as much as five of the input.
OUTPUT_UNITS = 5.0


class Model:
    """One model. What the table does not say of it is taken as the most cautious case; `known` tells whether it names the model at all.

    `id`: as it was asked for · `read`, `write_5m`, `write_1h`: units a token · `input_usd`, `output_usd`: dollars a million tokens, None
    where the price is not known · `long_input_usd`, `long_output_usd`: the prices of a prompt of more than `long_prompt_tokens`, None
    where one price holds for all · `window`: tokens, `window_before` those that it had until the day of `window_since` (0 and "" where
    it always had the same) · `thinking_bound`: whether a change of the past loses the thinking behind it · `kept_s`: seconds for which the
    provider keeps an unused cache, longer than the client asks for; 0 where it does not · `tokens`: of its own for each one that is
    estimated (estimate.py); 1 for a model that the table does not name, as those that come are counted like today's.
    """

    __slots__ = (
        "id", "input_usd", "kept_s", "known", "long_input_usd", "long_output_usd", "long_prompt_tokens", "output_usd", "read",
        "thinking_bound", "tokens", "window", "window_before", "window_since", "write_1h", "write_5m",
    )  # fmt: skip

    def __init__(self, id: str, entry: dict[str, Any] | None = None) -> None:
        known = entry if isinstance(entry, dict) else {}
        self.id = id
        self.known = entry is not None
        self.read = _number(known.get("read"), 0.025)
        self.write_5m = _number(known.get("write_5m"), 1.25)
        self.write_1h = _number(known.get("write_1h"), 2.0)
        self.input_usd = _number(known.get("input"), None)
        self.output_usd = _number(known.get("output"), None)
        self.long_prompt_tokens = _number(known.get("long_prompt"), None)
        self.long_input_usd = _number(known.get("long_input"), None)
        self.long_output_usd = _number(known.get("long_output"), None)
        self.window = WINDOW_TOKENS if LONG_MARK in id else _number(known.get("window"), WINDOW_TOKENS)
        self.window_before = 0 if LONG_MARK in id else _number(known.get("window_before"), 0)
        since = known.get("window_since")
        self.window_since = since if isinstance(since, str) else ""
        self.thinking_bound = known.get("thinking_bound") is not False
        self.kept_s = _number(known.get("kept_s"), 0)
        self.tokens = _number(known.get("tokens"), 1.0)

    def write_price(self, ttl_s: float) -> float:
        """Return the units for a token that is written to the cache, for a lifetime in seconds: an hour, or five minutes for anything
        shorter."""
        return self.write_1h if ttl_s >= HOUR_S else self.write_5m

    @property
    def output_units(self) -> float:
        """Return the units for a token of the answer, thinking included."""
        return self.output_usd / self.input_usd if self.input_usd and self.output_usd else OUTPUT_UNITS

    def usd(self, prompt_tokens: int) -> tuple[float | None, float | None]:
        """Return the dollars a million tokens of (input, output) in a request with a prompt of this size."""
        if self.long_prompt_tokens is not None and prompt_tokens > self.long_prompt_tokens:
            return self.long_input_usd, self.long_output_usd
        return self.input_usd, self.output_usd


class Models:
    """The table of models. `dated`: the month that its prices are of, "" where it does not say."""

    __slots__ = ("_by_id", "_known", "dated")

    def __init__(self, by_id: dict[str, Any], dated: str = "") -> None:
        self._by_id = by_id
        self._known: dict[str, Model] = {}
        self.dated = dated

    def model(self, id: str) -> Model:
        """Return the model of an id as the host writes it (`claude-opus-5-5[1m]`, `us.anthropic.claude-haiku-4-5-20251001-v1:0`); one that
        the table does not name is not `known`. The longest id that fits counts."""
        model = self._known.get(id)
        if model is None:
            name = plain(id)
            fitting = [known for known in self._by_id if _fits(known, name)]
            entry = self._by_id[max(fitting, key=len)] if fitting else None
            model = self._known[id] = Model(id, entry)
        return model


def models_of(config: dict[str, Any]) -> Models:
    """Return the models of an effective `retention` object; without a table no model is known, and each is treated with the most
    caution."""
    table = config.get("models")
    table = table if isinstance(table, dict) else {}
    by_id, dated = table.get("by_id"), table.get("dated")
    return Models(by_id if isinstance(by_id, dict) else {}, dated if isinstance(dated, str) else "")


def plain(id: str) -> str:
    """Return the id from `claude-` or `gpt-` on, without what a provider puts before it, with hyphens for dots in a version."""
    at = max(id.find("claude-"), id.find("gpt-"), 0)
    return id[at:].partition("[")[0].replace(".", "-").replace("@", "-").lower()


def _fits(known: str, name: str) -> bool:
    """Return whether an id of the table means this model: the same, or followed by a date or a revision. Another word or number
    (`claude-opus-5` and `claude-opus-5-7`) makes it another model; an id that ends in `*` takes anything."""
    if known.endswith("*"):
        return name.startswith(known[:-1])
    if not name.startswith(known):
        return False
    rest = name[len(known) :]
    if rest[:1] not in ("", "-", ":"):
        return False
    word = rest[1:].partition("-")[0].partition(":")[0]
    return rest[:1] in ("", ":") or word == "latest" or (word.isdigit() and len(word) > 2) or (word[:1] == "v" and word[1:].isdigit())


def _number(value: Any, otherwise: Any) -> Any:
    return value if type(value) in (int, float) else otherwise


# --- what a clear costs ---

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

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def prices_of(model: Model, cache_ttl_s: float) -> Prices:
    """Return the prices of a Model with a lifetime of the cache."""
    write = model.write_price(cache_ttl_s)
    return Prices(model.read, write, model.output_units, cache_ttl_s, model.thinking_bound, model.id, model.known)


class Change:
    """What a clear changes in the prompt of the newest request: `prompt`, its tokens · `base`, those of system and tools, which every
    change leaves in the cache · `prefix`, those up to the last request that ended before the first change · `requests_back`: how many
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
    """What a clear does to the requests from now on.

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
    """Return whether a clear earns what it costs within the requests that are likely to follow; None for what usually follows a prompt."""
    if likely_requests is None:
        likely_requests = LIKELY_REQUESTS[sum.cache_ttl_s]
    return sum.pays_after is not None and sum.pays_after <= likely_requests
