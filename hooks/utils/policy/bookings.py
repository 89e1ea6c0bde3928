"""What the ledger is settled from: the requests that were sent, and what we did between them. Pure."""

from __future__ import annotations

from .economics import Prices, used_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
        """Return what two bookings of one time and kind are told apart by."""
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
    """One that changes where results of these ids stand."""

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
    """A look-up was not made, because memory had told what it would have shown: a result of so many tokens, and this share of a
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
