"""Whether the prompt cache of a session is kept warm, and what comes next: the user's word, the newest request, what was sent so far, the
breaks of the past. Reads no more of the transcript than its end.

Facts of the session: `warm`, the user's word (on or off) · `warming`, of the requests since the newest answer: {`row` (id of that answer),
`model` (as the client names it), `used` (when the last that was answered was sent), `next` (when the next will be, null for never), `ended`
(why), `about`}.
"""

from __future__ import annotations

from ..host import moments
from ..policy import economics, warming
from ..policy.ruleset import KEEP_WARM_REQUESTS, KEEP_WARM_USD
from . import breaks, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.models import Model
    from .site import Site

ON, OFF = "on", "off"


class Warmth:
    """`on`, by the word of the session or by configuration (`from_session`) · `moment`: the newest request, None before the first · `model`
    and `prices` that hold for it · `usd`: dollars a unit, None where they are not known · `sent`: journal entries of all requests of the
    session that kept the cache warm, `in_a_row`: how many of them since the newest answer · `spent`: dollars · `facts`: see above, empty
    where they are of an answer before · `most_in_a_row`, `most_usd`: the limits · `own`, `others`: the breaks."""

    def __init__(self, site: Site, transcript_path: str) -> None:
        config, word = site.config, site.session.get("warm")
        self.from_session = word in (ON, OFF)
        self.on = site.enabled and (word if self.from_session else config.get("keep_warm")) == ON
        self.most_in_a_row: int = config.get("keep_warm_requests", KEEP_WARM_REQUESTS)
        self.most_usd: float = config.get("keep_warm_usd", KEEP_WARM_USD)
        self.moment = moments.newest(transcript_path) if transcript_path else None
        usage = self.moment.usage if self.moment else None
        self.model: Model = site.rules().models.model(usage.model if usage else "")
        self.prices = economics.prices_of(self.model, usage.cache_ttl_s if usage else 300)
        self.prompt = usage.tokens if usage else 0
        dollars = self.model.usd(self.prompt)[0]
        self.usd = None if dollars is None else dollars / 1e6
        self.sent = [entry for entry in store.read_lines(site.paths().journal) if _is_sent(entry)]
        answered_at = self.moment.answered_at if self.moment else 0.0
        self.in_a_row = sum(entry["at"] > answered_at for entry in self.sent)
        self.spent = sum(map(self._usd_of, self.sent))
        self.last_row: dict[str, Any] = site.session.get("warming") or {}
        self.facts = self.last_row if self.moment and self.last_row.get("row") == self.moment.message_id else {}
        self.own, self.others = breaks.own(site.home), breaks.others()

    def _usd_of(self, entry: dict[str, Any]) -> float:
        units = warming.cost(entry["prompt"], entry["read"], entry["created"], entry["output"], self.prices)
        return units * (self.usd or 0.0)

    @property
    def breaks(self) -> warming.Breaks:
        ttl_s = self.prices.ttl_s
        return warming.Breaks(self.own.after_which_cold(ttl_s), self.others.after_which_cold(ttl_s))

    @property
    def used_at(self) -> float:
        """When the cache was last used, as far as is known (seconds)."""
        used = self.facts.get("used")
        sent_at = self.moment.sent_at if self.moment else 0.0
        return max(sent_at, used) if isinstance(used, (int, float)) else sent_at

    def following(self, now: float, every_s: float = 0.0) -> warming.Next:
        """What comes next; `every_s`: seconds between requests, where another number than the lifetime's holds."""
        if not self.on:
            return warming.Next(None, 0, warming.OFF)
        if self.moment is None:
            return warming.Next(None, 0, warming.NO_REQUEST)
        row = warming.Row(self.prompt, self.prices, self.usd, self.used_at, self.in_a_row, self.spent)
        found = warming.following(row, self.breaks, self.most_in_a_row, self.most_usd, now, every_s)
        ended = self.facts.get("ended")
        return warming.Next(None, found.most, ended) if isinstance(ended, str) and ended in warming.FOR_GOOD else found

    def past(self) -> warming.Past:
        """What it would have been worth in the user's own breaks, at the prompt and the prices of now."""
        number = warming.most(self.breaks, self.prompt, self.prices, min(self.most_in_a_row, warming.MOST))
        return warming.Past(self.own.after_which_cold(self.prices.ttl_s), number, self.prompt, self.prices)


def _is_sent(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("event") != "warmed" or not isinstance(entry.get("at"), (int, float)):
        return False
    return all(type(entry.get(name)) is int for name in ("prompt", "read", "created", "output"))
