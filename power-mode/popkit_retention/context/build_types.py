"""The types of a build: its options, its strategy of pruning and its result. Pure.

The specification's fields are in snake case in Python, in its camel case in JSON. Its one `budgetPercent` is two values here: *used*, which
people see, and *remaining*, which chooses the strategy; `usage/__init__.py` alone converts one into the other. Memories and files come
from sources: the builder itself touches no disk.
"""

# No `from __future__ import annotations`: pydantic evaluates annotations, also under Python 3.9.

from collections.abc import Iterable
from enum import Enum
from typing import Any, Literal, Optional, Union

from ..extras import missing
from ..usage.budget_share import range_of
from .provider_forms import Provider

try:
    from pydantic import BaseModel, ConfigDict, Field
    from pydantic.alias_generators import to_camel
except ModuleNotFoundError as error:
    raise missing("context", error) from None

# A mapping, or the object that an SDK answered with: callers put those into the list as they are.
Message = Any


class _Model(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", allow_inf_nan=False)


class ContextTier(str, Enum):
    """The four layers of an assembled context, by the specification's names."""

    SYSTEM = "tier1"  # the system prompt and the current request
    MEMORY = "tier2"
    FILES = "tier3"
    HISTORY = "tier4"


class TierContent(_Model):
    """A layer as it enters: its text as the model reads it, its tokens, its number of items (messages, memories, files), and its source."""

    tier: ContextTier
    content: str
    token_count: int = Field(ge=0)
    source: str
    items: int = Field(default=1, ge=0)


class LayerShare(_Model):
    """A layer's share of a context."""

    tokens: int = Field(default=0, ge=0)
    items: int = Field(default=0, ge=0)


class TierBreakdown(_Model):
    """The shares of all layers in a context, and their tokens together."""

    tier1: LayerShare = LayerShare()
    tier2: LayerShare = LayerShare()
    tier3: LayerShare = LayerShare()
    tier4: LayerShare = LayerShare()
    total: int = Field(default=0, ge=0)


class PruningStrategy(_Model):
    """The amount of each layer that enters. `tier4_messages` counts exchanges (a message of the user's with all messages that answer it):
    in a strategy the newest ones, which stay whole; in a result those of the history that are sent."""

    budget_range: str
    tier1_messages: int = Field(ge=0)
    tier2_items: Union[int, Literal["all"]]
    tier3_mode: Literal["full", "summary", "none"]
    tier4_messages: int = Field(ge=0)


class ContextBuildOptions(_Model):
    """The options of a build.

    `messages`: as the caller would have sent them; they are never changed. `system`, `tools`: the rest of the request, for counting.
    `budget_used_percent`: None where it is not known, so the budget prunes nothing. `max_tokens`: the most that the request may have,
    whatever the budget; None: the model's window. `project`: the folder whose memory and files may enter, "" for none. `previous`: the
    state from the last build of this conversation (`ContextResult.state`). `digests`: those of the messages, where the caller has them
    already (`message_digests.digests_of`).
    """

    agent: str = ""
    messages: list[Message]
    session_id: Optional[str] = None
    user_id: str = ""
    budget_used_percent: Optional[float] = Field(default=None, alias="budgetPercent")
    force_include_tiers: list[ContextTier] = []
    provider: Provider = Provider.ANTHROPIC
    model: str = ""
    system: Any = None
    tools: Any = None
    project: str = ""
    max_tokens: Optional[int] = Field(default=None, gt=0)
    previous: Optional[dict[str, object]] = None
    digests: Optional[list[str]] = None


class ContextResult(_Model):
    """A built context.

    `messages`: valid for the provider, the caller's own objects where they are unchanged. `full_tokens`: the tokens of the caller's
    messages. `counted`: whether tokens are exact or estimated. `appended`: whether it begins with everything that the previous build sent,
    unchanged; `changed_from`: the number of the first message that differs from that, None for none. `thinking_left_out`: blocks of
    thinking that left with a cut. `notes`: for people, the parts that were left out and why. `faults`: why a provider would refuse the
    caller's messages. `state`: hand it to the next build of this session.
    """

    messages: list[Message]
    tiers: list[TierContent]
    total_tokens: int = Field(ge=0)
    tier_breakdown: TierBreakdown
    pruning_strategy: PruningStrategy
    budget_used_percent: float = Field(alias="budgetPercent", ge=0)
    budget_remaining_percent: float = Field(ge=0, le=100)
    full_tokens: int = Field(default=0, ge=0)
    counted: Literal["exact", "estimate"] = "estimate"
    appended: bool = True
    changed_from: Optional[int] = None
    thinking_left_out: int = Field(default=0, ge=0)
    notes: list[str] = []
    faults: list[str] = []
    state: dict[str, object] = {}


class ContextStatus(_Model):
    """The newest snapshot of a session's context. `last_updated`: ISO 8601, UTC."""

    session_id: str
    current_context: dict[str, object]
    tier_breakdown: TierBreakdown
    budget_used_percent: float = Field(alias="budgetPercent")
    budget_remaining_percent: float
    last_updated: str


# The specification's strategies, the most generous first. Its bounds are of the *remaining* budget: below 40, below 60, below 80, and
# from 80 on.
STRATEGIES = (
    PruningStrategy(budget_range=">80%", tier1_messages=1, tier2_items="all", tier3_mode="full", tier4_messages=10),
    PruningStrategy(budget_range="60-80%", tier1_messages=1, tier2_items="all", tier3_mode="full", tier4_messages=5),
    PruningStrategy(budget_range="40-60%", tier1_messages=1, tier2_items=3, tier3_mode="summary", tier4_messages=2),
    PruningStrategy(budget_range="<40%", tier1_messages=1, tier2_items=1, tier3_mode="none", tier4_messages=0),
)
FULL = STRATEGIES[0]


def get_pruning_strategy(remaining_percent: float) -> PruningStrategy:
    """Return the strategy for the remaining percentage of the budget; the tightest where none remains, or for anything but a number."""
    name = range_of(remaining_percent)
    return next(strategy for strategy in STRATEGIES if strategy.budget_range == name).model_copy()


def with_forced(strategy: PruningStrategy, tiers: Iterable[ContextTier]) -> PruningStrategy:
    """Return a strategy under which these layers enter as they do with the fullest budget. Layer 1 always does."""
    forced = {ContextTier.MEMORY: "tier2_items", ContextTier.FILES: "tier3_mode", ContextTier.HISTORY: "tier4_messages"}
    return strategy.model_copy(update={name: getattr(FULL, name) for tier, name in forced.items() if tier in set(tiers)})


def calculate_tier_breakdown(tiers: Iterable[TierContent]) -> TierBreakdown:
    """Return each layer's share of a context: tokens and items."""
    shares = {tier: LayerShare() for tier in ContextTier}
    for content in tiers:
        before = shares[content.tier]
        shares[content.tier] = LayerShare(tokens=before.tokens + content.token_count, items=before.items + content.items)
    return TierBreakdown(**{tier.value: share for tier, share in shares.items()}, total=sum(share.tokens for share in shares.values()))
