"""How much of each layer enters, by what remains of the budget. Pure.

The four strategies are the specification's; its bounds are meant of what *remains*: below 40, below 60, below 80, and from 80 on.
"""

from __future__ import annotations

from ..usage.remaining import range_of
from .models import ContextTier, LayerShare, PruningStrategy, TierBreakdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .models import TierContent

# From the most generous down.
STRATEGIES = (
    PruningStrategy(budget_range=">80%", tier1_messages=1, tier2_items="all", tier3_mode="full", tier4_messages=10),
    PruningStrategy(budget_range="60-80%", tier1_messages=1, tier2_items="all", tier3_mode="full", tier4_messages=5),
    PruningStrategy(budget_range="40-60%", tier1_messages=1, tier2_items=3, tier3_mode="summary", tier4_messages=2),
    PruningStrategy(budget_range="<40%", tier1_messages=1, tier2_items=1, tier3_mode="none", tier4_messages=0),
)
FULL, MINIMUM = STRATEGIES[0], STRATEGIES[-1]
_BY_RANGE = {strategy.budget_range: strategy for strategy in STRATEGIES}


def get_pruning_strategy(remaining_percent: float) -> PruningStrategy:
    """The strategy for what remains of the budget, in percent; the minimum where nothing does, and for what is no number."""
    return _BY_RANGE[range_of(remaining_percent)].model_copy()


def with_forced(strategy: PruningStrategy, tiers: Iterable[ContextTier]) -> PruningStrategy:
    """A strategy under which these layers enter as they do with the fullest budget. Layer 1 always does."""
    forced = {ContextTier.MEMORY: "tier2_items", ContextTier.FILES: "tier3_mode", ContextTier.HISTORY: "tier4_messages"}
    return strategy.model_copy(update={name: getattr(FULL, name) for tier, name in forced.items() if tier in set(tiers)})


def calculate_tier_breakdown(tiers: Iterable[TierContent]) -> TierBreakdown:
    """What each layer has of a context: tokens and items."""
    shares = {tier: LayerShare() for tier in ContextTier}
    for content in tiers:
        before = shares[content.tier]
        shares[content.tier] = LayerShare(tokens=before.tokens + content.token_count, items=before.items + content.items)
    return TierBreakdown(**{tier.value: share for tier, share in shares.items()}, total=sum(share.tokens for share in shares.values()))
