"""Decide whether a compaction that nobody asked for pays now that the prompt cache is cold. Pure.

The prompt is written anyway, so what leaves is saved at once and with every request that follows. But a conversation that is built again
carries no thinking: all of it may have to be thought again. So a compaction has to save more, over the requests that usually follow a
prompt, than that is reckoned at. Once it does, it goes down to a target, as any other: what else leaves costs no more thinking.

How much leaves is known when the conversation is compacted. Before that it is estimated from what the tracker knows, and a compaction that
then finds less than `least` leaves everything as it was.
"""

from __future__ import annotations

from . import planning, worth
from .economics import LIKELY_REQUESTS, Change, Prices, Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conversation import Conversation
    from .need import NeedModel

# So much of the conversation may stand. Nine tenths of what the next requests look for stand then (docs/measured.md).
TARGET = 0.4
# Thinking again counts so many times what it costs. How much of it is thought again nobody knows: with none, half, and one and a half times
# of it, this made hardly a session dearer on repositories that were held out.
THINKING_AGAIN = 1.25
# Of what is no result, so much is taken to be inputs that can leave; the rest is what was said.
_INPUTS = 0.5
# What stands whatever the target is (planning.REASONS), or takes no less room as a placeholder.
_STAYS = ("pinned", "preserved", "last_word", "unseen", "small")


class Cold:
    """`sum`: of what would leave, estimated, thinking apart · `thinking_tokens` that are taken to be thought again, `thinking`: what that
    costs in units · `least`: tokens that have to leave for it to pay · `units` that it saves, thinking again apart."""

    __slots__ = ("least", "sum", "thinking", "thinking_tokens", "units")

    def __init__(self, sum: Sum, thinking_tokens: float, prices: Prices) -> None:
        each = prices.write + prices.read * LIKELY_REQUESTS[prices.ttl_s]
        self.sum = sum
        self.thinking_tokens = thinking_tokens
        self.thinking = prices.output * thinking_tokens
        self.least = self.thinking / each
        self.units = each * sum.leaves

    @property
    def pays(self) -> bool:
        return self.sum.leaves > max(self.least, planning.LEAST_GAIN)


def when_cold(
    conversation: Conversation, now: float, model: NeedModel, prices: Prices, tuned: worth.Tuned = worth.TUNED,
    target: float = TARGET, caution: float = THINKING_AGAIN,
) -> Cold:  # fmt: skip
    """Return what a compaction by itself comes to at `now` (seconds), the cache being cold. `tuned`, `target`, `caution`: other constants
    than those that are shipped."""
    decisions = planning.plan(conversation, planning.Asked(), now, model, prices, True, tuned).decisions
    messages = max(0, conversation.prompt - conversation.base - (conversation.thinking if prices.bound else 0))
    results = sum([decision.tokens for decision in decisions])
    gains = sum([max(0, decision.gain) for decision in decisions if decision.reason not in _STAYS])
    leaving = round(min((1 - target) * messages, gains + _INPUTS * max(0, messages - results)))
    change = Change(conversation.prompt, leaving, 0, conversation.base, False, conversation.base)
    return Cold(Sum(change, prices), caution * conversation.thinking if prices.bound else 0.0, prices)
