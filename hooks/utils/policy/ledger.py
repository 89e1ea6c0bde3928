"""The ledger of a context: sums of PopKit's real savings less its charges, as `settling.settle` determines them. Pure."""

from __future__ import annotations

from .bookings import KeptOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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

    `reclaimed_tokens`: seen to be gone, without those that were put back · `pending_tokens`: cleared, not yet seen to be gone, counted
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
        """Add tokens that a request shows to have left; below 0 those that were put back."""
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
