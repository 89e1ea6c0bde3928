"""Whether the prompt cache of a session is kept warm, and what comes next: the user's word, the newest request, what was sent so far. Reads
no more of the transcript than its end.

Facts of the session: `warm`, the user's word (on or off) · `warming`, of the requests since the newest answer: {`row` (id of that answer),
`model` (as the client names it), `used` (when the last that was answered was sent), `next` (when the next will be, null for never), `ended`
(why), `about`}.

The journal tells of each request twice: before it is sent (`warming`: what it will cost, behind which answer), so that no other window,
helper or kill makes a session send more than its limits allow, and once it is answered (`warmed`: what it has cost). Times are names here,
too: both say the same.
"""

from __future__ import annotations

import os

from ..hosts import is_kept
from ..hosts.claude_code import moments
from ..io import files
from ..policy import economics, warming
from ..policy.ruleset import KEEP_WARM_REQUESTS, KEEP_WARM_USD
from . import breaks, journal, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.economics import Prices
    from ..policy.models import Models
    from .site import Site

ON, OFF = "on", "off"
_NAME_CHARS = 200
_MOST_USD = 1e6


class Warmth:
    """`on`, by the word of the session or by configuration (`from_session`) · `moment`: the newest request, None before the first · `model`
    and `prices` that hold for it · `usd`: dollars a unit, None where they are not known · `sent`: journal entries of all requests of the
    session that kept the cache warm and were answered, `in_a_row`: how many were sent since the newest answer · `open_at`: when one of
    these was sent that was not answered (yet), None for none · `spent`: dollars, with those that were never answered · `facts`: see above,
    empty where they are of an answer before · `most_in_a_row`, `most_usd`: the limits · `own`: the breaks."""

    def __init__(self, site: Site, transcript_path: str) -> None:
        config, word = site.config, site.session.get("warm")
        self.from_session = word in (ON, OFF)
        self.is_guest = is_kept(site.session_id)
        self.on = site.enabled and (word if self.from_session else config.get("keep_warm")) == ON
        self.most_in_a_row: int = config.get("keep_warm_requests", KEEP_WARM_REQUESTS)
        self.most_usd: float = config.get("keep_warm_usd", KEEP_WARM_USD)
        self.moment = moments.newest(transcript_path) if transcript_path else None
        usage = self.moment.usage if self.moment else None
        self.models: Models = site.rules().models
        self.model = self.models.model(usage.model if usage else "")
        self.prompt = usage.tokens if usage else 0
        self.prices, self.usd = _priced(self.models, usage.model if usage else "", self.prompt, usage.cache_ttl_s if usage else 300)
        self._count(store.read_lines(site.paths().journal))
        self.last_row: dict[str, Any] = site.session.get("warming") or {}
        self.facts = self.last_row if self.moment and self.last_row.get("row") == self.row else {}
        self.own = breaks.own(site.home)

    @property
    def row(self) -> str:
        """Names the newest answer, "" before the first."""
        return self.moment.message_id[:_NAME_CHARS] if self.moment else ""

    def _count(self, entries: list[Any]) -> None:
        self.sent = [entry for entry in entries if _is_sent(entry)]
        answered = {entry["at"]: self._usd_of(entry) for entry in self.sent}
        asked = [entry for entry in entries if _is_asked(entry)]
        in_row = [entry["at"] for entry in asked if self.row and entry["row"] == self.row]
        self.in_a_row = len(in_row)
        self.open_at: float | None = max((at for at in in_row if at not in answered), default=None)
        self._asked_at = max(in_row, default=0.0)
        self.spent = sum(map(self._usd_of, self.sent)) + sum(entry["usd"] for entry in asked if entry["at"] not in answered)

    def _usd_of(self, entry: dict[str, Any]) -> float:
        """What an answered request has cost, at the prices of its time."""
        usd = entry.get("usd")
        if isinstance(usd, (int, float)) and 0 <= usd < _MOST_USD:
            return usd
        return self.usd_for(entry["prompt"], entry["read"], entry["created"], entry["output"])

    def usd_for(self, prompt: int, read: int, created: int, output: int) -> float:
        """What a request of such a usage costs, in dollars."""
        return warming.cost(prompt, read, created, output, self.prices) * (self.usd or 0.0)

    @property
    def used_at(self) -> float:
        """When the cache was last used, as far as is known (seconds)."""
        used = self.facts.get("used")
        sent_at = self.moment.sent_at if self.moment else 0.0
        return max(sent_at, self._asked_at, used if isinstance(used, (int, float)) else 0.0)

    @property
    def refused(self) -> str:
        """Why nothing is ever sent in this session: the provider keeps its cache by itself, the cache lasts an hour, or the host lets
        nobody send a request over the cached prompt; "" where it may."""
        if self.moment is not None and self.model.kept_s:
            return warming.KEPT
        if self.is_guest:
            return warming.HOST
        return warming.HOUR if self.moment is not None and warming.is_refused(self.prices) else ""

    def following(self, now: float, every_s: float = 0.0) -> warming.Next:
        """What comes next; `every_s`: seconds between requests, where another number than the lifetime's holds."""
        if not self.on:
            return warming.Next(None, 0, warming.OFF)
        if self.moment is None:
            return warming.Next(None, 0, warming.NO_REQUEST)
        if self.refused:
            return warming.Next(None, 0, self.refused)
        row = warming.Row(self.prompt, self.prices, self.usd, self.used_at, self.in_a_row, self.spent, self.open_at)
        found = warming.following(row, self.most_in_a_row, self.most_usd, now, every_s)
        ended = self.facts.get("ended")
        return warming.Next(None, found.most, ended) if isinstance(ended, str) and ended in warming.FOR_GOOD else found

    def past(self) -> warming.Past:
        """What it would have been worth in the user's own sessions, at the prices and with the limits of now."""
        return warming.Past(self.own.breaks, lambda model, prompt: _priced(self.models, model, prompt), self.most_in_a_row, self.most_usd)


def locked(site: Site) -> files.Lock:
    """One helper at a time decides for a session; files.LockTimeout where another does for too long."""
    folder = site.paths().folder
    files.make_private_folder(folder, may_be_link=False)
    return files.Lock(os.path.join(folder, "warming.lock"))


def ask(site: Site, found: Warmth, now: float) -> None:
    """Writes down that a request is sent now. OSError where it cannot be: then none may be."""
    usd = warming.price(found.prompt, found.prices) * (found.usd or 0.0)
    store.journal(site.paths(), journal.warming(found.row, usd, now))


def _priced(models: Models, model_id: str, prompt: int, ttl_s: float = 300) -> tuple[Prices, float | None]:
    """The prices of a model, and dollars a unit."""
    model = models.model(model_id)
    dollars = model.usd(prompt)[0]
    return economics.prices_of(model, ttl_s), None if dollars is None else dollars / 1e6


def _is_asked(entry: Any) -> bool:
    if not (isinstance(entry, dict) and entry.get("event") == "warming" and isinstance(entry.get("row"), str)):
        return False
    return all(isinstance(entry.get(name), (int, float)) and entry[name] >= 0 for name in ("at", "usd"))


def _is_sent(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("event") != "warmed" or not isinstance(entry.get("at"), (int, float)):
        return False
    return all(type(entry.get(name)) is int for name in ("prompt", "read", "created", "output"))
