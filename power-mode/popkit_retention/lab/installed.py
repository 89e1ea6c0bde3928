"""What a past session would have got with PopKit installed, counted as `popkit lab --decisions` counts: the door as it is configured, and a
clear whenever `auto` finds that it pays. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hooks.utils.policy import door
from hooks.utils.state import shipped

from . import measure, pricing
from .auto_policy import AutoPolicy
from .door_policy import Door

if TYPE_CHECKING:
    from collections.abc import Callable

    from hooks.utils.policy.economics import Prices
    from hooks.utils.policy.ruleset import Ruleset

    from .sessions import Request, Session


class Came(NamedTuple):
    """What a policy came to (`total`), beside the same session with nothing done (`nothing`); `moments` at which it cleared
    something, `ttl_s` that the prompt cache lives."""

    total: measure.Score
    nothing: measure.Score
    moments: int
    ttl_s: float

    @property
    def cost(self) -> float | None:
        """What the prompts cost, as a share of what they did cost; None where there was no request."""
        return self.total.cost / self.nothing.cost if self.nothing.cost else None

    @property
    def carried(self) -> float | None:
        return self.total.carried / self.nothing.carried if self.nothing.carried else None

    def to_json(self) -> dict[str, object]:
        total, cost = self.total, self.cost
        return {
            "requests": total.requests, "kept_out_tokens": total.spared_tokens, "kept_out_results": total.shortened,
            "cleared_tokens": total.cleared_tokens, "cleared_results": total.cleared, "moments": self.moments, "missed": total.missed,
            "cache_ttl_s": self.ttl_s,
            "cost_share": None if cost is None else round(cost, 4),
        }  # fmt: skip


def came_of(session: Session, policy: measure.Policy, prices: Prices, tell: Callable[[Request, list, list], None] | None = None) -> Came:
    """What a policy comes to over a session; `tell` hears of each request, as in `measure.score`."""
    moments = 0

    def count(request: Request, decisions: list, entered: list) -> None:
        nonlocal moments
        moments += bool(decisions)
        if tell is not None:
            tell(request, decisions, entered)

    return Came(measure.score(session, policy, prices, count), measure.score(session, measure.Policy(), prices), moments, prices.ttl_s)


def came_with(session: Session, rules: Ruleset) -> Came:
    """What a session would have come to under these rules, with a cache that lives as long as its requests show."""
    ttl_s = max((request.usage.cache_ttl_s for request in session.requests if request.usage is not None), default=300)
    prices = pricing.prices_for(session, ttl_s)
    policy = Door(rules, AutoPolicy(prices, shipped.need_model(), rules), door.Settings(rules.say_once, rules.shape))
    return came_of(session, policy, prices)
