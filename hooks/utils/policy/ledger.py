"""Hold what PopKit really saved and what it was charged: the requests that were sent, what we did between them, and the sums, which
`figures.settle` works out. Pure.

Compared is with the session that would have been without us. Its requests would carry what is out of the context, and read it from the
cache or write it, whichever the request itself shows; it would lack what was fetched again, restored or said by us, and the writes to
the cache that a changed transcript takes. Prices and units as in `economics`.

Without us the host would have compacted, too: whenever the person asked for it, and whenever that other session's prompt would have come to
the size at which it does so. From then on the other session has what the host's compaction leaves (host_compaction.py), and nothing of
what we did before counts any more; what is fetched again behind it would have had to be fetched anyway. A compaction of ours in its place
saves the summariser's request and its summary, and costs what is written again; from then on the two conversations differ by what each has
left. The host's own compaction costs in both.

A change of the transcript shows in a request only once the client has loaded the file again. So a clear is *pending* until a request
confirms it: one whose prompt lacks at least half of what the clear was estimated at. What did not enter was never in a prompt, so no
request can confirm it: it is an estimate, counted at once, and saves from the first request that goes without it, to a compaction or until
its own result is cleared. What memory gave a context is charged as all text of ours; a look-up that it spared would have been a request
with the prompt of the one before, and a result that later ones carry: an estimate too. What is doubtful counts against us.
"""

from __future__ import annotations

from .economics import Prices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Where nothing tells: the dearest read that is known, the shortest life.
USUAL = Prices(0.1, 1.25, 5.0, 300, False)


class Request:
    """A request of the main thread: when it was answered (seconds); its prompt, of which `read` from the cache and `created` in it;
    `added`, the estimated tokens that the conversation grew by since the request before (results, what user and assistant said); the
    Prices of its model and of what it wrote to the cache; `usd`, dollars for a million plain input tokens, None where the price is not
    known; `files`: estimated tokens that the host would put back if it compacted right before. All but `added` and `files` as the host's
    usage tells."""

    __slots__ = ("added", "at", "created", "files", "prices", "prompt", "read", "usd")

    def __init__(
        self, at: float, prompt: int, read: int, created: int, added: int = 0, prices: Prices = USUAL, usd: float | None = None,
        files: int = 0,
    ) -> None:  # fmt: skip
        self.at = at
        self.prompt = prompt
        self.read = read
        self.created = created
        self.added = added
        self.prices = prices
        self.usd = usd
        self.files = files


class Compaction:
    """A compaction that was due stands between the requests: nothing is in later ones but what it left. `added`: the estimated tokens that
    the conversation had grown by since the request before; `is_ours`: no summariser was asked, since we answered; `is_asked`: by a
    person, not for the size of the prompt."""

    __slots__ = ("added", "at", "is_asked", "is_ours")

    def __init__(self, at: float, added: int = 0, is_ours: bool = False, is_asked: bool = True) -> None:
        self.at = at
        self.added = added
        self.is_ours = is_ours
        self.is_asked = is_asked


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
    """The content of a result that was cleared, or did not enter whole, was fetched again; `since`: when the result came (seconds)."""

    __slots__ = ("since",)
    rank = 4

    def __init__(self, at: float, tokens: int, since: float = float("inf")):
        super().__init__(at, tokens)
        self.since = since

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.since


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


# --- what came of them ---

GAINS = ("cleared", "kept_out", "memory", "compactions")
CAUSES = ("rewrite", "restores", "refetches", "advice", "memory", "compactions")
# What the compactions are worth, by part: the summariser's requests and summaries that were not needed, what is written again behind a
# compaction (the host's less ours), what later requests carry (the host's less ours).
COMPACTION_PARTS = ("request", "summary", "writes", "carries")
# Units; dollars of those whose price is known; units without a price, saved or charged.
AMOUNTS = (
    *("saved_" + gain for gain in GAINS), "charged", *("usd_" + gain for gain in GAINS), "usd_charged", "unpriced",
)  # fmt: skip
# What is also summed by day.
DAILY = (*AMOUNTS, "kept_out_tokens", "reclaimed_tokens")
_MILLION = 1_000_000
_COUNTS = (
    "reclaimed_tokens", "pending_tokens", "clears", "confirmed", "results", "undone", "restored", "refetched", "advice_tokens",
    "kept_out", "kept_out_tokens", "memory_tokens", "spared", "spared_compactions",
)  # fmt: skip


class Ledger:
    """The sums of all bookings.

    `reclaimed_tokens`: seen to be gone, whether they are still out or not · `pending_tokens`: cleared, not yet seen to be gone, counted
    nowhere else · `clears`, of which `confirmed`, with so many `results` · `undone`, `restored`, `refetched`: how often ·
    `advice_tokens`: text that we added · `kept_out`: results of which a part did not enter, and these `kept_out_tokens` (an estimate) ·
    `memory_tokens`: what memory
    gave contexts, `spared`: look-ups that were not made because of it (an estimate) · `spared_compactions`: how often the host would have
    compacted and had not to · `gained` and `charged` (by cause): units · `charged_usd` (by cause): dollars, of those whose price is known ·
    `compaction_usd`: dollars of COMPACTION_PARTS, below 0 where a part has cost · `amounts`: AMOUNTS, `days`: DAILY of each day.
    """

    __slots__ = (*_COUNTS, "_day_of", "amounts", "charged", "charged_usd", "compaction_usd", "days", "gained")

    def __init__(self, day_of: Callable[[float], str] | None = None) -> None:
        """`day_of(seconds)` names the day of a time; without it nothing is summed by day."""
        self.reclaimed_tokens = self.pending_tokens = self.clears = self.confirmed = self.results = 0
        self.undone = self.restored = self.refetched = self.advice_tokens = 0
        self.kept_out = self.kept_out_tokens = self.memory_tokens = self.spared = self.spared_compactions = 0
        self.compaction_usd = dict.fromkeys(COMPACTION_PARTS, 0.0)
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

    def compare(self, part: str, units: float, at: float, usd: float | None) -> None:
        """Add a part of what compactions have saved, or cost where it is below 0."""
        self.compaction_usd[part] += units * (usd or 0.0) / _MILLION
        if units < 0:
            self.charge("compactions", -units, at, usd)
        else:
            self.gain("compactions", units, at, usd)

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
        for part, amount in self.compaction_usd.items():
            plain["usd_compaction_" + part] = round(amount, 6)
        for name, amount in self.amounts.items():
            plain[name] = round(amount, 6 if name.startswith("usd_") else 1)
        return {**plain, "saved": round(self.saved, 1), "net": round(self.net, 1)}
