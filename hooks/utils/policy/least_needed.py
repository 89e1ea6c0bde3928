"""Estimate what a compaction takes out once the prompt cache is cold, beside what is worth clearing: what is needed least, down to a goal;
and whether that pays. Pure.

The prompt is written anyway then, so what leaves is saved at once and with every request that follows. But a conversation that is built
again carries no thinking: all of it may have to be thought again. So what leaves has to save more, over the requests that usually follow a
prompt, than that is reckoned at. Once it does, all that the goal asks for leaves: it costs no more thinking. How much leaves is known when
the conversation is compacted. Before that it is estimated from what the tracker knows, and a compaction that nobody asked for, and that
then finds less than `least`, leaves everything as it was.
"""

from __future__ import annotations

from .economics import LIKELY_REQUESTS, Change, Prices, Sum
from .ruleset import COMPACT_LEAST_TOKENS
from .worth import LEAST_QUIET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .conversation import Conversation
    from .planning import Decision

# So much of the conversation may stay. Nine tenths of what the next requests look for stay then (docs/measured.md).
COLD_TARGET = 0.4
# Thinking again counts so many times what it costs. How much of it is thought again nobody knows: with none, half, and one and a half times
# of it, this made hardly a session dearer on repositories that were held out.
THINKING_AGAIN = 1.25
# A conversation that has grown by less than this since it was brought down is left as it is: what stayed then was needed.
GROWN = 1.1
# Where nothing is worth clearing, less of the conversation than this is not worth building it again, and is within what is not known.
LEAST_SHARE = 0.1
# Of what calls were made with, so much can leave; the rest is what names them.
_INPUTS = 0.9
# What stays whatever the goal is (planning.REASONS), or takes no less room as a placeholder.
_STAYS = ("pinned", "preserved", "last_word", "unseen", "small")


class Goal:
    """What stays of a conversation that is compacted with a cold cache, system and tools apart: this `share` of its tokens, and never less
    than `left`, what the last compaction left, with what it may grow by · `caution`: how many times thinking again counts."""

    __slots__ = ("caution", "left", "share")

    def __init__(self, share: float = COLD_TARGET, left: int = 0, caution: float = THINKING_AGAIN) -> None:
        self.share = share
        self.left = left
        self.caution = caution

    def of(self, tokens: int) -> float:
        """Return the share that stays of a conversation of so many tokens."""
        return min(1.0, max(self.share, COMPACT_LEAST_TOKENS / tokens, GROWN * self.left / tokens)) if tokens > 0 else 1.0


class Room:
    """`tokens` of the conversation, system, tools and thinking apart, and the `share` of them that stays at least · `sum`: of what leaves,
    estimated, thinking apart · `thinking`: what thinking again costs in units · `least`: tokens that have to leave for it to pay."""

    __slots__ = ("least", "share", "sum", "thinking", "tokens")

    def __init__(self, tokens: int, share: float, sum: Sum, thinking_tokens: float, prices: Prices) -> None:
        self.tokens = tokens
        self.share = share
        self.sum = sum
        self.thinking = prices.output * thinking_tokens
        self.least = self.thinking / carried(prices)

    def pays(self, least: int) -> bool:
        """Return whether it pays by itself; `least`: tokens, for fewer it is never worth it."""
        return self.sum.leaves > max(self.least, least, LEAST_SHARE * self.tokens)


def carried(prices: Prices) -> float:
    """Return the units that a token costs from a cold cache on: written once, and read by the requests that usually follow a prompt."""
    return prices.write + prices.read * LIKELY_REQUESTS[prices.ttl_s]


def saved(sum: Sum, prices: Prices) -> float:
    """Return the units that it saves, thinking again subtracted, when what a Sum is of leaves a cold cache."""
    return carried(prices) * sum.leaves - THINKING_AGAIN * sum.thinking_cost


def when_cold(conversation: Conversation, decisions: Iterable[Decision], prices: Prices, goal: Goal) -> Room:
    """Return what a compaction comes to, the cache being cold. `decisions`: of a plan over the same conversation."""
    thinking = conversation.thinking if prices.bound else 0
    messages = max(0, conversation.prompt - conversation.base - thinking)
    share = goal.of(messages)
    newest = conversation.state.index - LEAST_QUIET  # the calls after it stay whole
    may_go = [one for one in decisions if one.reason not in _STAYS and one.result.index <= newest]
    gains = sum([max(0, decision.gain) for decision in may_go])
    leaving = int(min((1 - share) * messages, gains + _INPUTS * conversation.inputs * conversation.state.calibration))
    change = Change(conversation.prompt, leaving, 0, conversation.base, False, conversation.base)
    return Room(messages, share, Sum(change, prices), goal.caution * thinking, prices)
