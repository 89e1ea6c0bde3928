"""The types of an assembled context, with the specification's fields. Pure.

In Python fields are in snake case, in JSON in the specification's camel case. Its one `budgetPercent` is two values here: *used*, which
people see, and *remaining*, which chooses the strategy; `budget.py` alone converts one into the other.
"""

# No `from __future__ import annotations`: pydantic evaluates annotations, also under Python 3.9.

from enum import Enum
from typing import Any, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

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


class Provider(str, Enum):
    """Whose form the messages have: the system prompt stands beside Anthropic's, and among OpenAI's."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class TierContent(_Model):
    """One layer as it enters: its text as the model reads it, its tokens, how many items it has (messages, memories, files), and what it
    is made of."""

    tier: ContextTier
    content: str
    token_count: int = Field(ge=0)
    source: str
    items: int = Field(default=1, ge=0)


class LayerShare(_Model):
    """What one layer has of a context."""

    tokens: int = Field(default=0, ge=0)
    items: int = Field(default=0, ge=0)


class TierBreakdown(_Model):
    """What each layer has of a context, and all of them together (tokens)."""

    tier1: LayerShare = LayerShare()
    tier2: LayerShare = LayerShare()
    tier3: LayerShare = LayerShare()
    tier4: LayerShare = LayerShare()
    total: int = Field(default=0, ge=0)


class PruningStrategy(_Model):
    """How much of each layer enters. `tier4_messages` counts exchanges: a message of the user's with all that answers it."""

    budget_range: str
    tier1_messages: int = Field(ge=0)
    tier2_items: Union[int, Literal["all"]]
    tier3_mode: Literal["full", "summary", "none"]
    tier4_messages: int = Field(ge=0)


class ContextBuildOptions(_Model):
    """What a context is built of.

    `messages`: as the caller would have sent them; they are never changed. `system`, `tools`: what else the request carries, for counting.
    `budget_used_percent`: None where nobody has said, so nothing is pruned for the budget's sake. `max_tokens`: what the request may have
    at most, whatever the budget says; None: the model's window. `project`: the folder whose memory and files may enter, "" for none.
    `previous`: what the last build of this conversation handed on (`ContextResult.state`). `digests`: of the messages, one for each, where
    the caller has them already (`said.digests_of`).
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
    previous: Optional[dict[str, Any]] = None
    digests: Optional[list[str]] = None


class ContextResult(_Model):
    """A built context.

    `messages`: valid for the provider, the caller's own objects where they are unchanged. `full_tokens`: what the caller's messages would
    have been. `counted`: whether tokens are exact or estimated. `appended`: whether everything that the build before sent stands here just
    so, in front; `changed_from`: the number of the first message that differs from it, None for none. `thinking_left_out`: blocks of
    thinking that left with a cut. `notes`: what was left out and why, for people. `state`: hand it to the next build of this session.
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
    state: dict[str, Any] = {}


class ContextStatus(_Model):
    """How a session's context stands: its newest snapshot. `last_updated`: ISO 8601, UTC."""

    session_id: str
    current_context: dict[str, Any]
    tier_breakdown: TierBreakdown
    budget_used_percent: float = Field(alias="budgetPercent")
    budget_remaining_percent: float
    last_updated: str
