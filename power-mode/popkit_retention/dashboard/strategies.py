"""The strategy of a session's assembled contexts, for the page: its range, what each layer gets, what the next range changes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..context.build_types import STRATEGIES, PruningStrategy
from ..context.history_cuts import DEPTHS
from ..usage.records import RANGES
from .shapes import LayerRule, Strategy

if TYPE_CHECKING:
    from ..usage.records import Snapshot

_FILES = {"full": "whole", "summary": "their outlines", "none": "none"}


def strategy_of(snapshot: Snapshot) -> Strategy | None:
    """Return the strategy of a snapshot; None for a range that is not known."""
    names = [each.budget_range for each in STRATEGIES]
    if snapshot.pruning_strategy.get("budgetRange") not in names:
        return None
    number = names.index(snapshot.pruning_strategy["budgetRange"])
    now, after = STRATEGIES[number], STRATEGIES[min(number + 1, len(STRATEGIES) - 1)]
    is_last = after is now
    pairs = zip(_rules(now), _rules(after))
    return Strategy(
        range=now.budget_range,
        used_percent=round(snapshot.budget_percent, 1),
        sent=snapshot.pruning_strategy.get("tier4Messages") or 0,
        next_range="" if is_last else after.budget_range,
        next_at_percent=None if is_last else 100 - RANGES[number][0],
        rules=[LayerRule(layer=layer, now=rule, next="" if is_last or rule == then else then) for (layer, rule), (_, then) in pairs],
    )


def _rules(strategy: PruningStrategy) -> list[tuple[str, str]]:
    """Return (layer, what it gets) of each layer, in words."""
    memories = "all that matter" if strategy.tier2_items == "all" else f"at most {strategy.tier2_items}"
    return [
        ("tier1", "always whole"),
        ("tier2", memories),
        ("tier3", _FILES[strategy.tier3_mode]),
        ("tier4", _history(strategy.tier4_messages)),
    ]


def _history(exchanges: int) -> str:
    share = next((depth.said for depth in DEPTHS if depth.exchanges == exchanges), 0.0)
    if exchanges == 0:
        return "what was asked, and names"
    if share >= 1.0:
        return "all but dead results"
    return f"{exchanges} newest exchanges, {share:.0%} in all"
