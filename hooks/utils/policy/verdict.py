"""Recommend what a user should do about a context. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .plans import Plan
    from .shapes import Context, Removals, Sums, Verdict

# A clear that takes a smaller share of the context is not worth writing the prompt again for.
LEAST_SHARE = 0.01
# A full context that loses a smaller share of its window is soon full again.
LITTLE_SHARE = 0.05
# Seconds that a person waits with a full context.
LONGEST_WAIT_S = 600
KINDS = ("clear", "wait", "full", "noted", "returning", "nothing")
# Tokens, or share of the window, from which a person at work gets a notice without asking.
WORTH_TOKENS, WORTH_SHARE = 20_000, 0.1


def takes(plan: Plan | None) -> Removals:
    """Return what leaves by a Plan, placeholders subtracted; nothing where it does not pay."""
    if plan is None or not (plan.pays or plan.selection.now) or plan.is_empty:
        return {"items": 0, "tokens": 0, "further": 0}
    return {"items": len(plan.going), "tokens": max(0, plan.sum.leaves), "further": plan.further}


def verdict(
    now: Plan | None, cold: Plan | None, context: Context | None, critical: float, expired: int = 0, noted: Sums | None = None,
    returning: int = 0,
) -> Verdict:  # fmt: skip
    """Return what to do now. `now`, `cold`: the Plans, None where there is none · `critical`: the ratio from which on a context is full ·
    `noted`: what a clear takes out that somebody has asked for, once the session is resumed · `returning`: how many contents come back
    then."""
    at_once, later = _sums(now), _sums(cold)
    wait_s = context["cache_seconds_left"] if context and not _is_same(now, cold) else 0
    least = LEAST_SHARE * context["tokens"] if context else 0
    worth_now, worth_later = at_once["tokens"] > least, later["tokens"] > least and wait_s > 0
    result: Verdict = {"kind": "nothing", **at_once, "thinking": 0, "pays_after": None, "wait_s": None, "usd": None, "expired": expired}
    if noted and noted["tokens"]:
        return {**result, "kind": "noted", **noted}
    if returning:
        return {**result, "kind": "returning", "items": returning, "tokens": 0}
    if context and context["ratio"] >= critical:
        reached = later if worth_later and wait_s <= LONGEST_WAIT_S else at_once
        if reached["tokens"] < LITTLE_SHARE * context["window"]:
            return {**result, "kind": "full", **(later if worth_later else at_once), "wait_s": wait_s if worth_later else None}
    if now is not None and worth_now:
        return {**result, "kind": "clear", "thinking": now.sum.thinking, "pays_after": now.sum.pays_after, "usd": now.usd}
    if cold is not None and worth_later:
        result = {**result, "kind": "wait", **later, "thinking": cold.sum.thinking, "pays_after": cold.sum.pays_after}
        return {**result, "usd": cold.usd, "wait_s": wait_s}
    return result


def is_worth_a_word(result: Verdict, context: Context | None, critical: float) -> bool:
    """Return whether a verdict is worth a person's while who has not asked: much would leave now, or the context is nearly full."""
    near = context is not None and context["ratio"] >= critical
    if result["kind"] in ("nothing", "noted", "returning"):
        return False
    if near or result["kind"] == "full":
        return True
    return result["kind"] != "wait" and result["tokens"] >= min(WORTH_TOKENS, WORTH_SHARE * context["window"] if context else WORTH_TOKENS)


def _sums(plan: Plan | None) -> Sums:
    taken = takes(plan)
    return {"items": taken["items"], "tokens": taken["tokens"]}


def _is_same(now: Plan | None, cold: Plan | None) -> bool:
    return now is None or cold is None or not now.sum.warm
