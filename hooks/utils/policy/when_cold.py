"""Whether a compaction that nobody asked for pays now that the prompt cache has gone cold, and what it takes. Pure.

The prompt is written anyway, so what leaves is saved at once and with every request to come (worth.py). But a conversation that is built
anew carries no thinking: all of it may have to be thought again, and counts more than it costs. So only what a clear by worth would take
leaves, nothing for the sake of a target, and only where that is worth more than all the thinking that stands.
"""

from __future__ import annotations

from . import planning, worth
from .economics import Prices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conversation import Conversation
    from .need import NeedModel


class Cold:
    """`plan`: made as if thinking stayed where it stands; `ids` of the results that leave, none where it does not pay; `units` that this is
    worth, thinking again apart, and what that is reckoned at (`thinking`)."""

    __slots__ = ("ids", "plan", "thinking", "units")

    def __init__(self, plan: planning.Plan, thinking: float) -> None:
        going = plan.having(planning.CLEAR)
        self.plan = plan
        self.thinking = thinking
        self.units = sum([decision.value or 0.0 for decision in going])
        self.ids = [decision.result.id for decision in going] if self.units > thinking else []


def when_cold(
    conversation: Conversation, now: float, model: NeedModel, prices: Prices, tuned: worth.Tuned = worth.TUNED,
    caution: float = worth.THINKING_CAUTION,
) -> Cold:  # fmt: skip
    """What a compaction by itself takes at `now` (seconds), the cache being cold. `caution`: thinking again counts so many times what it
    costs."""
    loose = Prices(prices.read, prices.write, prices.output, prices.ttl_s, False, prices.model, prices.known)
    plan = planning.plan(conversation, planning.Asked(), now, model, loose, True, tuned)
    return Cold(plan, caution * prices.output * conversation.thinking if prices.bound else 0.0)
