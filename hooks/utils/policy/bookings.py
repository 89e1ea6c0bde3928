"""The records from which a ledger is settled: the requests sent with PopKit's actions between them. Pure."""

from __future__ import annotations

from .economics import Prices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """A due compaction between the requests: later ones hold nothing but its remainder. `added`: the estimated tokens that the conversation
    had grown by since the request before; `is_ours`: we answered, so no summariser was asked; `is_asked`: by a person, not for the size of
    the prompt."""

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
    """Results left the transcript; `tokens` is the context's loss, placeholders subtracted. Without `results` the clear is not ours."""

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
    """A look-up was not made because memory held its answer: a result of so many tokens, and this share of a request. An estimate."""

    __slots__ = ("share",)
    rank = 7

    def __init__(self, at: float, tokens: int, share: float):
        super().__init__(at, tokens)
        self.share = share

    def order(self) -> tuple[object, ...]:
        return self.tokens, self.share
