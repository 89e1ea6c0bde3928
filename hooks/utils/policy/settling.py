"""Settle a ledger: PopKit's savings, from the requests that were sent. Pure.

Compared is with the session that would have been without us. Its requests would carry what is out of the context, and read it from the
cache or write it, whichever the request itself shows; it would lack what was fetched again, restored or said by us, and the writes to
the cache that a changed transcript takes. Prices and units as in `economics`.

Without us the host would have compacted, too: whenever the person asked for it, and whenever that other session's prompt would have come to
the size at which it does so. From then on the other session has what the host's compaction leaves (host_compaction.py), and nothing of
what we did before counts any more; what is fetched again behind it would have had to be fetched anyway. A compaction of ours in its place
saves the summariser's request and its summary, and costs what is written again; from then on the two conversations differ by what each has
left. The host's own compaction costs in both.

A change of the transcript shows in a request only once the client has loaded the file again. So a clear is *pending* until a request
confirms it: one whose prompt lacks at least half of what the clear was estimated at. What did not enter, and what memory spared, no request
can confirm: estimates, counted at once (docs/design/README.md, *What counts as saved*). What is doubtful counts against us.
"""

from __future__ import annotations

from .bookings import Advice, Booking, Cleared, Compaction, KeptOut, Refetched, Remembered, Request, Restored, Spared, Undone  # fmt: skip
from .host_compaction import HostCompaction, request_units, summary_units
from .ledger import CAUSES, Ledger  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .economics import Prices

# Of a lifetime of an hour, some of a prompt may have been written for less: read to no token after that long, it was cold.
_SHORTEST_S = 300


def settle(
    requests: Iterable[Request | Compaction], bookings: Iterable[Booking], day_of: Callable[[float], str] | None = None,
    host: HostCompaction | None = None,
) -> Ledger:  # fmt: skip
    """Return the ledger of one context, from its Requests and Compactions in the order in which they were sent and all bookings in any
    order; `host`: what it would have done by itself."""
    first = next((request for request in requests if isinstance(request, Request)), None)
    context = _Context(Ledger(day_of), first or Request(0.0, 0, 0, 0), host or HostCompaction())
    waiting = sorted(bookings, key=lambda booking: (booking.at, booking.rank, booking.order()), reverse=True)
    for moment in requests:
        while waiting and waiting[-1].at < moment.at:
            context.book(waiting.pop())
        if isinstance(moment, Compaction):
            context.compact(moment)
        else:
            context.send(moment)
    while waiting:
        context.book(waiting.pop())
    context.ledger.pending_tokens = round(sum(max(0, change.tokens) for change in context.pending))
    return context.ledger


class _Change:
    """A change of the transcript that no request has shown yet: `tokens` leave the prompt, or come back to it when negative."""

    __slots__ = ("results", "tokens")

    def __init__(self, tokens: float, results: int = 0):
        self.tokens = tokens
        self.results = results


class _Context:
    """The conversation between two requests: changes not yet shown, content that is out, and the additions of our making."""

    def __init__(self, ledger: Ledger, first: Request, host: HostCompaction):
        self.ledger = ledger
        self.host = host
        self.written = first  # the newest request that wrote to the cache
        self.newest: Request | None = None  # also from before a compaction
        self.without = 0.0  # tokens that it would have had without us
        self.compacted_at = float("-inf")  # when the host would have compacted last
        self.compaction: Compaction | None = None  # the one before the next request
        self._begin()

    @property
    def prices(self) -> Prices:
        """Return the prices of the newest write to the cache."""
        return self.written.prices

    def compact(self, compaction: Compaction) -> None:
        """End all our changes to the context; the next request shows what is left of it."""
        # What no request has shown was not in the newest prompt, but would have been in the compacted one.
        self.without += sum(self.fresh_out.values()) + self.fresh_spared
        self.without -= sum(self.fresh.values())
        self._begin()
        self.compaction = compaction

    def _begin(self) -> None:
        self.previous: Request | None = None
        self.pending: list[_Change] = []
        self.beside = 0.0  # tokens that requests would carry beyond those below, for another compaction; below 0 where they carry more
        self.lapsed = self.booked_lapsed = 0.0  # what was out when the host would have compacted, as measured and as estimated
        self.out = 0.0  # tokens that requests would carry but for us, as measured
        self.booked_out: float = 0  # the same as it was estimated
        self.reclaimed = 0.0  # of these, as the ledger counts them
        self.carried = dict.fromkeys(CAUSES, 0)  # tokens that requests carry because of us
        self.fresh = dict.fromkeys(CAUSES, 0)  # the same, not sent yet
        self.kept_out: dict[str, int] = {}  # id -> tokens that requests go without, because they did not enter
        self.fresh_out: dict[str, int] = {}  # the same, where no request has gone without them yet
        self.cleared_out: dict[str, int] = {}  # the same, while their result is cleared
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
            self._put_back(booking)
        elif isinstance(booking, Restored):
            ledger.restored += 1
            if booking.in_place:
                self._put_back(booking)
            else:
                self._charge_words("restores", booking)
        elif isinstance(booking, Refetched):
            ledger.refetched += 1
            if booking.since > self.compacted_at:
                self._charge_words("refetches", booking)
        elif isinstance(booking, Advice):
            ledger.advice_tokens += booking.tokens
            self._charge_words("advice", booking)
        elif isinstance(booking, Remembered):
            ledger.memory_tokens += booking.tokens
            self._charge_words("memory", booking)
        elif isinstance(booking, Spared):
            self._spare(booking)

    def _charge_words(self, cause: str, booking: Booking) -> None:
        """Charge the writing now, so that the charge is booked even when the next thing is a compaction, and the carrying from the second
        request on."""
        self.ledger.charge(cause, booking.tokens * self.prices.write, booking.at, self.written.usd)
        self.fresh[cause] += booking.tokens

    def _spare(self, booking: Spared) -> None:
        """Add a look-up that was not made: its request would have read what the one before has sent; its answer is not counted."""
        self.ledger.spared += 1
        self.fresh_spared += booking.tokens
        if self.previous is not None:
            self.ledger.gain("memory", booking.share * self.previous.prompt * self.prices.read, booking.at, self.previous.usd)

    def _take_away(self, ids: Iterable[str]) -> None:
        """Take away what had not entered of cleared results: it is not counted on top of the clear, whether that is loaded yet or not."""
        for id in ids:
            for table in (self.kept_out, self.fresh_out):
                if id in table:
                    self.cleared_out[id] = table.pop(id)

    def _put_back(self, booking: Undone | Restored) -> None:
        """Put tokens back, first from what no request has shown yet, the last clear first: nobody will see it gone. The rest comes back to
        the prompt, and saves nothing from now on."""
        tokens: float = booking.tokens
        for id in booking.ids:
            if id in self.cleared_out:
                self.kept_out[id] = self.cleared_out.pop(id)
        for change in reversed(self.pending):
            if change.tokens > 0:
                amount = min(tokens, change.tokens)
                change.tokens -= amount
                tokens -= amount
        self.pending = [change for change in self.pending if change.tokens]
        if tokens and self.booked_out:
            tokens = min(tokens, self.booked_out)
            back = self.out * (tokens / self.booked_out)
            self.out -= back
            self.booked_out -= tokens
            self._come_back(back, booking.at)
        elif tokens and self.booked_lapsed:
            tokens = min(tokens, self.booked_lapsed)
            back = self.lapsed * (tokens / self.booked_lapsed)
            self.lapsed -= back
            self.booked_lapsed -= tokens
            self.beside -= back
            self._come_back(back, booking.at)

    def _come_back(self, tokens: float, at: float) -> None:
        self.pending.append(_Change(-tokens))
        counted = min(tokens, self.reclaimed)
        self.reclaimed -= counted
        self.ledger.reclaim(-round(counted), at)

    def send(self, request: Request) -> None:
        """Take a request into account: the changes it shows, its savings, its load."""
        cold, ledger, at, usd = False, self.ledger, request.at, request.usd
        previous = self.previous
        if previous is not None:
            # A request that writes much may do so because we changed the transcript. Then only time tells that the cache was cold.
            cold = request.read * 2 < previous.prompt and (not self.pending or self._has_run_out(previous, request))
            shown = self._shown_by(previous, request)
            if shown:
                self._take_effect(shown, _missing(previous, request), at)
                if not cold:
                    beyond = max(0, request.created - request.added)
                    ledger.charge("rewrite", beyond * (request.prices.write - request.prices.read), at, usd)
        else:
            cold = self.newest is not None and self._has_run_out(self.newest, request)
        first = "write" if request.created else "plain"  # where caching is switched off
        rate = first if cold and (previous is not None or self.compaction is not None) else "read"
        self._compare(request, rate)
        self._spare_tokens("cleared", request, (rate, self.out))
        self._spare_tokens("kept_out", request, (rate, sum(self.kept_out.values())), (first, sum(self.fresh_out.values())))
        self._spare_tokens("memory", request, (rate, self.spared), (first, self.fresh_spared))
        self._carry(rate, request)

    def _spare_tokens(self, cause: str, request: Request, *several: tuple[str, float]) -> None:
        """Add tokens that the request goes without, by how it would have used them."""
        self.ledger.gain(cause, sum(request.prices.of(kind) * tokens for kind, tokens in several), request.at, request.usd)

    def _carry(self, rate: str, request: Request) -> None:
        """Charge what the request carries because of us, used as `rate` says; what was new counts as old from the next one on."""
        ledger = self.ledger
        for cause in CAUSES:
            ledger.charge(cause, self.carried[cause] * request.prices.of(rate), request.at, request.usd)
            self.carried[cause] += self.fresh[cause]
            self.fresh[cause] = 0
        self.spared, self.fresh_spared = self.spared + self.fresh_spared, 0
        self.kept_out.update(self.fresh_out)
        self.fresh_out = {}
        self.previous = self.newest = request
        if request.created:
            self.written = request

    def _compare(self, request: Request, rate: str) -> None:
        """Take into account how the prompt differs from that of the session without us, where either has been compacted."""
        compaction, self.compaction = self.compaction, None
        if compaction is None or self.newest is None:
            self.without = request.prompt + self._ours() + self.beside
        else:
            self.without += compaction.added
            self._set_beside(request)
        if self.newest is not None:
            self._compact_both(self.newest, request, rate, compaction)
        self.ledger.compare("carries", self.beside * request.prices.of(rate), request.at, request.usd)

    def _compact_both(self, before: Request, request: Request, rate: str, compaction: Compaction | None) -> None:
        """Charge the compaction that there was, and credit the one that the host would have made; its own in both sessions costs as much
        more as it read more in one."""
        is_due, grown = self._is_due(compaction, request.files), compaction.added if compaction else request.added
        warm = rate == "read" if compaction is None else compaction.at - before.at < request.prices.ttl_s
        if compaction is not None and is_due and not compaction.is_ours:
            more = self.without - grown - before.prompt
            self.ledger.compare("request", more * request.prices.of("read" if warm else "write"), request.at, request.usd)
            self._lapse(request.at)
            self.without = request.prompt + self._ours()
            self._set_beside(request)
            return
        if compaction is not None:
            self._pay(before, request, rate, compaction, warm)
        if is_due:
            self._spare_compaction(request, rate, grown, warm)

    def _pay(self, before: Request, request: Request, rate: str, compaction: Compaction, warm: bool) -> None:
        """Charge a compaction that the session without us has not had, or not in this way."""
        at, usd, prices = request.at, request.usd, request.prices
        if compaction.is_ours:
            self.lapsed = self.booked_lapsed = max(0.0, before.prompt + compaction.added - request.prompt)
        else:
            self.ledger.compare("request", -request_units(prices, before.prompt, before.prompt * warm), at, usd)
            self.ledger.compare("summary", -summary_units(prices, self.host.summary), at, usd)
        if rate == "read":
            again = max(0, request.created - compaction.added)
            self.ledger.compare("writes", -again * (prices.write - prices.read), at, usd)

    def _spare_compaction(self, request: Request, rate: str, grown: float, warm: bool) -> None:
        """Credit the compaction that the host would have made before a request, and go on with what it would have left."""
        ledger, host, at, usd, prices = self.ledger, self.host, request.at, request.usd, request.prices
        prompt = self.without - grown
        left = min(host.leaves(request.files), prompt)
        ledger.spared_compactions += 1
        ledger.compare("request", request_units(prices, prompt, prompt * warm), at, usd)
        ledger.compare("summary", summary_units(prices, host.summary), at, usd)
        self._lapse(at)
        self.without = left + grown
        self._set_beside(request)
        if rate == "read":
            ledger.compare("writes", (left - host.base) * (prices.write - prices.read), at, usd)

    def _lapse(self, at: float) -> None:
        """End what we did to the context: nothing of it is in the session without us, either."""
        self.compacted_at = at
        self.lapsed, self.booked_lapsed = self.lapsed + self.out, self.booked_lapsed + self.booked_out
        self.out = self.booked_out = self.spared = 0
        self.kept_out, self.cleared_out = {}, {}
        self.carried = dict.fromkeys(CAUSES, 0)

    def _ours(self) -> float:
        """Return how many tokens the prompt has less for what we did since a compaction."""
        less = sum(self.kept_out.values()) + sum(self.fresh_out.values()) + self.out + self.spared + self.fresh_spared
        return less - sum(self.carried.values()) - sum(self.fresh.values())

    def _set_beside(self, request: Request) -> None:
        self.beside = self.without - request.prompt - self._ours()

    def _is_due(self, compaction: Compaction | None, files: float) -> bool:
        """Return whether the host would compact before this request."""
        if compaction is not None and (compaction.is_asked or not self.host.threshold):
            return True
        # Where it would make no room, it is of no use to it.
        return 0 < self.host.threshold <= self.without and self.host.leaves(files) < self.host.threshold

    def _has_run_out(self, previous: Request, request: Request) -> bool:
        gap_s = request.at - previous.at
        return gap_s >= self.prices.ttl_s or (request.read == 0 and gap_s >= _SHORTEST_S)

    def _shown_by(self, previous: Request, request: Request) -> int:
        """Return how many of the pending changes the request shows. The client loads the transcript as it is, so they take effect in
        order: the first so many whose sum comes nearest to what is missing."""
        missing = _missing(previous, request)
        # What was read from the cache is as it was before; what left was in the rest of the previous prompt.
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
            removed = min(round(missing + back), estimate + estimate // 2)
            self.out += removed
            self.booked_out += estimate
            self.reclaimed += removed
            self.ledger.reclaim(removed, at)
            self.ledger.confirmed += len(cleared)
            self.ledger.results += sum(change.results for change in cleared)


def _missing(previous: Request, request: Request) -> int:
    """Return the tokens that the prompt lacks of what it would hold had nothing changed; negative where it holds more."""
    return previous.prompt + request.added - request.prompt
