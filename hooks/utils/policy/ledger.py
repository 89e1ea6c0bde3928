"""What clearing really reclaimed and what it was charged, from the usage of the requests that were sent. Pure.

Compared is with the session that would have been without us. Its requests would carry what is out of the context, and read it from the
cache or write it, whichever the request itself shows; it would lack what was fetched again, restored or said by us, and the writes to
the cache that a changed transcript takes. Prices and units as in `economics`.

A change of the transcript shows in a request only once the client has loaded the file again. So a clear is *pending* until a request
confirms it: one whose prompt lacks at least half of what the clear was estimated at. What is doubtful counts against us.
"""

from __future__ import annotations

from .economics import PRICE_PLAIN, Prices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CAUSES = ("rewrite", "restores", "refetches", "advice")
# Of a lifetime of an hour, some of a prompt may have been written for less: read to no token after that long, it was cold.
_SHORTEST_S = 300
_USUAL = Prices(0.1, 1.25, 5.0, _SHORTEST_S, False)


class Request:
    """A request of the main thread: when it was answered (seconds); its prompt, of which `read` from the cache and `created` in it;
    `added`, the estimated tokens that the conversation grew by since the request before (results, what user and assistant said); the
    Prices of its model and of what it wrote to the cache. All but `added` as the host's usage tells."""

    __slots__ = ("added", "at", "created", "prices", "prompt", "read")

    def __init__(self, at: float, prompt: int, read: int, created: int, added: int = 0, prices: Prices = _USUAL) -> None:
        self.at = at
        self.prompt = prompt
        self.read = read
        self.created = created
        self.added = added
        self.prices = prices


class Compaction:
    """Stands between the requests: nothing of the context before it is in a later one."""

    __slots__ = ("at",)

    def __init__(self, at: float) -> None:
        self.at = at


class Booking:
    """Something that we did, and the estimated tokens it is about. It can show in requests later than `at` (seconds)."""

    __slots__ = ("at", "tokens")
    rank = 0  # bookings of one time are taken in this order

    def __init__(self, at: float, tokens: int):
        self.at = at
        self.tokens = max(0, tokens)


class Cleared(Booking):
    """Results left the transcript; `tokens` is what the context loses by it, placeholders subtracted."""

    __slots__ = ("results",)
    rank = 1

    def __init__(self, at: float, tokens: int, results: int = 1):
        super().__init__(at, tokens)
        self.results = results


class Undone(Booking):
    """The last clear was taken back; `tokens` as that clear was booked."""

    __slots__ = ()
    rank = 2


class Restored(Booking):
    """A cleared result came back: printed into the conversation, or put back into the transcript (`in_place`)."""

    __slots__ = ("in_place",)
    rank = 3

    def __init__(self, at: float, tokens: int, in_place: bool = False):
        super().__init__(at, tokens)
        self.in_place = in_place


class Refetched(Booking):
    """The content of a cleared result was fetched again."""

    __slots__ = ()
    rank = 4


class Advice(Booking):
    """Text of ours entered the conversation: advice for a compaction, or the index after it."""

    __slots__ = ()
    rank = 5


_COUNTS = ("reclaimed_tokens", "pending_tokens", "clears", "confirmed", "results", "undone", "restored", "refetched", "advice_tokens")


class Ledger:
    """What came of all bookings.

    `reclaimed_tokens`: seen to be gone, whether they are still out or not · `pending_tokens`: cleared, not yet seen to be gone, counted
    nowhere else · `clears`, of which `confirmed`, with so many `results` · `undone`, `restored`, `refetched`: how often ·
    `advice_tokens`: text that we added · `saved` and `charged` (by cause): units.
    """

    __slots__ = (*_COUNTS, "charged", "saved")

    def __init__(self) -> None:
        self.reclaimed_tokens = self.pending_tokens = self.clears = self.confirmed = self.results = 0
        self.undone = self.restored = self.refetched = self.advice_tokens = 0
        self.saved = 0.0
        self.charged = dict.fromkeys(CAUSES, 0.0)

    @property
    def net(self) -> float:
        """Units saved beyond those charged; negative where clearing has cost more than it gave."""
        return self.saved - sum(self.charged.values())

    def to_json(self) -> dict[str, float]:
        plain = {name: getattr(self, name) for name in _COUNTS}
        for cause in CAUSES:
            plain["charged_" + cause] = round(self.charged[cause], 1)
        return {**plain, "saved": round(self.saved, 1), "charged": round(sum(self.charged.values()), 1), "net": round(self.net, 1)}


def settle(requests: Iterable[Request | Compaction], bookings: Iterable[Booking]) -> Ledger:
    """The ledger of one context, from its Requests and Compactions in the order in which they were sent and all bookings in any order."""
    context = _Context(next((request.prices for request in requests if isinstance(request, Request)), _USUAL))
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


def _order(booking: Booking) -> tuple[float, int, int, int, bool]:
    return booking.at, booking.rank, booking.tokens, getattr(booking, "results", 0), getattr(booking, "in_place", False)


class _Change:
    """A change of the transcript that no request has shown yet: `tokens` leave the prompt, or come back to it when negative."""

    __slots__ = ("results", "tokens")

    def __init__(self, tokens: float, results: int = 0):
        self.tokens = tokens
        self.results = results


class _Context:
    """The conversation between two requests: what is changed and not yet shown, what is out, what of our making it carries."""

    def __init__(self, prices: Prices):
        self.ledger = Ledger()
        self.prices = prices  # of the newest write to the cache
        self.compact()

    def compact(self) -> None:
        """All that we did to the context ends with it."""
        self.previous: Request | None = None
        self.pending: list[_Change] = []
        self.out = 0.0  # tokens that requests would carry but for us, as measured
        self.booked_out: float = 0  # the same as it was estimated
        self.carried = dict.fromkeys(CAUSES, 0)  # tokens that requests carry because of us
        self.fresh = dict.fromkeys(CAUSES, 0)  # the same, not sent yet

    def book(self, booking: Booking) -> None:
        ledger = self.ledger
        if isinstance(booking, Cleared):
            ledger.clears += 1
            if booking.tokens:
                self.pending.append(_Change(booking.tokens, booking.results))
        elif isinstance(booking, Undone):
            ledger.undone += 1
            self._put_back(booking.tokens)
        elif isinstance(booking, Restored):
            ledger.restored += 1
            if booking.in_place:
                self._put_back(booking.tokens)
            else:
                self._say("restores", booking.tokens)
        elif isinstance(booking, Refetched):
            ledger.refetched += 1
            self._say("refetches", booking.tokens)
        elif isinstance(booking, Advice):
            ledger.advice_tokens += booking.tokens
            self._say("advice", booking.tokens)

    def _say(self, cause: str, tokens: int) -> None:
        """Writing it is charged now, so that the charge stands even when the next thing is a compaction; carrying it, from the second
        request on."""
        self.ledger.charged[cause] += tokens * self.prices.write
        self.fresh[cause] += tokens

    def _put_back(self, tokens: float) -> None:
        """Takes it from what is not shown yet, the last clear first: nobody will see it gone. The rest comes back to the prompt, and
        saves nothing from now on."""
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
        """Takes a request into account: what it shows, what it saves, what it carries."""
        cold = False
        previous = self.previous
        if previous is not None:
            # A request that writes much may do so because we changed the transcript. Then only time tells that the cache was cold.
            cold = request.read * 2 < previous.prompt and (not self.pending or self._has_run_out(previous, request))
            shown = self._shown_by(previous, request)
            if shown:
                self._take_effect(shown, _missing(previous, request))
                if not cold:
                    beyond = max(0, request.created - request.added)
                    self.ledger.charged["rewrite"] += beyond * (request.prices.write - request.prices.read)
        rate = request.prices.read
        if cold:
            rate = request.prices.write if request.created else PRICE_PLAIN  # where caching is switched off
        self.ledger.saved += self.out * rate
        for cause in CAUSES:
            self.ledger.charged[cause] += self.carried[cause] * rate
            self.carried[cause] += self.fresh[cause]
            self.fresh[cause] = 0
        self.previous = request
        if request.created:
            self.prices = request.prices

    def _has_run_out(self, previous: Request, request: Request) -> bool:
        gap_s = request.at - previous.at
        return gap_s >= self.prices.ttl_s or (request.read == 0 and gap_s >= _SHORTEST_S)

    def _shown_by(self, previous: Request, request: Request) -> int:
        """How many of the pending changes the request shows. The client loads the transcript as it stands, so they take effect in
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

    def _take_effect(self, shown: int, missing: int) -> None:
        changes, self.pending = self.pending[:shown], self.pending[shown:]
        cleared = [change for change in changes if change.tokens > 0]
        estimate = round(sum(change.tokens for change in cleared))
        back = sum(-change.tokens for change in changes if change.tokens < 0)
        if cleared:
            gone = min(round(missing + back), estimate + estimate // 2)
            self.out += gone
            self.booked_out += estimate
            self.ledger.reclaimed_tokens += gone
            self.ledger.confirmed += len(cleared)
            self.ledger.results += sum(change.results for change in cleared)


def _missing(previous: Request, request: Request) -> int:
    """Tokens that the prompt lacks of what it would hold had nothing changed; negative where it holds more."""
    return previous.prompt + request.added - request.prompt
