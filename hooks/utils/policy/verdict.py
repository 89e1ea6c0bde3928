"""Decide what to do about a context now: what a person should do, by the plan for now and the one for a cold cache; and whether
a compaction that nobody asked for pays. Pure."""

from __future__ import annotations

from . import planning, worth
from .economics import LIKELY_REQUESTS, Change, Prices, Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conversation import Conversation
    from .planning import Plan
    from .shapes import Context, Sums, Verdict
    from .worth import NeedModel

# A clear that takes a smaller share of the context is not worth writing the prompt again for.
LEAST_SHARE = 0.01
# A full context that loses a smaller share of its window is soon full again.
LITTLE_SHARE = 0.05
# Seconds that a person waits with a full context.
LONGEST_WAIT_S = 600
KINDS = ("clear", "wait", "full", "compact", "noted", "returning", "nothing")
# Tokens, or share of the window, from which a person at work gets a notice without asking.
WORTH_TOKENS, WORTH_SHARE = 20_000, 0.1


def takes(plan: Plan | None) -> Sums:
    """Return what a clear takes by a Plan, placeholders subtracted; nothing where it does not pay."""
    if plan is None or not (plan.pays or plan.selection.now) or not plan.going:
        return {"items": 0, "tokens": 0}
    return {"items": len(plan.going), "tokens": max(0, plan.sum.leaves)}


def verdict(
    now: Plan | None, cold: Plan | None, context: Context | None, critical: float, expired: int = 0, compacts: int = 0,
    noted: Sums | None = None, returning: int = 0,
) -> Verdict:  # fmt: skip
    """Return what to do now. `now`, `cold`: the Plans, None where there is none · `critical`: the ratio from which on a context is full ·
    `compacts`: tokens that a compaction of ours takes now, where the cache is cold and that pays · `noted`: what a clear takes out that
    somebody has asked for, once the session is resumed · `returning`: how many contents come back then."""
    at_once, later = takes(now), takes(cold)
    tokens, window = (context["tokens"], context["window"]) if context else (0, 0)
    wait_s = context["cache_seconds_left"] if context and not _is_same(now, cold) else 0
    least = LEAST_SHARE * tokens
    worth_now, worth_later = at_once["tokens"] > least, later["tokens"] > least and wait_s > 0
    result: Verdict = {"kind": "nothing", **at_once, "thinking": 0, "pays_after": None, "wait_s": None, "expired": expired}
    if noted and noted["items"]:
        return {**result, "kind": "noted", **noted}
    if returning:
        return {**result, "kind": "returning", "items": returning, "tokens": 0}
    if context and context["ratio"] >= critical:
        reached = later if worth_later and wait_s <= LONGEST_WAIT_S else at_once
        if reached["tokens"] < LITTLE_SHARE * window:
            return {**result, "kind": "full", **(later if worth_later else at_once), "wait_s": wait_s if worth_later else None}
    if now is not None and worth_now:
        return {**result, "kind": "clear", "thinking": now.sum.thinking, "pays_after": now.sum.pays_after}
    if cold is not None and worth_later:
        return {**result, "kind": "wait", **later, "thinking": cold.sum.thinking, "pays_after": cold.sum.pays_after, "wait_s": wait_s}
    return {**result, "kind": "compact", "items": 0, "tokens": compacts} if compacts > least else result


def is_worth_a_word(result: Verdict, context: Context | None, critical: float) -> bool:
    """Return whether a verdict is worth a person's while who has not asked: much would leave now, or the context is nearly full."""
    near = context is not None and context["ratio"] >= critical
    if result["kind"] in ("nothing", "noted", "returning"):
        return False
    if near or result["kind"] == "full":
        return True
    return result["kind"] != "wait" and result["tokens"] >= min(WORTH_TOKENS, WORTH_SHARE * context["window"] if context else WORTH_TOKENS)


def _is_same(now: Plan | None, cold: Plan | None) -> bool:
    return now is None or cold is None or not now.sum.warm


# --- a compaction by itself, once the cache is cold ------------------------------------------------------------------------------------
# The prompt is written anyway, so what leaves is saved at once and with every request that follows. But a conversation that is built again
# carries no thinking: all of it may have to be thought again. So a compaction has to save more, over the requests that usually follow a
# prompt, than that is reckoned at. Once it does, it goes down to a target, as any other: what else leaves costs no more thinking. How much
# leaves is known when the conversation is compacted. Before that it is estimated from what the tracker knows, and a compaction that then
# finds less than `least` leaves everything as it was.

# So much of the conversation may stay. Nine tenths of what the next requests look for stay then (docs/measured.md).
COLD_TARGET = 0.4
# Thinking again counts so many times what it costs. How much of it is thought again nobody knows: with none, half, and one and a half times
# of it, this made hardly a session dearer on repositories that were held out.
THINKING_AGAIN = 1.25
# Of what is no result, so much is taken to be inputs that can leave; the rest is what was said.
_INPUTS = 0.5
# What stays whatever the target is (planning.REASONS), or takes no less room as a placeholder.
_STAYS = ("pinned", "preserved", "last_word", "unseen", "small")


class Cold:
    """`sum`: of what would leave, estimated, thinking apart · `thinking`: what thinking again costs in units · `least`: tokens that have to
    leave for it to pay · `units` that it saves, thinking again apart."""

    __slots__ = ("least", "sum", "thinking", "units")

    def __init__(self, sum: Sum, thinking_tokens: float, prices: Prices) -> None:
        each = prices.write + prices.read * LIKELY_REQUESTS[prices.ttl_s]
        self.sum = sum
        self.thinking = prices.output * thinking_tokens
        self.least = self.thinking / each
        self.units = each * sum.leaves

    @property
    def pays(self) -> bool:
        return self.sum.leaves > max(self.least, planning.LEAST_GAIN)


def when_cold(
    conversation: Conversation, now: float, model: NeedModel, prices: Prices, tuned: worth.Tuned = worth.TUNED,
    target: float = COLD_TARGET, caution: float = THINKING_AGAIN,
) -> Cold:  # fmt: skip
    """Return what a compaction by itself comes to at `now` (seconds), the cache being cold. `tuned`, `target`, `caution`: other constants
    than those that are shipped."""
    decisions = planning.plan(conversation, planning.Selection(), now, model, prices, True, tuned).decisions
    messages = max(0, conversation.prompt - conversation.base - (conversation.thinking if prices.bound else 0))
    results = sum([decision.tokens for decision in decisions])
    gains = sum([max(0, decision.gain) for decision in decisions if decision.reason not in _STAYS])
    leaving = round(min((1 - target) * messages, gains + _INPUTS * max(0, messages - results)))
    change = Change(conversation.prompt, leaving, 0, conversation.base, False, conversation.base)
    return Cold(Sum(change, prices), caution * conversation.thinking if prices.bound else 0.0, prices)
