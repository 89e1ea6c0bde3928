"""What PopKit really saved and what it was charged, from the usage of the requests that were sent. Pure.

Compared is with the session that would have been without us. Its requests would carry what is out of the context, and read it from the
cache or write it, whichever the request itself shows; it would lack what was fetched again, restored or said by us, and the writes to
the cache that a changed transcript takes. Prices and units as in `economics`.

A change of the transcript shows in a request only once the client has loaded the file again. So a clear is *pending* until a request
confirms it: one whose prompt lacks at least half of what the clear was estimated at. What did not enter was never in a prompt, so no
request can confirm it: it is an estimate, counted at once, and saves from the first request that goes without it, to a compaction or until
its own result is cleared. A request of ours that kept the cache warm is charged, and pays where the user came back so late that the cache
would have been cold, and found it warm. What memory gave a context is charged as all text of ours; a look-up that it spared would have
been a request with the prompt of the one before, and a result that later ones carry: an estimate too. What is doubtful counts against us.
"""

from __future__ import annotations

from .bookings import (
    Advice,
    Booking,
    Cleared,
    Compaction,
    KeptOut,
    Refetched,
    Remembered,
    Request,
    Restored,
    Spared,
    Undone,
    Warmed,
)  # fmt: skip
from .economics import write_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .economics import Prices

GAINS = ("cleared", "kept_out", "kept_warm", "memory")
CAUSES = ("rewrite", "restores", "refetches", "advice", "warming", "memory")
# Units; dollars of those whose price is known; units without a price, saved or charged.
AMOUNTS = (
    *("saved_" + gain for gain in GAINS), "charged", *("usd_" + gain for gain in GAINS), "usd_charged", "unpriced",
)  # fmt: skip
# What is also summed by day.
DAILY = (*AMOUNTS, "kept_out_tokens", "reclaimed_tokens")
# Of a lifetime of an hour, some of a prompt may have been written for less: read to no token after that long, it was cold.
_SHORTEST_S = 300
_MILLION = 1_000_000
# Of so many models it is known which tokens they used less, and of an id so many characters.
_MOST_MODELS, _MODEL_CHARS = 6, 60
# Begins the names of these sums, "moved KIND MODEL"; itself the units, saved and charged, whose tokens are among them.
MOVED = "moved"
_COUNTS = (
    "reclaimed_tokens", "pending_tokens", "clears", "confirmed", "results", "undone", "restored", "refetched", "advice_tokens",
    "kept_out", "kept_out_tokens", "warmings", "kept_warm", "memory_tokens", "spared",
)  # fmt: skip


class Ledger:
    """What came of all bookings.

    `reclaimed_tokens`: seen to be gone, whether they are still out or not · `pending_tokens`: cleared, not yet seen to be gone, counted
    nowhere else · `clears`, of which `confirmed`, with so many `results` · `undone`, `restored`, `refetched`: how often ·
    `advice_tokens`: text that we added · `kept_out`: results of which a part did not enter, and these `kept_out_tokens` (an estimate) ·
    `warmings`: requests of ours that kept the cache warm, `kept_warm`: those of the user's that found it so · `memory_tokens`: what memory
    gave contexts, `spared`: look-ups that were not made because of it (an estimate) · `gained` and `charged` (by cause): units ·
    `charged_usd` (by cause): dollars, of those whose price is known · `amounts`: AMOUNTS, `days`: DAILY of each day ·
    `moved`: (model, kind as in limits.TOKEN_USES) -> tokens that were used less, or more where negative.
    """

    __slots__ = (*_COUNTS, "_day_of", "_is_partial", "amounts", "charged", "charged_usd", "days", "gained", "moved")

    def __init__(self, day_of: Callable[[float], str] | None = None) -> None:
        """`day_of(seconds)` names the day of a time; without it nothing is summed by day."""
        self.reclaimed_tokens = self.pending_tokens = self.clears = self.confirmed = self.results = 0
        self.undone = self.restored = self.refetched = self.advice_tokens = 0
        self.kept_out = self.kept_out_tokens = self.warmings = self.kept_warm = self.memory_tokens = self.spared = 0
        self.gained = dict.fromkeys(GAINS, 0.0)
        self.charged = dict.fromkeys(CAUSES, 0.0)
        self.charged_usd = dict.fromkeys(CAUSES, 0.0)
        self.amounts = dict.fromkeys(AMOUNTS, 0.0)
        self.days: dict[str, dict[str, float]] = {}
        self.moved: dict[tuple[str, str], float] = {}
        self._is_partial = False
        self._day_of = day_of

    @property
    def saved(self) -> float:
        """Return the units saved, of all causes."""
        return sum(self.gained.values())

    @property
    def net(self) -> float:
        """Return the units saved beyond those charged; negative where PopKit has cost more than it gave."""
        return self.saved - sum(self.charged.values())

    def gain(self, cause: str, units: float, at: float, usd: float | None) -> None:
        """Add units that were saved then; `usd` as of a Request."""
        self.gained[cause] += units
        self._note("saved_" + cause, "usd_" + cause, units, at, usd)

    def charge(self, cause: str, units: float, at: float, usd: float | None) -> None:
        """Add units that were charged then."""
        self.charged[cause] += units
        self.charged_usd[cause] += units * (usd or 0.0) / _MILLION
        self._note("charged", "usd_charged", units, at, usd)

    def move(self, kind: str, tokens: float, prices: Prices) -> None:
        """Add tokens that were used less in this way (`plain`, `read`, `write`, `output`), or more where negative."""
        kind = write_kind(prices.ttl_s) if kind == "write" else kind
        column = (prices.model, kind)
        known = {model for model, _ in self.moved}
        if prices.model in known or (0 < len(prices.model) <= _MODEL_CHARS and len(known) < _MOST_MODELS):
            self.moved[column] = self.moved.get(column, 0.0) + tokens
        else:
            self._is_partial = self._is_partial or bool(tokens)

    def keep_out(self, booking: KeptOut) -> None:
        """Add a result that entered shorter."""
        self.kept_out += 1
        self.kept_out_tokens += booking.tokens
        self._by_day("kept_out_tokens", booking.tokens, booking.at)

    def reclaim(self, tokens: int, at: float) -> None:
        """Add tokens that a request shows to be gone."""
        self.reclaimed_tokens += tokens
        self._by_day("reclaimed_tokens", tokens, at)

    def _by_day(self, name: str, amount: float, at: float) -> None:
        if amount and self._day_of is not None:
            table = self.days.setdefault(self._day_of(at), {})
            table[name] = table.get(name, 0.0) + amount

    def _note(self, name: str, usd_name: str, units: float, at: float, usd: float | None) -> None:
        if not units:
            return
        money = ("unpriced", units) if usd is None else (usd_name, units * usd / _MILLION)
        for key, amount in ((name, units), money):
            self.amounts[key] += amount
            self._by_day(key, amount, at)

    def to_json(self) -> dict[str, float]:
        plain: dict[str, float] = {name: getattr(self, name) for name in _COUNTS}
        for cause in CAUSES:
            plain["charged_" + cause] = round(self.charged[cause], 1)
            plain["usd_charged_" + cause] = round(self.charged_usd[cause], 6)
        for name, amount in self.amounts.items():
            plain[name] = round(amount, 6 if name.startswith("usd_") else 1)
        if not self._is_partial:
            moved = {f"{MOVED} {kind} {model}": round(tokens) for (model, kind), tokens in self.moved.items() if round(tokens)}
            plain.update({MOVED: round(self.saved + sum(self.charged.values()), 1), **moved} if moved else {})
        return {**plain, "saved": round(self.saved, 1), "net": round(self.net, 1)}


def settle(requests: Iterable[Request | Compaction], bookings: Iterable[Booking], day_of: Callable[[float], str] | None = None) -> Ledger:
    """Return the ledger of one context, from its Requests and Compactions in the order in which they were sent and all bookings in any
    order."""
    first = next((request for request in requests if isinstance(request, Request)), None)
    context = _Context(Ledger(day_of), first or Request(0.0, 0, 0, 0))
    waiting = sorted(bookings, key=_order, reverse=True)
    for moment in requests:
        while waiting and waiting[-1].at < moment.at:
            context.book(waiting.pop())
        if isinstance(moment, Compaction):
            context.compact()
        else:
            context.send(moment)
    while waiting:
        context.book(waiting.pop())
    context.ledger.pending_tokens = round(sum(max(0, change.tokens) for change in context.pending))
    return context.ledger


def _order(booking: Booking) -> tuple[float, int, tuple[object, ...]]:
    return booking.at, booking.rank, booking.order()


class _Change:
    """A change of the transcript that no request has shown yet: `tokens` leave the prompt, or come back to it when negative."""

    __slots__ = ("results", "tokens")

    def __init__(self, tokens: float, results: int = 0):
        self.tokens = tokens
        self.results = results


class _Context:
    """The conversation between two requests: what is changed and not yet shown, what is out, what of our making it carries."""

    def __init__(self, ledger: Ledger, first: Request):
        self.ledger = ledger
        self.written = first  # the newest request that wrote to the cache
        self.compact()

    @property
    def prices(self) -> Prices:
        """Return the prices of the newest write to the cache."""
        return self.written.prices

    def compact(self) -> None:
        """End all that we did to the context."""
        self.previous: Request | None = None
        self.pending: list[_Change] = []
        self.out = 0.0  # tokens that requests would carry but for us, as measured
        self.booked_out: float = 0  # the same as it was estimated
        self.carried = dict.fromkeys(CAUSES, 0)  # tokens that requests carry because of us
        self.fresh = dict.fromkeys(CAUSES, 0)  # the same, not sent yet
        self.kept_out: dict[str, int] = {}  # id -> tokens that requests go without, because they did not enter
        self.fresh_out: dict[str, int] = {}  # the same, where no request has gone without them yet
        self.cleared_out: dict[str, int] = {}  # the same, while their result is cleared
        self.kept_warm = 0  # tokens of the prompt that requests of ours have kept in the cache since the last one
        self.spared = self.fresh_spared = 0  # tokens of results that requests go without, because no look-up was needed; those not sent yet

    def book(self, booking: Booking) -> None:
        ledger = self.ledger
        if isinstance(booking, KeptOut):
            ledger.keep_out(booking)
            self.fresh_out[booking.id] = booking.tokens
        elif isinstance(booking, Cleared):
            ledger.clears += bool(booking.results)
            if booking.tokens:
                self.pending.append(_Change(booking.tokens, booking.results))
            self._take_away(booking.ids)
        elif isinstance(booking, Undone):
            ledger.undone += 1
            self._put_back(booking.tokens, booking.ids)
        elif isinstance(booking, Restored):
            ledger.restored += 1
            if booking.in_place:
                self._put_back(booking.tokens, booking.ids)
            else:
                self._say("restores", booking)
        elif isinstance(booking, Refetched):
            ledger.refetched += 1
            self._say("refetches", booking)
        elif isinstance(booking, Advice):
            ledger.advice_tokens += booking.tokens
            self._say("advice", booking)
        elif isinstance(booking, Remembered):
            ledger.memory_tokens += booking.tokens
            self._say("memory", booking)
        elif isinstance(booking, Spared):
            self._spare(booking)
        elif isinstance(booking, Warmed):
            ledger.warmings += 1
            ledger.charge("warming", self.prices.cost(booking.used()), booking.at, self.written.usd)
            for kind, tokens in booking.used().items():
                ledger.move(kind, -tokens, self.prices)
            self.kept_warm = max(self.kept_warm, booking.read + booking.created)

    def _say(self, cause: str, booking: Booking) -> None:
        """Charge the writing now, so that the charge stands even when the next thing is a compaction, and the carrying from the second
        request on."""
        self.ledger.charge(cause, booking.tokens * self.prices.write, booking.at, self.written.usd)
        self.ledger.move("write", -booking.tokens, self.prices)
        self.fresh[cause] += booking.tokens

    def _spare(self, booking: Spared) -> None:
        """Add a look-up that was not made: its request would have read what the one before has sent; its answer is not counted."""
        self.ledger.spared += 1
        self.fresh_spared += booking.tokens
        if self.previous is not None:
            self.ledger.gain("memory", booking.share * self.previous.prompt * self.prices.read, booking.at, self.previous.usd)
            self.ledger.move("read", booking.share * self.previous.prompt, self.prices)

    def _take_away(self, ids: Iterable[str]) -> None:
        """Take away what had not entered of cleared results: it is not counted on top of the clear, whether that is loaded yet or not."""
        for id in ids:
            for table in (self.kept_out, self.fresh_out):
                if id in table:
                    self.cleared_out[id] = table.pop(id)

    def _put_back(self, tokens: float, ids: Iterable[str]) -> None:
        """Put tokens back, first from what no request has shown yet, the last clear first: nobody will see it gone. The rest comes back to
        the prompt, and saves nothing from now on."""
        for id in ids:
            if id in self.cleared_out:
                self.kept_out[id] = self.cleared_out.pop(id)
        for change in reversed(self.pending):
            if change.tokens > 0:
                taken = min(tokens, change.tokens)
                change.tokens -= taken
                tokens -= taken
        self.pending = [change for change in self.pending if change.tokens]
        if tokens and self.booked_out:
            tokens = min(tokens, self.booked_out)
            back = self.out * (tokens / self.booked_out)
            self.out -= back
            self.booked_out -= tokens
            self.pending.append(_Change(-back))

    def send(self, request: Request) -> None:
        """Take a request into account: what it shows, what it saves, what it carries."""
        cold, ledger, at, usd = False, self.ledger, request.at, request.usd
        previous, kept_warm = self.previous, self._kept_warm(request)
        if previous is not None:
            # A request that writes much may do so because we changed the transcript. Then only time tells that the cache was cold.
            cold = request.read * 2 < previous.prompt and (not self.pending or self._has_run_out(previous, request))
            shown = self._shown_by(previous, request)
            if shown:
                self._take_effect(shown, _missing(previous, request), at)
                if not cold and not kept_warm:
                    beyond = max(0, request.created - request.added)
                    ledger.charge("rewrite", beyond * (request.prices.write - request.prices.read), at, usd)
                    self._rewrite(-beyond, request)
        first = "write" if request.created else "plain"  # where caching is switched off
        rate = first if cold else "read"
        without = "write" if kept_warm else rate  # how without us it would have used what was sent before
        self._spare_tokens("cleared", request, (without, self.out))
        self._spare_tokens("kept_out", request, (without, sum(self.kept_out.values())), (first, sum(self.fresh_out.values())))
        self._spare_tokens("memory", request, (without, self.spared), (first, self.fresh_spared))
        if kept_warm:
            # Without us it would not have written what is there because of us. Of what was cleared since that may be more than is left.
            theirs = kept_warm - sum(self.carried.values())
            ledger.kept_warm += 1
            ledger.gain("kept_warm", max(0, theirs) * (request.prices.write - request.prices.read), at, usd)
            ledger.charge("warming", max(0, -theirs) * (request.prices.write - request.prices.read), at, usd)
            self._rewrite(theirs, request)
        self._carry(rate, request)

    def _spare_tokens(self, cause: str, request: Request, *several: tuple[str, float]) -> None:
        """Add tokens that the request goes without, by how it would have used them."""
        self.ledger.gain(cause, sum(request.prices.of(kind) * tokens for kind, tokens in several), request.at, request.usd)
        for kind, tokens in several:
            self.ledger.move(kind, tokens, request.prices)

    def _rewrite(self, tokens: float, request: Request) -> None:
        """Add tokens that were read and would have been written, or were written and would have been read where negative."""
        self.ledger.move("write", tokens, request.prices)
        self.ledger.move("read", -tokens, request.prices)

    def _carry(self, rate: str, request: Request) -> None:
        """Charge what the request carries because of us, used as `rate` says; what was new counts as old from the next one on."""
        ledger = self.ledger
        for cause in CAUSES:
            ledger.charge(cause, self.carried[cause] * request.prices.of(rate), request.at, request.usd)
            ledger.move(rate, -self.carried[cause], request.prices)
            self.carried[cause] += self.fresh[cause]
            self.fresh[cause] = 0
        self.spared, self.fresh_spared = self.spared + self.fresh_spared, 0
        self.kept_out.update(self.fresh_out)
        self.fresh_out = {}
        self.kept_warm = 0
        self.previous = request
        if request.created:
            self.written = request

    def _kept_warm(self, request: Request) -> int:
        """Return the tokens that a request read from the cache and would have written, had no request of ours kept it warm: 0 where it came
        within the cache's life, or found little of the prompt before."""
        previous = self.previous
        if previous is None or not self.kept_warm or request.at - previous.until < self.prices.ttl_s:
            return 0
        return min(request.read, self.kept_warm) if request.read * 2 >= previous.prompt else 0

    def _has_run_out(self, previous: Request, request: Request) -> bool:
        gap_s = request.at - previous.at
        return gap_s >= self.prices.ttl_s or (request.read == 0 and gap_s >= _SHORTEST_S)

    def _shown_by(self, previous: Request, request: Request) -> int:
        """Return how many of the pending changes the request shows. The client loads the transcript as it stands, so they take effect in
        order: the first so many whose sum comes nearest to what is missing."""
        missing = _missing(previous, request)
        # What was read from the cache is as it was before; what left stood in the rest of the previous prompt.
        can_be_gone = min(missing, previous.prompt - request.read)
        shown, nearest = 0, float(abs(missing))
        cleared = total = 0.0
        for number, change in enumerate(self.pending, 1):
            cleared += max(0, change.tokens)
            total += change.tokens
            if cleared and cleared > 2 * can_be_gone:
                break
            if abs(missing - total) <= nearest:
                shown, nearest = number, abs(missing - total)
        return shown

    def _take_effect(self, shown: int, missing: int, at: float) -> None:
        changes, self.pending = self.pending[:shown], self.pending[shown:]
        cleared = [change for change in changes if change.tokens > 0]
        estimate = round(sum(change.tokens for change in cleared))
        back = sum(-change.tokens for change in changes if change.tokens < 0)
        if cleared:
            gone = min(round(missing + back), estimate + estimate // 2)
            self.out += gone
            self.booked_out += estimate
            self.ledger.reclaim(gone, at)
            self.ledger.confirmed += len(cleared)
            self.ledger.results += sum(change.results for change in cleared)


def _missing(previous: Request, request: Request) -> int:
    """Return the tokens that the prompt lacks of what it would hold had nothing changed; negative where it holds more."""
    return previous.prompt + request.added - request.prompt
