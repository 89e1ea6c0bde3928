"""Hold what PopKit really saved and what it was charged: the requests that were sent, what we did between them, and the sums, which
`figures.settle` works out. Pure.

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

from .economics import Prices, used_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Where nothing tells: the dearest read that is known, the shortest life.
USUAL = Prices(0.1, 1.25, 5.0, 300, False)


class Request:
    """A request of the main thread: when it was answered (seconds), and `until` when the cache was then last known to be in use; its
    prompt, of which `read` from the cache and `created` in it; `added`, the estimated tokens that the conversation grew by since the
    request before (results, what user and assistant said); the Prices of its model and of what it wrote to the cache; `usd`, dollars for
    a million plain input tokens, None where the price is not known. All but `added` as the host's usage tells."""

    __slots__ = ("added", "at", "created", "prices", "prompt", "read", "until", "usd")

    def __init__(
        self, at: float, prompt: int, read: int, created: int, added: int = 0, prices: Prices = USUAL, usd: float | None = None,
        until: float | None = None,
    ) -> None:  # fmt: skip
        self.at = at
        self.prompt = prompt
        self.read = read
        self.created = created
        self.added = added
        self.prices = prices
        self.usd = usd
        self.until = at if until is None else max(at, until)


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

    def order(self) -> tuple[object, ...]:
        """Return the key that distinguishes two bookings of one time and kind."""
        return (self.tokens,)


class KeptOut(Booking):
    """A result (its `id`) entered shorter than it was; `tokens` is what did not enter."""

    __slots__ = ("id",)
    rank = 0

    def __init__(self, at: float, tokens: int, id: str):
        super().__init__(at, tokens)
        self.id = id

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.id


class _OfResults(Booking):
    """A booking that moves results of these ids out of the context or back."""

    __slots__ = ("ids",)

    def __init__(self, at: float, tokens: int, ids: Sequence[str]):
        super().__init__(at, tokens)
        self.ids = tuple(ids)

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.ids


class Cleared(_OfResults):
    """Results left the transcript; `tokens` is what the context loses by it, placeholders subtracted. Without `results` it is no clear of
    ours."""

    __slots__ = ("results",)
    rank = 1

    def __init__(self, at: float, tokens: int, results: int = 1, ids: Sequence[str] = ()):
        super().__init__(at, tokens, ids)
        self.results = results

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.results, self.ids


class Undone(_OfResults):
    """The last clear was taken back; `tokens` as that clear was booked."""

    __slots__ = ()
    rank = 2

    def __init__(self, at: float, tokens: int, ids: Sequence[str] = ()):
        super().__init__(at, tokens, ids)


class Restored(_OfResults):
    """A result came back: printed into the conversation, or put back into the transcript (`in_place`)."""

    __slots__ = ("in_place",)
    rank = 3

    def __init__(self, at: float, tokens: int, in_place: bool = False, ids: Sequence[str] = ()):
        super().__init__(at, tokens, ids)
        self.in_place = in_place

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.in_place, self.ids


class Refetched(Booking):
    """The content of a result that was cleared, or did not enter whole, was fetched again."""

    __slots__ = ()
    rank = 4


class Advice(Booking):
    """Text of ours entered the conversation: advice for a compaction, or the index after it."""

    __slots__ = ()
    rank = 5


class Remembered(Booking):
    """The context was given what memory holds."""

    __slots__ = ()
    rank = 6


class Spared(Booking):
    """A look-up was not made, because memory held what it would have shown: a result of so many tokens, and this share of a
    request. An estimate."""

    __slots__ = ("share",)
    rank = 7

    def __init__(self, at: float, tokens: int, share: float = 1.0):
        super().__init__(at, tokens)
        self.share = share

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.share


class Warmed(Booking):
    """A request of ours kept the cache warm. As its usage tells: `tokens` of its prompt, of which `read` from the cache and `created` in
    it, and `output`, those of its answer."""

    __slots__ = ("created", "output", "read")
    rank = 8

    def __init__(self, at: float, tokens: int, read: int, created: int, output: int):
        super().__init__(at, tokens)
        self.read = read
        self.created = created
        self.output = output

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.read, self.created, self.output

    def used(self) -> dict[str, int]:
        """Return its tokens by how it used them."""
        return used_by(self.tokens, self.read, self.created, self.output)


# --- what came of them -------------------------------------------------------------------------------------------------------------------

GAINS = ("cleared", "kept_out", "kept_warm", "memory")
CAUSES = ("rewrite", "restores", "refetches", "advice", "warming", "memory")
# Units; dollars of those whose price is known; units without a price, saved or charged.
AMOUNTS = (
    *("saved_" + gain for gain in GAINS), "charged", *("usd_" + gain for gain in GAINS), "usd_charged", "unpriced",
)  # fmt: skip
# What is also summed by day.
DAILY = (*AMOUNTS, "kept_out_tokens", "reclaimed_tokens")
_MILLION = 1_000_000
_COUNTS = (
    "reclaimed_tokens", "pending_tokens", "clears", "confirmed", "results", "undone", "restored", "refetched", "advice_tokens",
    "kept_out", "kept_out_tokens", "warmings", "kept_warm", "memory_tokens", "spared",
)  # fmt: skip


class Ledger:
    """The sums of all bookings.

    `reclaimed_tokens`: seen to be gone, whether they are still out or not · `pending_tokens`: cleared, not yet seen to be gone, counted
    nowhere else · `clears`, of which `confirmed`, with so many `results` · `undone`, `restored`, `refetched`: how often ·
    `advice_tokens`: text that we added · `kept_out`: results of which a part did not enter, and these `kept_out_tokens` (an estimate) ·
    `warmings`: requests of ours that kept the cache warm, `kept_warm`: those of the user's that found it so · `memory_tokens`: what memory
    gave contexts, `spared`: look-ups that were not made because of it (an estimate) · `gained` and `charged` (by cause): units ·
    `charged_usd` (by cause): dollars, of those whose price is known · `amounts`: AMOUNTS, `days`: DAILY of each day.
    """

    __slots__ = (*_COUNTS, "_day_of", "amounts", "charged", "charged_usd", "days", "gained")

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

    def keep_out(self, booking: KeptOut) -> None:
        """Add a result that entered shorter."""
        self.kept_out += 1
        self.kept_out_tokens += booking.tokens
        self._by_day("kept_out_tokens", booking.tokens, booking.at)

    def reclaim(self, tokens: int, at: float) -> None:
        """Add tokens that a request shows to have left."""
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
        return {**plain, "saved": round(self.saved, 1), "net": round(self.net, 1)}
