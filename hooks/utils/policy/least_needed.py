"""Estimate which results a compaction between turns removes beyond those worth clearing: the least needed, down to a goal. Pure.

A conversation that is built again is written again and carries no thinking, a part of which is thought again. So what leaves has to save
more, over the requests that usually follow a prompt, than that costs. Where the cache is cold the prompt is written anyway, and what leaves
is saved at once. Where it is warm the conversation has to be long besides, and to have grown since the newest compaction: without that,
sessions with an hour's cache grow dearer (docs/measured.md). Once it pays, all that the goal asks for leaves: it costs no more thinking.
How much leaves is known when the conversation is compacted. Before that it is estimated from what the tracker knows, and a compaction that
nobody asked for, and that then finds less than `least`, leaves everything as it was.
"""

from __future__ import annotations

from .economics import LIKELY_REQUESTS, THINKING_AGAIN, Change, Prices, Sum
from .ruleset import COMPACT_LEAST_TOKENS
from .worth import LEAST_QUIET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .conversation import Conversation
    from .plans import Decision

# So much of the conversation may stay with a cold cache. Nine tenths of what the next requests look for stay then (docs/measured.md).
COLD_TARGET = 0.4
# A conversation that has grown by less than this since it was brought down is left as it is: what stayed then was needed.
GROWN = 1.1
# Where nothing is worth clearing, less of the conversation than this is not worth building it again, and is within what is not known.
LEAST_SHARE = 0.1
# Of what calls were made with, so much can leave; the rest is what names them.
_INPUTS = 0.9
# What stays whatever the goal is (plans.REASONS), or takes no less room as a placeholder.
_STAYS = ("pinned", "preserved", "last_word", "unseen", "small")


class LengthRule:
    """From when on a conversation is long, in tokens, system and tools apart (`tokens`), by how much it has grown since the newest
    compaction (`growth`), and the share of it that may stay then (`share`)."""

    __slots__ = ("growth", "share", "tokens")

    def __init__(self, tokens: int, share: float, growth: int) -> None:
        self.tokens = tokens
        self.share = share
        self.growth = growth

    def holds(self, tokens: int, left: int) -> bool:
        """Return whether a conversation of so many tokens is long; `left`: tokens that the newest compaction left of it, 0 for none."""
        return tokens >= self.tokens and tokens - left >= self.growth


# Chosen on sessions of 2026: `python benchmarks/long_conversations.py --transcripts FOLDER`.
LONG = LengthRule(100_000, 0.2, 60_000)


class Goal:
    """The remainder of a conversation that is compacted between turns, system and tools apart: of a `long` one its share, with a cold cache
    of any other this `share` (None: none counts as long); and never less than `left`, what the last compaction left, with what it may grow
    by · `caution`: the share of the thinking that is thought again."""

    __slots__ = ("caution", "left", "long", "share")

    def __init__(
        self, share: float = COLD_TARGET, left: int = 0, caution: float = THINKING_AGAIN, long: LengthRule | None = None
    ) -> None:  # fmt: skip
        self.share = share
        self.left = left
        self.caution = caution
        self.long = long

    def applies(self, conversation: Conversation, cold: bool) -> bool:
        """Return whether a compaction may pay: the cache is cold, or the conversation long."""
        return cold or self._is_long(conversation.prompt - conversation.base)

    def _is_long(self, tokens: int) -> bool:
        return self.long is not None and self.long.holds(tokens, self.left)

    def of(self, tokens: int) -> float:
        """Return the share that stays of a conversation of so many tokens."""
        share = self.long.share if self.long is not None and self._is_long(tokens) else self.share
        return min(1.0, max(share, COMPACT_LEAST_TOKENS / tokens, GROWN * self.left / tokens)) if tokens > 0 else 1.0


class Room:
    """`tokens` of the conversation, system, tools and thinking apart, and the `share` of them that stays at least · `sum`: of what leaves,
    estimated, thinking apart · `cost`: units for thinking again, and with a warm cache for writing again what stays · `least`: tokens that
    have to leave for it to pay."""

    __slots__ = ("cost", "least", "share", "sum", "tokens")

    def __init__(self, tokens: int, share: float, sum: Sum, cost: float, prices: Prices) -> None:
        self.tokens = tokens
        self.share = share
        self.sum = sum
        self.cost = cost
        self.least = cost / carried(prices, sum.warm)

    def pays(self, least: int) -> bool:
        """Return whether it pays by itself; `least`: tokens, for fewer it is never worth it."""
        return self.sum.leaves > max(self.least, least, LEAST_SHARE * self.tokens)


def carried(prices: Prices, warm: bool = False) -> float:
    """Return the units that a token costs from now on: written once, where the cache is warm in place of a read, and read by the requests
    that usually follow a prompt."""
    return prices.write - (prices.read if warm else 0.0) + prices.read * LIKELY_REQUESTS[prices.ttl_s]


def saved(sum: Sum, prices: Prices) -> float:
    """Return the units that it saves, thinking again subtracted, when what a Sum is of leaves a cold cache."""
    return carried(prices) * sum.leaves - sum.thinking_cost


def room(conversation: Conversation, decisions: Iterable[Decision], prices: Prices, goal: Goal, cold: bool) -> Room:
    """Return what a compaction comes to, the cache being `cold` or warm. `decisions`: of a plan over the same conversation."""
    thinking = conversation.thinking if prices.bound else 0
    messages = max(0, conversation.prompt - conversation.base - thinking)
    share = goal.of(conversation.prompt - conversation.base)
    newest = conversation.state.index - LEAST_QUIET  # the calls after it stay whole
    may_go = [one for one in decisions if one.reason not in _STAYS and one.result.index <= newest]
    gains = sum([max(0, decision.gain) for decision in may_go])
    leaving = int(min((1 - share) * messages, gains + _INPUTS * conversation.inputs * conversation.state.calibration))
    change = Change(conversation.prompt, leaving, 0, conversation.base, not cold, conversation.base)
    again = goal.caution * prices.output * thinking
    return Room(messages, share, Sum(change, prices), again + (0.0 if cold else messages * (prices.write - prices.read)), prices)
