"""Decide whether a compaction that nobody asked for pays now that the prompt cache is cold, and what it takes. Pure.

The prompt is written anyway, so what leaves is saved at once and with every request that follows. But a conversation that is built again
carries no thinking: all of it may have to be thought again. So only what a clear by worth would take leaves (worth.py), nothing for the
sake of a target, and only where that saves more, over the requests that usually follow a prompt, than thinking again is reckoned at.
"""

from __future__ import annotations

from . import planning, worth
from .economics import LIKELY_REQUESTS, Prices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conversation import Conversation
    from .need import NeedModel

# Thinking again counts so many times what it costs. How much of it is thought again nobody knows: with none, half, and one and a half times
# of it, this came out best on repositories that were held out (docs/measured.md).
THINKING_AGAIN = 0.5


class Cold:
    """`plan`: made as if thinking stayed where it stands; `ids` of the results that leave, none where it does not pay; `units` that this
    saves, thinking again apart, and what that is reckoned at (`thinking`)."""

    __slots__ = ("ids", "plan", "thinking", "units")

    def __init__(self, plan: planning.Plan, thinking: float) -> None:
        going = plan.having(planning.CLEAR)
        self.plan = plan
        self.thinking = thinking
        each = plan.prices.write + plan.prices.read * LIKELY_REQUESTS[plan.prices.ttl_s]
        self.units = each * sum([decision.gain for decision in going])
        self.ids = [decision.result.id for decision in going] if self.units > thinking else []


def when_cold(
    conversation: Conversation, now: float, model: NeedModel, prices: Prices, tuned: worth.Tuned = worth.TUNED,
    caution: float = THINKING_AGAIN,
) -> Cold:  # fmt: skip
    """Return what a compaction by itself takes at `now` (seconds), the cache being cold. `tuned`, `caution`: other constants than those
    that are shipped."""
    loose = Prices(prices.read, prices.write, prices.output, prices.ttl_s, False, prices.model, prices.known)
    plan = planning.plan(conversation, planning.Asked(), now, model, loose, True, tuned)
    return Cold(plan, caution * prices.output * conversation.thinking if prices.bound else 0.0)
