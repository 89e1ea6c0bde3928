"""Replays past sessions with PopKit installed, and with the provider's own clearing of tool results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from hooks.utils.policy import door
from hooks.utils.policy.economics import Prices
from hooks.utils.policy.ruleset import Ruleset
from hooks.utils.state import shipped

from .baselines import ContextEditing
from .engine_policies import AutoPolicy, Door
from .measure import DEARER, OnRequest, Score, score
from .policy import Policy, Request, Session
from .replay_policies import prices_for

Progress = Callable[[int, int], object]  # done, of all

# --- PopKit installed -------------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The score of a policy (`total`), beside the same session with nothing done (`nothing`); `moments` at which it cleared something;
    `ttl_s`: lifetime of the prompt cache."""

    total: Score
    nothing: Score
    moments: int
    ttl_s: float

    @property
    def cost(self) -> float | None:
        """Return the cost as a share of that with nothing done; None where there was no request."""
        return self.total.cost / self.nothing.cost if self.nothing.cost else None

    @property
    def carried(self) -> float | None:
        """Return the prompt tokens as a share of those with nothing done; None where there was no request."""
        return self.total.carried / self.nothing.carried if self.nothing.carried else None

    def to_json(self) -> dict[str, object]:
        total, cost = self.total, self.cost
        return {
            "requests": total.requests, "kept_out_tokens": total.spared_tokens, "kept_out_results": total.shortened,
            "cleared_tokens": total.cleared_tokens, "cleared_results": total.cleared, "moments": self.moments, "missed": total.missed,
            "cache_ttl_s": self.ttl_s,
            "cost_share": None if cost is None else round(cost, 4),
        }  # fmt: skip


def outcome_of(session: Session, policy: Policy, prices: Prices, on_request: OnRequest | None = None) -> Outcome:
    """Return the outcome of a policy over a session; `on_request` as in `measure.score`."""
    moments = 0

    def count(request: Request, choices: list, entered: list) -> None:
        nonlocal moments
        moments += bool(choices)
        if on_request is not None:
            on_request(request, choices, entered)

    return Outcome(score(session, policy, prices, count), score(session, Policy(), prices), moments, prices.ttl_s)


def installed(session: Session, rules: Ruleset, may_clear: bool = True) -> Outcome:
    """Return the outcome of PopKit under these rules: the door as it is configured, and, where the host lets the past be edited
    (`may_clear`), a clear whenever `auto` finds that it pays, with a cache lifetime as the session's requests show it."""
    ttl_s = max((request.usage.cache_ttl_s for request in session.requests if request.usage is not None), default=300)
    prices = prices_for(session, ttl_s)
    clears = AutoPolicy(prices, shipped.need_model(), rules) if may_clear else Policy()
    policy = Door(rules, clears, door.Settings(rules.say_once, rules.shape))
    return outcome_of(session, policy, prices)


# --- the provider's own clearing --------------------------------------------------------------------------------------------------

# The provider checks what was sent, not what it clears of that, so no thinking is lost. The prompt behind the first cleared result is
# written again: clearing too little at a time, or too often, costs more than it saves.
TRIGGERS = (60_000, 100_000, 150_000, 250_000)
KEEPS = (5, 15, 30)
AT_LEASTS = (20_000, 40_000)
# Results that have to be fetched again interrupt the work: settings with more of them per 100 requests are not advised, however cheap.
MOST_MISSES = 3.0


class NativeSettings(NamedTuple):
    """Prompt tokens from which results are cleared · how many of the newest stay · tokens under which nothing is cleared."""

    trigger: int
    keep: int
    at_least: int


class NativeFit(NamedTuple):
    """`cost` as a share of that of clearing nothing, results needed again per 100 requests, and the share of sessions that are dearer."""

    settings: NativeSettings
    cost: float
    misses: float
    dearer: float


def native_fits(past: Sequence[Session], ttl_s: int, model: str = "", progress: Progress | None = None) -> list[NativeFit]:
    """Return the outcome of each of the settings that are tried, the cheapest first."""
    priced = [prices_for(session, ttl_s, model) for session in past]
    for prices in priced:
        prices.bound = False
    without = [score(session, Policy(), prices).cost for session, prices in zip(past, priced)]
    fits = []
    tried = [NativeSettings(*values) for values in product(TRIGGERS, KEEPS, AT_LEASTS)]
    for number, settings in enumerate(tried, 1):
        scores = [score(session, ContextEditing(*settings), prices) for session, prices in zip(past, priced)]
        requests = sum(each.requests for each in scores) or 1
        dearer = sum(each.cost > DEARER * alone for each, alone in zip(scores, without))
        cost = sum(each.cost for each in scores) / (sum(without) or 1.0)
        fits.append(NativeFit(settings, cost, 100 * sum(each.missed for each in scores) / requests, dearer / (len(past) or 1)))
        if progress:
            progress(number, len(tried))
    return sorted(fits, key=lambda fit: fit.cost)


def best_of(fits: Sequence[NativeFit]) -> NativeFit | None:
    """Return the cheapest fit that pays without many results being needed again; None for none."""
    return next((fit for fit in fits if fit.cost < 1 and fit.misses <= MOST_MISSES), None)
