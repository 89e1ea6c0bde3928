"""Decide whether a compaction that nobody asked for pays, between two turns. Pure.

A conversation that is built again is written again and carries no thinking, a part of which is thought again. So what leaves has to save
more, over the requests that usually follow a prompt, than that costs. Where the cache is cold the prompt is written anyway, and what leaves
is saved at once. Where it is warm the conversation has to be long besides, and to have grown since the newest compaction: without that,
sessions with an hour's cache grow dearer (docs/measured.md). Once it pays, it goes down to a target, as any other: what else leaves costs
no more thinking. How much leaves is known when the conversation is compacted. Before that it is estimated from what the tracker knows,
and a compaction that then finds less than `least` leaves everything as it was.
"""

from __future__ import annotations

from . import planning, worth
from .economics import LIKELY_REQUESTS, THINKING_AGAIN, Change, Prices, Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conversation import Conversation
    from .worth import NeedModel

# So much of the conversation may stay with a cold cache. Nine tenths of what the next requests look for stay then (docs/measured.md).
COLD_TARGET = 0.4
# Of what is no result, so much is taken to be inputs that can leave; the rest is what was said.
_INPUTS = 0.5
# What stays whatever the target is (planning.REASONS), or takes no less room as a placeholder.
_STAYS = ("pinned", "preserved", "last_word", "unseen", "small")


class Long:
    """From when on a conversation is long, in tokens, system and tools apart (`tokens`), by how much it has grown since the newest
    compaction (`growth`), and the share of it that may stay (`target`)."""

    __slots__ = ("growth", "target", "tokens")

    def __init__(self, tokens: int, target: float, growth: int) -> None:
        self.tokens = tokens
        self.target = target
        self.growth = growth

    def holds(self, messages: int, stood: int) -> bool:
        """Return whether a conversation of so many tokens is long; `stood`: tokens that the newest compaction left of it, 0 for none."""
        return messages >= self.tokens and messages - stood >= self.growth


LONG = Long(100_000, 0.2, 60_000)


class Prospect:
    """What a compaction by itself comes to: `sum`, of what would leave, estimated, thinking apart · `target`: the share that may stay ·
    `cost`: units that it costs, thinking again included · `least`: tokens that have to leave for it to pay · `units` that it saves, `cost`
    apart."""

    __slots__ = ("cost", "least", "sum", "target", "units")

    def __init__(self, sum: Sum, target: float, cost: float, prices: Prices) -> None:
        once = prices.write - prices.read if sum.warm else prices.write  # what leaves is not written again either
        each = once + prices.read * LIKELY_REQUESTS[prices.ttl_s]
        self.sum = sum
        self.target = target
        self.cost = cost
        self.least = cost / each
        self.units = each * sum.leaves

    @property
    def pays(self) -> bool:
        return self.sum.leaves > max(self.least, planning.LEAST_GAIN)


def prospect(
    conversation: Conversation, now: float, model: NeedModel, prices: Prices, warm: bool, target: float = COLD_TARGET,
    tuned: worth.Tuned = worth.TUNED, caution: float = THINKING_AGAIN,
) -> Prospect:  # fmt: skip
    """Return what a compaction by itself comes to at `now` (seconds), the cache being `warm` or cold. `caution`: the share of the thinking
    that is thought again; `tuned`, `caution`: other constants than those that are shipped."""
    decisions = planning.plan(conversation, planning.Selection(), now, model, prices, True, tuned).decisions
    messages = max(0, conversation.prompt - conversation.base - (conversation.thinking if prices.bound else 0))
    results = sum([decision.tokens for decision in decisions])
    gains = sum([max(0, decision.gain) for decision in decisions if decision.reason not in _STAYS])
    leaving = round(min((1 - target) * messages, gains + _INPUTS * max(0, messages - results)))
    change = Change(conversation.prompt, leaving, 0, conversation.base, warm, conversation.base)
    again = caution * prices.output * conversation.thinking if prices.bound else 0.0
    return Prospect(Sum(change, prices), target, again + (messages * (prices.write - prices.read) if warm else 0.0), prices)
