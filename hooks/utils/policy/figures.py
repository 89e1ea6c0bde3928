"""Derive the four quantities that measure PopKit's effect from the sums of a ledger. No other module does. Pure.

*Kept out*: tokens that did not enter (an estimate, as the journal books each result) · *cleared*: tokens that left by a clear, as requests
have shown · *cost*: dollars that PopKit cost, by what it wrote, sent and had fetched again · *net*: dollars saved less the cost. Money is
at the API's prices; where the price of a model is not known there is none, and tokens never replace it.
"""

from __future__ import annotations

from .ledger import CAUSES, COMPACTION_PARTS, GAINS  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .shapes import Figures, LedgerFigures

# What is counted beside the four, as in the ledger, and what has another name there.
_COUNTS = (
    "pending_tokens", "clears", "confirmed", "undone", "restored", "refetched", "advice_tokens", "memory_tokens", "spared",
    "spared_compactions",
)  # fmt: skip
_NAMED = {"kept_out_results": "kept_out", "cleared_results": "results"}


def of(sums: Mapping[str, float]) -> Figures:
    """Return the figures of the sums of a ledger, or of a part of it."""
    saved = {gain: sums.get("usd_" + gain, 0.0) for gain in GAINS}
    cost, unpriced = sums.get("usd_charged", 0.0), bool(sums.get("unpriced"))
    known = not unpriced or bool(cost) or any(saved.values())
    return {
        "kept_out_tokens": round(sums.get("kept_out_tokens", 0)),
        "cleared_tokens": max(0, round(sums.get("reclaimed_tokens", 0))),  # a day may put back what an earlier one cleared
        "cost_usd": round(cost, 6) if known else None,
        "net_usd": round(sum(saved.values()) - cost, 6) if known else None,
        "saved_usd": round(sum(saved.values()), 6) if known else None,
        "saved_by_usd": {gain: round(usd, 6) if known else None for gain, usd in saved.items()},
        "unpriced": unpriced,
    }


def of_ledger(ledger: Mapping[str, float]) -> LedgerFigures:
    """Return the figures of a whole ledger; {} of an empty one."""
    if not ledger:
        return {}
    figures = of(ledger)
    known = figures["cost_usd"] is not None
    costs = {cause: round(ledger.get("usd_charged_" + cause, 0.0), 6) if known else None for cause in CAUSES}
    counts = {name: round(ledger.get(_NAMED.get(name, name), 0)) for name in (*_NAMED, *_COUNTS)}
    parts = {part: round(ledger.get("usd_compaction_" + part, 0.0), 6) if known else None for part in COMPACTION_PARTS}
    return {**figures, "cost_by_usd": costs, "compactions_usd": parts, **counts}  # type: ignore[typeddict-item]  # the names are its keys


def is_anything(figures: Figures) -> bool:
    """Return whether there is anything to tell of the four."""
    money = (figures["cost_usd"], *figures["saved_by_usd"].values())
    return bool(figures["kept_out_tokens"] or figures["cleared_tokens"] or figures["unpriced"] or any(money))


def together(ledgers: list[Mapping[str, float]]) -> dict[str, float]:
    """Return the sum of several ledgers."""
    total: dict[str, float] = {}
    for ledger in ledgers:
        for name, amount in ledger.items():
            total[name] = total.get(name, 0) + amount
    return total
