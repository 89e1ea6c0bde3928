"""A model: its prices, its window, whether its thinking is bound to an unedited past. Pure.

The figures are those of the table `models` of the configuration, which says by `dated` when they held. The shipped ones are from the
provider's documentation of November 2026. Prices are in units: one unit is one plain input token.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


WINDOW_TOKENS = 1_000_000
LONG_MARK = "[1m]"
HOUR_S = 3_600
# Of every model that has a price, an output token costs as much as five of the input.
OUTPUT_UNITS = 5.0


class Model:
    """A model. What the table does not say of it is taken as the most cautious case; `known` tells whether it names the model at all.

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

    def __init__(self, id: str, entry: dict[str, object] | None = None) -> None:
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


def models_of(config: dict[str, object]) -> Models:
    """Return the models of an effective `retention` object; without a table no model is known, and each is treated with the most
    caution."""
    table = config.get("models")
    table = table() if callable(table) else table  # see `effective`
    table = table if isinstance(table, dict) else {}
    by_id, dated = table.get("by_id"), table.get("dated")
    return Models(by_id if isinstance(by_id, dict) else {}, dated if isinstance(dated, str) else "")


def plain(id: str) -> str:
    """Return the id from `claude-` or `gpt-` on, without a provider's prefix, with hyphens for dots in a version."""
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
