"""Decide what a person should do about a context now: one verdict over the plan for now, and the plan for once the cache is cold. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .planning import Plan
    from .shapes import Context, Sums, Verdict

# A clear that takes a smaller share of the context is not worth loading the session again for.
LEAST_SHARE = 0.01
# A full context that loses a smaller share of its window is soon full again.
LITTLE_SHARE = 0.05
# Seconds: with a full context nobody waits longer.
LONGEST_WAIT_S = 600
KINDS = ("clear", "wait", "full", "resume", "nothing")
# A person at work is told unasked of so many tokens, or of this share of the window.
WORTH_TOKENS, WORTH_SHARE = 20_000, 0.1


def takes(plan: Plan | None) -> Sums:
    """Return what a clear takes by a Plan, placeholders subtracted; nothing where it does not pay."""
    if plan is None or not (plan.pays or plan.asked.now) or not plan.going:
        return {"items": 0, "tokens": 0}
    return {"items": len(plan.going), "tokens": max(0, plan.sum.leaves)}


def verdict(
    now: Plan | None, cold: Plan | None, context: Context | None, critical: float, expired: int = 0, pending_tokens: int = 0
) -> Verdict:
    """Return what to do now. `now`, `cold`: the Plans, None where there is none · `critical`: the ratio from which on a context is full ·
    `pending_tokens`: cleared, but still in the requests."""
    at_once, later = takes(now), takes(cold)
    tokens, window = (context["tokens"], context["window"]) if context else (0, 0)
    wait_s = context["cache_seconds_left"] if context and not _is_same(now, cold) else 0
    least = LEAST_SHARE * tokens
    worth_now, worth_later = at_once["tokens"] > least, later["tokens"] > least and wait_s > 0
    result: Verdict = {"kind": "nothing", **at_once, "thinking": 0, "pays_after": None, "wait_s": None, "expired": expired, "share": None}
    if context and context["ratio"] >= critical:
        reached = later if worth_later and wait_s <= LONGEST_WAIT_S else at_once
        if reached["tokens"] < LITTLE_SHARE * window:
            return {**result, "kind": "full", **(later if worth_later else at_once), "wait_s": wait_s if worth_later else None}
    if now is not None and worth_now:
        return {**result, "kind": "clear", "thinking": now.sum.thinking, "pays_after": now.sum.pays_after}
    if pending_tokens > least:
        return {**result, "kind": "resume", "items": 0, "tokens": pending_tokens}
    if cold is not None and worth_later:
        return {**result, "kind": "wait", **later, "thinking": cold.sum.thinking, "pays_after": cold.sum.pays_after, "wait_s": wait_s}
    return result


def is_worth_a_word(result: Verdict, context: Context | None, critical: float) -> bool:
    """Return whether a verdict is worth a person's while who has not asked: much would leave now, or the context is nearly full."""
    near = context is not None and context["ratio"] >= critical
    if result["kind"] == "nothing":
        return False
    if near or result["kind"] == "full":
        return True
    return result["kind"] != "wait" and result["tokens"] >= min(WORTH_TOKENS, WORTH_SHARE * context["window"] if context else WORTH_TOKENS)


def _is_same(now: Plan | None, cold: Plan | None) -> bool:
    return now is None or cold is None or not now.sum.warm
